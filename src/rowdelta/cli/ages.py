"""Ages on the command line."""

from __future__ import annotations

import datetime as dt
import re

_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def parse_age(text: str | None) -> str | dt.timedelta | None:
    """An age such as `5d`, `36h` or `90m` as a time span; anything else is left as it is.

    Examples:
        >>> parse_age("36h"), parse_age("2024-01-31")
        (datetime.timedelta(days=1, seconds=43200), '2024-01-31')
    """
    found = re.fullmatch(r"(\d+)([dhm])", (text or "").strip())
    return text if found is None else dt.timedelta(**{_UNITS[found[2]]: int(found[1])})
