"""Integer-backed key columns: their values as signed 64-bit numbers, in SQL and in Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from rowdelta.errors import TableError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from rowdelta.iceberg import Field

_EXPRESSIONS: Final = {
    "long": "{}",
    "int": "cast({} as bigint)",
    "date": "cast(unix_date({}) as bigint)",
    "timestamptz": "unix_micros({})",
    # Neither the difference nor the division uses the session's time zone, which may skip or repeat an hour.
    "timestamp": "(({} - TIMESTAMP_NTZ'1970-01-01 00:00:00') div INTERVAL '0.000001' SECOND)",
}
# Their types in Arrow.
INTEGER_TYPES: Final = {
    "long": pa.int64(),
    "int": pa.int32(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}


@dataclass(frozen=True)
class IntegerKeys:
    """The keys of one delete file, sorted and distinct."""

    keys: npt.NDArray[np.int64]
    has_null: bool


def is_integer(column: Field) -> bool:
    """Whether a column's values map one to one onto integers."""
    return column.type_name in _EXPRESSIONS


def write_integer_sql(column: Field, reference: str) -> str:
    """Writes the integer of a column in SQL, given a reference to the column.

    Examples:
        >>> from rowdelta.iceberg import Field
        >>> write_integer_sql(Field(1, "day", "date", required=False), "`day`")
        'cast(unix_date(`day`) as bigint)'
    """
    if not is_integer(column):
        raise TableError(f"column {column.name!r} of type {column.type_name} has no integer form")
    return _EXPRESSIONS[column.type_name].format(reference)


def to_integers(column: Field, values: pa.Array) -> pa.Array:
    """Converts values to integers; they may have a type that the column was widened from.

    Examples:
        >>> from rowdelta.iceberg import Field
        >>> days = pa.array([None, 1], pa.date32())
        >>> to_integers(Field(1, "at", "timestamp", required=False), days).to_pylist()
        [None, 86400000000]
    """
    if pa.types.is_integer(values.type):
        return values.cast(pa.int64())
    arrow_type = INTEGER_TYPES[column.type_name]
    stored = pa.int32() if arrow_type.bit_width == 32 else pa.int64()  # noqa: PLR2004 - int and date
    return values.cast(arrow_type).view(stored).cast(pa.int64())
