"""The bounds of a column in a manifest entry, as values that compare as Iceberg compares them."""

from __future__ import annotations

from typing import Any, Final

_LITTLE_ENDIAN: Final = {
    "int": (4,),
    "date": (4,),
    "long": (4, 8),  # a column that was an int before keeps the short bounds of its old files
    "time": (8,),
    "timestamp": (8,),
    "timestamptz": (8,),
    "timestamp_ns": (8,),
    "timestamptz_ns": (8,),
}
_AS_BYTES: Final = ("string", "binary", "fixed")


def decode_bound(type_name: str, value: bytes | None) -> Any:
    r"""Converts a bound to a value that can be ordered; None if it is missing or has no meaning.

    Bounds of floating-point columns omit NaN, which is a key like any other. So they exclude nothing.

    Examples:
        >>> decode_bound("long", (7).to_bytes(8, "little")), decode_bound("decimal(9, 2)", b"\xff")
        (7, -1)
        >>> print(decode_bound("double", bytes(8)))
        None
    """
    if value is None:
        return None
    if len(value) in _LITTLE_ENDIAN.get(type_name, ()):
        return int.from_bytes(value, "little", signed=True)
    if type_name.startswith("decimal"):
        return int.from_bytes(value, "big", signed=True)
    if type_name.startswith(_AS_BYTES):
        return value
    return None
