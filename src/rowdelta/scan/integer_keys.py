"""Key columns that are integers at heart: how SQL sees them as a signed 64-bit number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.errors import TableError

if TYPE_CHECKING:
    from rowdelta.iceberg import Field

_EXPRESSIONS: Final = {
    "long": "{}",
    "int": "cast({} as bigint)",
    "date": "cast(unix_date({}) as bigint)",
    "timestamptz": "unix_micros({})",
    "timestamp": "timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {})",
}


def is_integer(column: Field) -> bool:
    """Whether a column's values map one to one onto integers."""
    return column.type_name in _EXPRESSIONS


def integer_sql(column: Field, reference: str) -> str:
    """The integer of a column, given how SQL refers to it.

    Examples:
        >>> from rowdelta.iceberg import Field
        >>> integer_sql(Field(1, "day", "date", required=False), "`day`")
        'cast(unix_date(`day`) as bigint)'
    """
    if not is_integer(column):
        raise TableError(f"column {column.name!r} of type {column.type_name} has no integer form")
    return _EXPRESSIONS[column.type_name].format(reference)
