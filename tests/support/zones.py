"""Time zones that skip or repeat hours, half hours or a whole day, and times at which they do."""

from __future__ import annotations

import datetime as dt

ZONES = ["UTC", "America/Los_Angeles", "Asia/Kolkata", "Europe/Berlin", "Pacific/Apia", "Australia/Lord_Howe"]
_CLOCKS = [
    "2024-03-10 02:30:00",  # skipped in Los Angeles
    "2024-11-03 01:30:00.000001",  # twice there
    "2024-03-31 02:30:00",  # skipped in Berlin
    "2024-10-27 02:30:00",  # twice there
    "2011-12-30 12:00:00",  # a day that Apia never had
    "2024-10-06 02:15:00",  # skipped on Lord Howe, whose clock moves by half an hour
    "2024-04-07 01:45:00",  # twice there
    "1893-04-01 00:03:00.999999",
    "1969-12-31 23:59:59.999999",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
]
_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime.fromisoformat("1970-01-01")
_FAR_DAYS = (-719_529, -719_528, 2_932_897, 3_789_391)  # the last day of the year -1, then 0, 10000 and 12345
DAYS = [0, -1, 19_753, *_FAR_DAYS]
MICROS = [
    *((dt.datetime.fromisoformat(clock) - _EPOCH) // _MICROSECOND for clock in _CLOCKS),
    *(day * 86_400_000_000 + 1 for day in _FAR_DAYS),
]
