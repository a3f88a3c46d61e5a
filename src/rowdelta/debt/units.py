"""Formats bytes and time spans for people."""

from __future__ import annotations

from typing import Final

_BYTE_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP: Final = 1024
_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86_400
_MILLISECONDS: Final = 1000


def format_bytes(size: float) -> str:
    """Formats a number of bytes.

    Examples:
        >>> format_bytes(512), format_bytes(1536), format_bytes(3 << 40)
        ('512 B', '1.5 KiB', '3.0 TiB')
    """
    for unit in _BYTE_UNITS:
        if size < _STEP or unit == _BYTE_UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    raise AssertionError


def format_seconds(seconds: float) -> str:
    """Formats a time span.

    Examples:
        >>> [format_seconds(s) for s in (0, 1e-6, 0.0123, 7.25, 150, 7200, 200_000)]
        ['0 s', '<1 ms', '12 ms', '7.2 s', '2.5 min', '2.0 h', '2.3 days']
    """
    if not seconds:
        return "0 s"
    if seconds < 1 / _MILLISECONDS:
        return "<1 ms"
    if seconds < 1:
        return f"{seconds * _MILLISECONDS:.0f} ms"
    for limit, size, unit in ((_MINUTE, 1, "s"), (_HOUR, _MINUTE, "min"), (_DAY, _HOUR, "h")):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / _DAY:.1f} days"
