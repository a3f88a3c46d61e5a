"""Partition values as Iceberg's metadata holds them: numbers for dates and times, whatever the year.

Python's dates end with the years 1 and 9999, Iceberg's do not. So a date is kept as days and a time as micro- or
nanoseconds since 1970, and is written as text only for JSON and for people.
"""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPOCH: Final = dt.date(1970, 1, 1)
_DAYS_OF_400_YEARS: Final = 146_097
_SECONDS_OF_DAY: Final = 86_400
_UNITS: Final = {
    "timestamp": 6,
    "timestamptz": 6,
    "timestamp_ns": 9,
    "timestamptz_ns": 9,
}
_LAST_YEAR_OF_FOUR_DIGITS: Final = 9999


def json_values(types: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """Partition values in the JSON form of the Iceberg spec; text stands for itself.

    Examples:
        >>> json_values(("int", "date", "decimal(3, 2)", "binary"), (7, 19753, decimal.Decimal("1.50"), b"ab"))
        [7, '2024-01-31', '1.50', '6162']
        >>> json_values(("timestamp", "timestamptz", "timestamp_ns"), (-1, 327403382400000000, None))
        ['1969-12-31T23:59:59.999999', '+12345-01-01T00:00:00.000000+00:00', None]
    """
    return [_json_value(kind, value) for kind, value in zip(types, values, strict=True)] if values else []


def shown(kind: str, value: Any) -> str:
    """A partition value for people.

    Examples:
        >>> shown("date", -719893), shown("timestamptz", 1), shown("timestamp", 0), shown("binary", b"ab")
        ('-0001-01-01', '1970-01-01 00:00:00.000001', '1970-01-01 00:00:00', '6162')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes) and kind == "uuid":
        return str(uuid.UUID(bytes=value))
    if isinstance(value, bytes):
        return value.hex()
    found = _json_value(kind, value)
    if kind not in _UNITS or not isinstance(found, str):
        return str(found)
    day, _, time = found.removesuffix("+00:00").partition("T")
    return f"{day} {time.removesuffix('.' + '0' * _UNITS[kind])}"


def _json_value(kind: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return str(uuid.UUID(bytes=value)) if kind == "uuid" else value.hex().upper()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, uuid.UUID):
        return str(value)
    return _time_text(kind, value) if isinstance(value, int) else value


def _time_text(kind: str, value: int) -> Any:
    """A day or a time in the form of ISO 8601; a number that is neither stays one."""
    if kind == "date":
        return _day(value)
    if kind == "time":
        return _time_of_day(value, 6)
    if kind in _UNITS:
        return _moment(value, _UNITS[kind]) + ("+00:00" if "tz" in kind else "")
    return value


def _day(days: int) -> str:
    """A day in the form of ISO 8601, as Java reads it: a year of more than four digits has its sign."""
    cycles, rest = divmod(days, _DAYS_OF_400_YEARS)  # the calendar repeats itself
    day = _EPOCH + dt.timedelta(days=rest)
    year = day.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > _LAST_YEAR_OF_FOUR_DIGITS else ""
    return f"{sign}{abs(year):04}-{day:%m-%d}"


def _time_of_day(value: int, digits: int) -> str:
    seconds, fraction = divmod(value, 10**digits)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:0{digits}}"


def _moment(value: int, digits: int) -> str:
    days, rest = divmod(value, _SECONDS_OF_DAY * 10**digits)
    return f"{_day(days)}T{_time_of_day(rest, digits)}"
