"""The position of a change in the log of its source, which columns of the table may keep."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.errors import InputError
from rowdelta.spark import try_cast

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import Column

    from rowdelta.cdc.records import Shape

OFFSET: Final = "offset"
_TIME: Final = "ts_ms"
_SOURCE: Final = re.compile(r"source\.(\w+)")
_HINT: Final = "use source.lsn or another field of 'source', ts_ms, or offset"
# How many microseconds one unit of a time is; nanoseconds are divided.
_MICROS: Final = {"ts_ms": 1000, "ts_us": 1, "ts_ns": 0}
_TYPES: Final = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.DecimalType, T.StringType)


@dataclass(frozen=True)
class PositionColumn:
    """A column of the table that keeps a part of an event besides its row.

    Attributes:
        name: The column.
        path: Where the value is: `source.` and a field, `ts_ms`, or `offset`.
        type: The type of the column.
    """

    name: str
    path: str
    type: T.DataType

    @property
    def text(self) -> Column:
        """The value as it arrived, from the projection of an event."""
        field = _SOURCE.fullmatch(self.path)
        if field:
            return F.get_json_object("event.source", f"$.{field[1]}")
        return F.col(OFFSET if self.path == OFFSET else f"event.{_TIME}").cast("string")

    @property
    def value(self) -> Column:
        """The value in the type of the column; null if it does not fit."""
        if not isinstance(self.type, T.TimestampType):
            return try_cast(self.text, self.type)
        number, unit = try_cast(self.text, "bigint"), _MICROS[self.path.rpartition(".")[2]]
        micros = F.try_multiply(number, F.lit(unit)) if unit else F.floor(number / 1000)
        return F.timestamp_micros(micros)

    def test(self, value: Column) -> tuple[Column, Column]:
        """Returns the test for a value that does not fit, with its reason."""
        reason = f"{self.path} does not fit column {self.name!r}, which is {self.type.simpleString()}: "
        return self.text.isNotNull() & value.isNull(), F.concat(F.lit(reason), self.text)


def check_paths(position: Mapping[str, str]) -> None:
    """Refuses parts of an event that cannot be kept.

    Examples:
        >>> check_paths({"lsn": "source.lsn", "changed_at": "ts_ms"})
        >>> check_paths({"lsn": "lsn"})
        Traceback (most recent call last):
        rowdelta.errors.InputError: an event has no position 'lsn', which column 'lsn' would keep
        Hint: use source.lsn or another field of 'source', ts_ms, or offset
    """
    for name, path in position.items():
        if path not in {_TIME, OFFSET} and not _SOURCE.fullmatch(path):
            raise InputError(f"an event has no position {path!r}, which column {name!r} would keep", hint=_HINT)


def find_position_columns(
    position: Mapping[str, str], shape: Shape, columns: Collection[str]
) -> tuple[PositionColumn, ...]:
    """Finds the columns that keep positions: those of `position`, and those that order changes.

    A column that orders changes keeps the field of its name in the event's `source`, unless `position` names another.

    Args:
        position: Parts of an event, by the columns of the table that keep them.
        shape: The table.
        columns: The columns of the source.

    Raises:
        InputError: The table has no such column, its type does not fit, or the source has no offsets.
    """
    paths = {_find_column(name, shape): path for name, path in position.items()}
    paths |= {name: f"source.{name}" for name in shape.order if name not in paths}
    check_paths(paths)
    found = tuple(PositionColumn(name, path, shape.types[name].dataType) for name, path in paths.items())
    for column in found:
        _check_type(column)
        if column.path == OFFSET and OFFSET not in columns:
            raise InputError(
                f"the source has no column {OFFSET!r}, which column {column.name!r} would keep",
                hint=f"its columns are {', '.join(columns)}",
            )
    return found


def _find_column(name: str, shape: Shape) -> str:
    names: Sequence[str] = shape.types.names
    found = shape.names.find(name, names)
    if not found:
        raise InputError(
            f"the table has no column {name!r} to keep a position in", hint=f"its columns are {', '.join(names)}"
        )
    return found[0]


def _check_type(column: PositionColumn) -> None:
    is_time = column.path.rpartition(".")[2] in _MICROS
    if isinstance(column.type, _TYPES) or (is_time and isinstance(column.type, T.TimestampType)):
        return
    times = ", or timestamp for ts_ms, ts_us and ts_ns"
    raise InputError(
        f"column {column.name!r} is {column.type.simpleString()}, which does not keep {column.path}",
        hint=f"use bigint, decimal or string{times}",
    )
