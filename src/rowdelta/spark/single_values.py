"""Formats partition values as JSON and as text for people, with dates and times of any year.

Python's dates range from year 1 to 9999, Iceberg's do not. So a date is stored as days, and a time as micro- or
nanoseconds, since 1970. They become text only for JSON and for people.
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
_FRACTION_DIGITS: Final = {
    "timestamp": 6,
    "timestamptz": 6,
    "timestamp_ns": 9,
    "timestamptz_ns": 9,
}
_MAX_FOUR_DIGIT_YEAR: Final = 9999


def convert_to_json_values(types: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """Converts partition values to the JSON form of the Iceberg spec; text stays text.

    Examples:
        >>> types = ("int", "date", "decimal(3, 2)", "binary")
        >>> convert_to_json_values(types, (7, 19753, decimal.Decimal("1.50"), b"ab"))
        [7, '2024-01-31', '1.50', '6162']
        >>> convert_to_json_values(("timestamp", "timestamptz", "timestamp_ns"), (-1, 327403382400000000, None))
        ['1969-12-31T23:59:59.999999', '+12345-01-01T00:00:00.000000+00:00', None]
    """
    return [_to_json(type_name, value) for type_name, value in zip(types, values, strict=True)] if values else []


def format_value(type_name: str, value: Any) -> str:
    """Formats a partition value for people.

    Examples:
        >>> format_value("date", -719893), format_value("binary", b"ab")
        ('-0001-01-01', '6162')
        >>> format_value("timestamptz", 1), format_value("timestamp", 0)
        ('1970-01-01 00:00:00.000001', '1970-01-01 00:00:00')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes) and type_name == "uuid":
        return str(uuid.UUID(bytes=value))
    if isinstance(value, bytes):
        return value.hex()
    json_value = _to_json(type_name, value)
    if type_name not in _FRACTION_DIGITS or not isinstance(json_value, str):
        return str(json_value)
    day, _, time = json_value.removesuffix("+00:00").partition("T")
    return f"{day} {time.removesuffix('.' + '0' * _FRACTION_DIGITS[type_name])}"


def _to_json(type_name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return str(uuid.UUID(bytes=value)) if type_name == "uuid" else value.hex().upper()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, uuid.UUID):
        return str(value)
    return _format_time(type_name, value) if isinstance(value, int) else value


def _format_time(type_name: str, value: int) -> Any:
    """Formats a date or a time by ISO 8601; returns any other number as it is."""
    if type_name == "date":
        return _format_date(value)
    if type_name == "time":
        return _format_time_of_day(value, 6)
    if type_name in _FRACTION_DIGITS:
        return _format_timestamp(value, _FRACTION_DIGITS[type_name]) + ("+00:00" if "tz" in type_name else "")
    return value


def _format_date(days: int) -> str:
    """Formats a date by ISO 8601, as Java parses it: a year of more than four digits has a sign."""
    cycles, rest = divmod(days, _DAYS_OF_400_YEARS)  # the calendar repeats after 400 years
    day = _EPOCH + dt.timedelta(days=rest)
    year = day.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > _MAX_FOUR_DIGIT_YEAR else ""
    return f"{sign}{abs(year):04}-{day:%m-%d}"


def _format_time_of_day(value: int, digits: int) -> str:
    seconds, fraction = divmod(value, 10**digits)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:0{digits}}"


def _format_timestamp(value: int, digits: int) -> str:
    days, rest = divmod(value, _SECONDS_OF_DAY * 10**digits)
    return f"{_format_date(days)}T{_format_time_of_day(rest, digits)}"
