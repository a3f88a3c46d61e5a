"""The frame around a Roaring bitmap that makes it a deletion vector, byte for byte as Iceberg's Java library writes it.

A blob is a 4-byte length of magic and bitmap (big-endian), the magic D1 D3 39 64, the portable 64-bit bitmap, and a
CRC-32 of magic and bitmap (big-endian). `deletion-vector-v1` and `equality-delete-vector-v1` share it.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

from rowdelta.codec.roaring import JAVA_HIGH_KEY_LIMIT, decode64, encode64
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from pyroaring import BitMap64

    from rowdelta.codec.byte_source import Buffer

VECTOR_MAGIC = bytes.fromhex("d1d33964")
FRAME_BYTES = 8  # the length before, the checksum after
MAX_VECTOR_BYTES = 2**31 - 1  # a Java array

MAX_POSITION = JAVA_HIGH_KEY_LIMIT << 32 | 0x8000_0000
"""The largest value that Iceberg's `RoaringPositionBitmap` sets or tests."""

_BE32 = Struct(">I")


def encode_deletion_vector(bitmap: BitMap64, *, high_key_limit: int = JAVA_HIGH_KEY_LIMIT) -> bytes:
    """Frames a bitmap as a deletion vector. The given bitmap does not change.

    The bytes are those of Java, with one exception: Java also writes an empty bitmap, of 12 bytes, for each unused high
    key below the largest. That is nothing for row positions, but gigabytes for large keys. Java reads vectors without
    them.

    Args:
        bitmap: The positions, or the encoded keys.
        high_key_limit: The largest high half (upper 32 bits) of a value that may be written.

    Examples:
        >>> from pyroaring import BitMap64
        >>> encode_deletion_vector(BitMap64()).hex(" ", 4)
        '0000000c d1d33964 00000000 00000000 bf18480c'
    """
    return frame(VECTOR_MAGIC + encode64(bitmap, high_key_limit=high_key_limit))


def decode_deletion_vector(
    blob: Buffer, *, cardinality: int | None = None, high_key_limit: int = JAVA_HIGH_KEY_LIMIT
) -> BitMap64:
    """Decodes a deletion vector after checking its length, magic, checksum, structure and cardinality.

    Args:
        blob: The whole blob, nothing before or after it.
        cardinality: How many values there must be, if the metadata has this number.
        high_key_limit: The largest high half (upper 32 bits) of a value that is accepted.

    Raises:
        FormatError: Any of these is wrong.

    Examples:
        >>> from pyroaring import BitMap64
        >>> blob = encode_deletion_vector(BitMap64([1, 3, 5]))
        >>> decode_deletion_vector(blob, cardinality=3)
        BitMap64([1, 3, 5])
        >>> decode_deletion_vector(blob, cardinality=4)
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: vector has 3 values but its metadata says 4
    """
    bitmap = decode_unframed(unframe(blob), high_key_limit=high_key_limit)
    if cardinality is not None and len(bitmap) != cardinality:
        raise FormatError(f"vector has {len(bitmap)} values but its metadata says {cardinality}")
    return bitmap


def frame(content: bytes) -> bytes:
    """Frames a magic and bitmap: the length before them, the checksum after.

    Examples:
        >>> frame(b"abcd").hex(" ", 4)
        '00000004 61626364 ed82cd11'
    """
    if len(content) + FRAME_BYTES > MAX_VECTOR_BYTES:
        raise FormatError(f"vector has {len(content)} bytes, more than a vector may have", hint="split the set")
    return _BE32.pack(len(content)) + content + _BE32.pack(crc32(content))


def unframe(blob: Buffer) -> memoryview:
    """Checks the length and checksum of a frame, and returns its magic and bitmap.

    Examples:
        >>> bytes(unframe(frame(b"abcd")))
        b'abcd'
    """
    view = memoryview(blob)
    if len(view) < FRAME_BYTES + len(VECTOR_MAGIC):
        raise FormatError(f"vector has {len(view)} bytes, fewer than the 12 of length, magic and checksum")
    (length,) = _BE32.unpack_from(view)
    content = view[4:-4]
    if length != len(content):
        raise FormatError(f"vector says that it has {length} bytes of magic and bitmap, but there are {len(content)}")
    (expected,) = _BE32.unpack_from(view, len(view) - 4)
    actual = crc32(content)
    if actual != expected:
        raise FormatError(
            f"vector has checksum 0x{actual:08x} but says 0x{expected:08x}", hint="the file is damaged: restore it"
        )
    return content


def decode_unframed(content: Buffer, *, high_key_limit: int = JAVA_HIGH_KEY_LIMIT) -> BitMap64:
    """Decodes magic and bitmap without a frame, as Delta keeps inline deletion vectors.

    Examples:
        >>> decode_unframed(VECTOR_MAGIC + bytes(8))
        BitMap64([])
    """
    view = memoryview(content)
    if view[:4] != VECTOR_MAGIC:
        raise FormatError(f"vector has magic {view[:4].hex() or 'nothing'}, not {VECTOR_MAGIC.hex()}")
    return decode64(view[4:], high_key_limit=high_key_limit)
