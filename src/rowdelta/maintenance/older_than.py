"""Parses `older_than`: a time or an age, as users give it."""

from __future__ import annotations

import datetime as dt
import re
import time
from typing import Final

from rowdelta.errors import InputError

OlderThan = dt.datetime | dt.timedelta | str
_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes"}


def parse_cutoff(older_than: OlderThan | None, now_ms: int | None = None) -> int | None:
    """Converts to milliseconds a datetime, ISO text (both UTC without a zone), or an age.

    Examples:
        >>> parse_cutoff("1970-01-01T00:00:01"), parse_cutoff(dt.timedelta(seconds=3), now_ms=10_000)
        (1000, 7000)
        >>> parse_cutoff("90m", now_ms=5_400_000)
        0
        >>> parse_cutoff("yesterday")
        Traceback (most recent call last):
        rowdelta.errors.InputError: older_than is 'yesterday', which is neither a time nor an age
        Hint: give a datetime, a timedelta, a time such as 2024-01-31T12:00+02:00, or an age such as 5d, 36h or 90m
    """
    if older_than is None:
        return None
    if isinstance(older_than, str):
        age = _parse_age(older_than)
        older_than = older_than if age is None else age
    if isinstance(older_than, dt.timedelta):
        if older_than < dt.timedelta(0):
            raise InputError(f"older_than is {older_than}, a negative time", hint="timedelta(days=5) is five days ago")
        now = time.time() * 1000 if now_ms is None else now_ms
        return int(now - older_than.total_seconds() * 1000)
    moment = _parse_time(older_than) if isinstance(older_than, str) else older_than
    if not isinstance(moment, dt.datetime):
        raise InputError(f"older_than is {older_than!r}", hint="give a datetime, a timedelta or text")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.timezone.utc)
    return int(moment.timestamp() * 1000)


def _parse_age(text: str) -> dt.timedelta | None:
    match = re.fullmatch(r"\s*(\d{1,6})\s*([dhm])\s*", text)
    return None if match is None else dt.timedelta(**{_UNITS[match[2]]: int(match[1])})


def _parse_time(text: str) -> dt.datetime:
    try:
        # Python before 3.11 does not know the Z.
        return dt.datetime.fromisoformat(text.strip().removesuffix("Z") + ("+00:00" if text.endswith("Z") else ""))
    except ValueError:
        raise InputError(
            f"older_than is {text!r}, which is neither a time nor an age",
            hint="give a datetime, a timedelta, a time such as 2024-01-31T12:00+02:00, or an age such as 5d, 36h or "
            "90m",
        ) from None


def format_time(milliseconds: int) -> str:
    """Formats a point in time for people.

    Examples:
        >>> format_time(0)
        '1970-01-01 00:00:00 UTC'
    """
    return dt.datetime.fromtimestamp(milliseconds / 1000, tz=dt.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
