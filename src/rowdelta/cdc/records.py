"""What every source of changes is turned into: records that fit a table, or that say why they do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.cdc.value_checks import unfit
from rowdelta.spark import ANY_CASE, NameRule, quote
from rowdelta.verbs import EXACT_TIMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

DELETED: Final = "_rd_deleted"
ORDER: Final = "_rd_order"
BAD: Final = "_rd_bad"
RAW: Final = "_rd_raw"
AT: Final = "_rd_at"
SKIP: Final = "_rd_skip"
EXTRA: Final = "_rd_extra"
HELPERS: Final = (DELETED, ORDER, BAD, RAW, AT, SKIP, EXTRA)


@dataclass(frozen=True)
class Shape:
    """What a reader must know of the table.

    Attributes:
        types: Its columns.
        key: Which of them identify a row.
        grows: Whether columns become wider where the changes are.
        delete_when: What the caller takes for deletes, besides those that the reader knows.
    """

    types: T.StructType
    key: tuple[str, ...]
    grows: bool = False
    delete_when: str | Column | None = field(default=None, compare=False)  # Spark's columns cannot be compared
    names: NameRule = ANY_CASE

    @property
    def required(self) -> list[str]:
        """Columns that may not be null."""
        return [column.name for column in self.types.fields if not column.nullable]

    def deletes(self, known: Column) -> Column:
        """What the reader knows as a delete, and what the caller does."""
        return known if self.delete_when is None else known | given_deletes(self.delete_when)


def given_deletes(delete_when: str | Column) -> Column:
    """A caller's predicate; it does not hold where it is null."""
    return F.coalesce(F.expr(delete_when) if isinstance(delete_when, str) else delete_when, F.lit(False))


class Records(Protocol):
    """Turns a batch of a source into records: what `format=` of `rd.cdc.stream()` takes.

    Examples:
        >>> reader: rd.cdc.Records = rd.cdc.OpColumn(op="op", at="ts")
        >>> reader.aside
        ('op', 'ts')
    """

    @property
    def aside(self) -> tuple[str, ...]:
        """Columns of the source that serve the reader alone.

        Examples:
            >>> rd.cdc.OpColumn(op="op").aside
            ('op',)
        """

    def read(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Records of a batch.

        Returns:
            Columns of the table, then `_rd_deleted` (the key is deleted), `_rd_order` (grows from change to change),
            `_rd_bad` (why the record is refused, else null), `_rd_raw` (the record as it came), `_rd_at` (when the
            change happened), `_rd_skip` (nothing to do, such as a tombstone) and `_rd_extra` (a second change that
            comes out of the same record).

        Examples:
            >>> from rowdelta.cdc.records import Shape
            >>> records = rd.cdc.OpColumn(op="op").read(changes, Shape(t.read().schema, key=("id",)))
            >>> records.columns[-7:]
            ['_rd_deleted', '_rd_order', '_rd_bad', '_rd_raw', '_rd_at', '_rd_skip', '_rd_extra']
        """


def row_as_json() -> Column:
    """A typed row as a JSON object, with times to the microsecond."""
    return F.to_json(F.struct("*"), EXACT_TIMES)


def first_reason(*tests: tuple[Column, str | Column]) -> Column:
    """The reason of the first test that holds, or null."""
    reason = F.lit(None).cast("string")
    for condition, text in reversed(tests):
        message = F.lit(text) if isinstance(text, str) else text
        reason = F.when(F.coalesce(condition, F.lit(False)), message).otherwise(reason)
    return reason


def null_in(columns: Sequence[str], values: dict[str, Column]) -> list[tuple[Column, str]]:
    """One test for each column that may not be null."""
    return [(values[name].isNull(), f"column {name!r} is null") for name in columns if name in values]


def refused_values(frame: DataFrame, shape: Shape, deleted: Column) -> list[tuple[Column, str | Column]]:
    """Tests of typed rows: a null where the table wants a value, and a value that its column cannot hold.

    Args:
        frame: The rows, with columns by the names of the table's.
        shape: The table.
        deleted: Whether a row stands for a delete, so that its key alone counts.
    """
    fold = shape.names.fold
    known = {fold(name): name for name in frame.columns}
    given = {column.name: known[fold(column.name)] for column in shape.types.fields if fold(column.name) in known}
    values = {name: F.col(quote(source)) for name, source in given.items()}
    tests: list[tuple[Column, str | Column]] = [*null_in(shape.key, values)]
    others = [name for name in shape.required if name not in shape.key]
    tests += [(~deleted & test, reason) for test, reason in null_in(others, values)]
    for name, source in given.items():
        have, want = frame.schema[source].dataType, shape.types[name].dataType
        test = None if shape.grows and _widens(want, have) else unfit(values[name], have, want, shape.names)
        if test is None:
            continue
        value = values[name] if isinstance(want, T.NumericType) else F.to_json(values[name])
        shown = F.concat(F.lit(f"column {name!r} is {want.simpleString()}, but the value is "), value)
        tests.append((test if name in shape.key else ~deleted & test, shown))
    return tests


def _widens(column: T.DataType, changes: T.DataType) -> bool:
    return (column.simpleString(), changes.simpleString()) in {("int", "bigint"), ("float", "double")}
