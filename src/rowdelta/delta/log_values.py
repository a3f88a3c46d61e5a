"""Values of a Delta log as Iceberg stores them: partition values, and the bounds of columns."""

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
# Days, weekdays and leap years come back after so many years, and so do the rules of time zones.
_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_FIRST_DAY: Final = (dt.date(_CYCLE_YEARS, 1, 1) - _EPOCH_DAY).days
_LAST_CYCLE: Final = dt.MAXYEAR // _CYCLE_YEARS - 2
_LONG: Final = 2**63


def partition_value(text: str | None, kind: str, zone: str) -> Any:
    """A partition value in Iceberg's JSON form; Delta writes null as nothing or as empty text.

    Args:
        text: What the log says.
        kind: The Iceberg type of the column.
        zone: The time zone of times that carry none.

    Examples:
        >>> partition_value("7", "int", "UTC"), partition_value("", "string", "UTC")
        (7, None)
        >>> partition_value("2024-01-31 10:00:00", "timestamptz", "Europe/Berlin")
        '2024-01-31T09:00:00+00:00'
    """
    if text is None or not text:
        return None
    try:
        return _partition_value(text, kind, zone)
    except (ValueError, ArithmeticError, UnicodeError) as error:
        raise FormatError(f"partition value {text!r} of the Delta log is no {kind}: {error}") from error


def _partition_value(text: str, kind: str, zone: str) -> Any:
    if kind in {"timestamp", "timestamptz"}:
        return _time_value(text.strip(), zone if kind == "timestamptz" else None)
    if kind.startswith("decimal"):
        return format(_scaled(decimal.Decimal(text), kind), "f")
    return _FROM_TEXT.get(kind, str)(text)


@lru_cache
def time_zone(name: str) -> dt.tzinfo:
    """A time zone as Spark's session names it: a region, or an offset.

    Examples:
        >>> time_zone("+02:00").utcoffset(None), time_zone("Europe/Berlin")
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


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("Iceberg's JSON has no such number")
    return number


def _boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("it is neither true nor false")
    return text.lower() == "true"


def _time_value(text: str, zone: str | None) -> str:
    """A point in time, of any year, as Iceberg writes it: in UTC, or without a zone where `zone` is None."""
    day, rest = _DATE.match(text), ""
    if day is None:
        raise ValueError("it does not start with a date")
    micros, rest = _day(day[0]) * _DAY_SECONDS * 1_000_000, text[day.end() :]
    clock = _TIME.match(rest)
    if clock is not None:
        hours, minutes, seconds = (int(part or 0) for part in clock.groups()[:3])
        if hours > 23 or minutes > 59 or seconds > 59:  # noqa: PLR2004 - the largest of each
            raise ValueError("it is no time of a day")
        micros += (hours * 3600 + minutes * 60 + seconds) * 1_000_000 + int(f"{clock[4] or '':0<6}"[:6])
        rest = rest[clock.end() :]
    own = _known_zone(rest.strip()) if rest.strip() else None
    if zone is not None:
        micros -= _offset_micros(micros, own or time_zone(zone))
    if not -_LONG <= micros < _LONG:
        raise ValueError("it is too far away")
    seconds, fraction = divmod(micros, 1_000_000)
    days, seconds = divmod(seconds, _DAY_SECONDS)
    clock_text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    parts = f".{fraction:06}" if fraction else ""
    return f"{_day_text(days)}T{clock_text}{parts}{'' if zone is None else '+00:00'}"


def _known_zone(text: str) -> dt.tzinfo:
    try:
        return time_zone(text)
    except InputError as error:
        raise ValueError(f"{text!r} is no time zone") from error


def _offset_micros(micros: int, zone: dt.tzinfo) -> int:
    """How far a zone is ahead of UTC at a local time; of a time that is there twice, the earlier one is meant."""
    days, inside = divmod(micros, _DAY_SECONDS * 1_000_000)
    # Beyond the years that Python knows, zones are as in the same year of the first or the last cycle that it knows.
    cycles = (days - _FIRST_DAY) // _CYCLE_DAYS
    days -= (cycles - min(max(cycles, 0), _LAST_CYCLE)) * _CYCLE_DAYS
    local = _EPOCH.replace(tzinfo=zone) + dt.timedelta(days=days, microseconds=inside)
    offset = local.utcoffset()
    assert offset is not None
    return offset // _MICROSECOND


def _day(text: str) -> int:
    """The days since 1970 of a date of any year, by the Gregorian calendar."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError("it is not a date such as 2024-01-31")
    year, month, day = (int(part) for part in found.groups())
    cycles, near = divmod(year, _CYCLE_YEARS)
    return (dt.date(near + _CYCLE_YEARS, month, day) - _EPOCH_DAY).days + (cycles - 1) * _CYCLE_DAYS


def _day_text(days: int) -> str:
    """A date as Iceberg writes it: years beyond 9999 have a sign, and so do those before the year 0."""
    cycles, near = divmod(days - _FIRST_DAY, _CYCLE_DAYS)
    date = _EPOCH_DAY + dt.timedelta(days=near + _FIRST_DAY)
    year = date.year + cycles * _CYCLE_YEARS
    sign = "-" if year < 0 else "+" if year > dt.MAXYEAR else ""
    return f"{sign}{abs(year):04}-{date.month:02}-{date.day:02}"


def bound(value: Any, kind: str, *, upper: bool) -> bytes | None:
    r"""A bound from Delta's statistics in Iceberg's binary form; None where it says nothing for certain.

    Args:
        value: What the JSON says, numbers with a fraction as Decimal.
        kind: The Iceberg type of the column.
        upper: Whether it bounds from above. Delta cuts times to milliseconds, so that one more is needed there.

    Examples:
        >>> bound(258, "int", upper=False), bound("abc", "string", upper=True)
        (b'\x02\x01\x00\x00', b'abc')
    """
    try:
        return _bound(value, kind, upper=upper)
    except (ValueError, ArithmeticError, TypeError, struct.error, UnicodeError):
        return None  # a date before the year 1, a number that is no number: no bound is always true


def _bound(value: Any, kind: str, *, upper: bool) -> bytes | None:
    if kind in _FLOATS:
        number = float(value)
        # Zero has two signs, and they are equal: the bound must hold for both.
        number = number or (0.0 if upper else -0.0)
        return None if math.isnan(number) else struct.pack(_FLOATS[kind], number)
    if kind in {"timestamp", "timestamptz"}:
        time = _parse_time(value)
        micros = (time.replace(tzinfo=time.tzinfo or dt.timezone.utc) - _EPOCH) // _MICROSECOND
        fits = (time.tzinfo is None) == (kind == "timestamp")
        return struct.pack("<q", micros + (_MILLISECOND if upper else 0)) if fits else None
    if kind.startswith("decimal"):
        unscaled = int(_scaled(decimal.Decimal(value), kind).scaleb(_scale(kind), _CONTEXT))
        return unscaled.to_bytes((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1, "big", signed=True)
    write = _TO_BYTES.get(kind)
    return None if write is None else write(value)


def _parse_time(text: str) -> dt.datetime:
    # Python 3.10 knows neither Z nor fractions of other than three or six digits.
    text = text.strip().replace("Z", "+00:00")
    head, dot, rest = text.partition(".")
    if dot:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        text = f"{head}.{rest[:digits][:6]:0<6}{rest[digits:]}"
    return dt.datetime.fromisoformat(text)


def _scale(kind: str) -> int:
    return int(kind.rstrip(")").rpartition(",")[2])


def _scaled(value: decimal.Decimal, kind: str) -> decimal.Decimal:
    quantum = decimal.Decimal(1).scaleb(-_scale(kind), _CONTEXT)
    scaled = value.quantize(quantum, context=_CONTEXT)
    if scaled != value:
        raise ValueError(f"{value} has more digits than {kind}")
    return scaled


_FROM_TEXT: Final[dict[str, Callable[[str], Any]]] = {
    "int": int,
    "long": int,
    "float": _finite,
    "double": _finite,
    "boolean": _boolean,
    "date": lambda text: _day_text(_day(text.strip())),
    "binary": lambda text: text.encode().hex().upper(),  # Spark writes the bytes as the text that they are
}
_TO_BYTES: Final[dict[str, Callable[[Any], bytes]]] = {
    "int": lambda value: struct.pack("<i", int(value)),
    "long": lambda value: struct.pack("<q", int(value)),
    "date": lambda value: struct.pack("<i", (dt.date.fromisoformat(value) - _EPOCH_DAY).days),
    "string": lambda value: str(value).encode(),
}
