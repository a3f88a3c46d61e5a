"""Converts values of a Delta log to Iceberg's forms: partition values, and the bounds of columns."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rowdelta.errors import FormatError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_EPOCH_DAY: Final = dt.date(1970, 1, 1)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_MILLISECOND: Final = 1000
_FLOATS: Final = {"float": "<f", "double": "<d"}
_CONTEXT: Final = decimal.Context(prec=100)
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
_DATE: Final = re.compile(r"([+-]?\d{4,7})-(\d{1,2})-(\d{1,2})")
_TIME: Final = re.compile(r"[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?")
_DAY_SECONDS: Final = 24 * 3600
# Days, weekdays and leap years repeat after this many years, and so do the rules of time zones.
_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_FIRST_DAY: Final = (dt.date(_CYCLE_YEARS, 1, 1) - _EPOCH_DAY).days
_LAST_CYCLE: Final = dt.MAXYEAR // _CYCLE_YEARS - 2
_LONG: Final = 2**63


def convert_partition_value(text: str | None, type_name: str, zone: str) -> Any:
    """Converts a partition value to Iceberg's JSON form; Delta writes null as nothing or as empty text.

    Args:
        text: The text in the log.
        type_name: The Iceberg type of the column.
        zone: The time zone of times that carry none.

    Examples:
        >>> convert_partition_value("7", "int", "UTC"), convert_partition_value("", "string", "UTC")
        (7, None)
        >>> convert_partition_value("2024-01-31 10:00:00", "timestamptz", "Europe/Berlin")
        '2024-01-31T09:00:00+00:00'
    """
    if text is None or not text:
        return None
    try:
        return _convert_partition_value(text, type_name, zone)
    except (ValueError, ArithmeticError, UnicodeError) as error:
        raise FormatError(f"partition value {text!r} of the Delta log is not a valid {type_name}: {error}") from error


def _convert_partition_value(text: str, type_name: str, zone: str) -> Any:
    if type_name in {"timestamp", "timestamptz"}:
        return _convert_time(text.strip(), zone if type_name == "timestamptz" else None)
    if type_name.startswith("decimal"):
        return format(_rescale(decimal.Decimal(text), type_name), "f")
    return _FROM_TEXT.get(type_name, str)(text)


@lru_cache
def parse_time_zone(name: str) -> dt.tzinfo:
    """Parses a time zone as Spark's session names it: a region, or an offset.

    Examples:
        >>> parse_time_zone("+02:00").utcoffset(None), parse_time_zone("Europe/Berlin")
        (datetime.timedelta(seconds=7200), zoneinfo.ZoneInfo(key='Europe/Berlin'))
    """
    offset = _OFFSET.fullmatch(name)
    if name == "Z":
        return dt.timezone.utc
    try:
        if offset is None:
            return ZoneInfo(name)
        hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
        ahead = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return dt.timezone(ahead if offset[1] == "+" else -ahead)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InputError(
            f"time zone {name!r} is not known", hint="set spark.sql.session.timeZone to a region such as Europe/Berlin"
        ) from error


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("Iceberg's JSON has no such number")
    return number


def _parse_boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("it is neither true nor false")
    return text.lower() == "true"


def _convert_time(text: str, zone: str | None) -> str:
    """Converts a time of any year to Iceberg's text: in UTC, or without a zone if `zone` is None."""
    day, rest = _DATE.match(text), ""
    if day is None:
        raise ValueError("it does not start with a date")
    micros, rest = _parse_day(day[0]) * _DAY_SECONDS * 1_000_000, text[day.end() :]
    clock = _TIME.match(rest)
    if clock is not None:
        hours, minutes, seconds = (int(part or 0) for part in clock.groups()[:3])
        if hours > 23 or minutes > 59 or seconds > 59:  # noqa: PLR2004 - the largest of each
            raise ValueError("it is not a time of day")
        micros += (hours * 3600 + minutes * 60 + seconds) * 1_000_000 + int(f"{clock[4] or '':0<6}"[:6])
        rest = rest[clock.end() :]
    own = _parse_own_zone(rest.strip()) if rest.strip() else None
    if zone is not None:
        micros -= _find_offset_micros(micros, own or parse_time_zone(zone))
    if not -_LONG <= micros < _LONG:
        raise ValueError("it is out of range")
    seconds, fraction = divmod(micros, 1_000_000)
    days, seconds = divmod(seconds, _DAY_SECONDS)
    clock_text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    parts = f".{fraction:06}" if fraction else ""
    return f"{_format_day(days)}T{clock_text}{parts}{'' if zone is None else '+00:00'}"


def _parse_own_zone(text: str) -> dt.tzinfo:
    try:
        return parse_time_zone(text)
    except InputError as error:
        raise ValueError(f"{text!r} is not a time zone") from error


def _find_offset_micros(micros: int, zone: dt.tzinfo) -> int:
    """Finds how far a zone is ahead of UTC at a local time; a time that occurs twice is the earlier one."""
    days, inside = divmod(micros, _DAY_SECONDS * 1_000_000)
    # Outside the years that Python supports, zones follow the same year of the first or the last supported cycle.
    cycles = (days - _FIRST_DAY) // _CYCLE_DAYS
    days -= (cycles - min(max(cycles, 0), _LAST_CYCLE)) * _CYCLE_DAYS
    local = _EPOCH.replace(tzinfo=zone) + dt.timedelta(days=days, microseconds=inside)
    offset = local.utcoffset()
    assert offset is not None
    return offset // _MICROSECOND


def _parse_day(text: str) -> int:
    """Parses a date of any year to days since 1970, by the Gregorian calendar."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError("it is not a date such as 2024-01-31")
    year, month, day = (int(part) for part in match.groups())
    cycles, near = divmod(year, _CYCLE_YEARS)
    return (dt.date(near + _CYCLE_YEARS, month, day) - _EPOCH_DAY).days + (cycles - 1) * _CYCLE_DAYS


def _format_day(days: int) -> str:
    """Formats a date as Iceberg does: years after 9999 and before 0 have a sign."""
    cycles, near = divmod(days - _FIRST_DAY, _CYCLE_DAYS)
    date = _EPOCH_DAY + dt.timedelta(days=near + _FIRST_DAY)
    year = date.year + cycles * _CYCLE_YEARS
    sign = "-" if year < 0 else "+" if year > dt.MAXYEAR else ""
    return f"{sign}{abs(year):04}-{date.month:02}-{date.day:02}"


def encode_bound(value: Any, type_name: str, *, upper: bool) -> bytes | None:
    r"""Encodes a bound from Delta's statistics in Iceberg's binary form; None if it is not certain to hold.

    Args:
        value: The value in the JSON, with fractions as Decimal.
        type_name: The Iceberg type of the column.
        upper: Whether it is an upper bound. Delta truncates times to milliseconds, so an upper bound adds one.

    Examples:
        >>> encode_bound(258, "int", upper=False), encode_bound("abc", "string", upper=True)
        (b'\x02\x01\x00\x00', b'abc')
    """
    try:
        return _encode_bound(value, type_name, upper=upper)
    except (ValueError, ArithmeticError, TypeError, struct.error, UnicodeError):
        return None  # a date before year 1, or not a number: a missing bound is always valid


def _encode_bound(value: Any, type_name: str, *, upper: bool) -> bytes | None:
    if type_name in _FLOATS:
        number = float(value)
        # 0.0 and -0.0 are equal: the bound must hold for both.
        number = number or (0.0 if upper else -0.0)
        return None if math.isnan(number) else struct.pack(_FLOATS[type_name], number)
    if type_name in {"timestamp", "timestamptz"}:
        time = _parse_time(value)
        micros = (time.replace(tzinfo=time.tzinfo or dt.timezone.utc) - _EPOCH) // _MICROSECOND
        fits = (time.tzinfo is None) == (type_name == "timestamp")
        return struct.pack("<q", micros + (_MILLISECOND if upper else 0)) if fits else None
    if type_name.startswith("decimal"):
        unscaled = int(_rescale(decimal.Decimal(value), type_name).scaleb(_parse_scale(type_name), _CONTEXT))
        return unscaled.to_bytes((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1, "big", signed=True)
    write = _TO_BYTES.get(type_name)
    return None if write is None else write(value)


def _parse_time(text: str) -> dt.datetime:
    # Python 3.10 supports neither Z nor fractions of other than three or six digits.
    text = text.strip().replace("Z", "+00:00")
    head, dot, rest = text.partition(".")
    if dot:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        text = f"{head}.{rest[:digits][:6]:0<6}{rest[digits:]}"
    return dt.datetime.fromisoformat(text)


def _parse_scale(type_name: str) -> int:
    return int(type_name.rstrip(")").rpartition(",")[2])


def _rescale(value: decimal.Decimal, type_name: str) -> decimal.Decimal:
    quantum = decimal.Decimal(1).scaleb(-_parse_scale(type_name), _CONTEXT)
    scaled = value.quantize(quantum, context=_CONTEXT)
    if scaled != value:
        raise ValueError(f"{value} has more digits than {type_name}")
    return scaled


_FROM_TEXT: Final[dict[str, Callable[[str], Any]]] = {
    "int": int,
    "long": int,
    "float": _parse_finite,
    "double": _parse_finite,
    "boolean": _parse_boolean,
    "date": lambda text: _format_day(_parse_day(text.strip())),
    "binary": lambda text: text.encode().hex().upper(),  # Spark writes the bytes as text
}
_TO_BYTES: Final[dict[str, Callable[[Any], bytes]]] = {
    "int": lambda value: struct.pack("<i", int(value)),
    "long": lambda value: struct.pack("<q", int(value)),
    "date": lambda value: struct.pack("<i", (dt.date.fromisoformat(value) - _EPOCH_DAY).days),
    "string": lambda value: str(value).encode(),
}
