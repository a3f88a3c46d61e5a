"""Portable Roaring bitmaps of 32 and 64 bits: checked bytes in, compact bytes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyroaring import BitMap, BitMap64

from rowdelta.codec.roaring_check import check32, check64
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from rowdelta.codec.byte_source import Buffer

JAVA_HIGH_KEY_LIMIT = 0x7FFF_FFFE
"""The largest high half of a value that Iceberg's Java reader accepts."""

UNSIGNED_HIGH_KEY_LIMIT = 0xFFFF_FFFF
"""No limit: every unsigned 64-bit value. Only for sets that Iceberg's Java reader never reads."""


def decode32(data: Buffer) -> BitMap:
    """Decodes a 32-bit bitmap.

    Args:
        data: Exactly one bitmap in the portable format.

    Raises:
        FormatError: The bytes break the format in any way.

    Examples:
        >>> decode32(encode32(BitMap([1, 2, 70_000])))
        BitMap([1, 2, 70000])
    """
    raw = bytes(data)
    check32(raw)
    try:
        return BitMap.deserialize(raw)
    except (ValueError, IndexError, OverflowError) as error:
        raise FormatError(f"Roaring bitmap of {len(raw)} bytes cannot be read: {error}") from error


def decode64(data: Buffer, *, high_key_limit: int = JAVA_HIGH_KEY_LIMIT) -> BitMap64:
    """Decodes a 64-bit bitmap.

    Args:
        data: Exactly one bitmap in the portable format.
        high_key_limit: The largest high half (upper 32 bits) of a value that is accepted.

    Raises:
        FormatError: The bytes break the format in any way.

    Examples:
        >>> decode64(encode64(BitMap64([1, 2**40])))
        BitMap64([1, 1099511627776])
        >>> decode64(b"")
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: 64-bit Roaring bitmap has 0 bytes, fewer than the 8 of its bitmap count
    """
    raw = bytes(data)
    check64(raw, high_key_limit=high_key_limit)
    try:
        return BitMap64.deserialize(raw)
    except (ValueError, IndexError, OverflowError) as error:
        raise FormatError(f"64-bit Roaring bitmap of {len(raw)} bytes cannot be read: {error}") from error


def encode32(bitmap: BitMap) -> bytes:
    """Encodes a 32-bit bitmap, run-length encoded if that is smaller. The given bitmap does not change.

    Examples:
        >>> len(encode32(BitMap(range(100_000))))
        25
    """
    compact = bitmap.copy()
    compact.run_optimize()
    return compact.serialize()


def encode64(bitmap: BitMap64, *, high_key_limit: int = JAVA_HIGH_KEY_LIMIT) -> bytes:
    """Encodes a 64-bit bitmap, run-length encoded if that is smaller. The given bitmap does not change.

    Raises:
        FormatError: A value's high half is above `high_key_limit`.

    Examples:
        >>> encode64(BitMap64()).hex()
        '0000000000000000'
        >>> encode64(BitMap64([2**63]))
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: value 9223372036854775808 has high key 2147483648, above the limit of 2147483646
    """
    largest = bitmap.max() if bitmap else 0
    if largest >> 32 > high_key_limit:
        raise FormatError(f"value {largest} has high key {largest >> 32}, above the limit of {high_key_limit}")
    compact = bitmap.copy()
    compact.run_optimize()
    return compact.serialize()
