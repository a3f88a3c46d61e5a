"""How a set of unsigned 64-bit values is stored: the registry that `write.deletion-vector.compression` names.

`roaring` is the framed vector. `delta-zstd` keeps the first value and the gaps between sorted values, a third of the
bytes on sparse keys (`bench/codec.py`). Its layout, all little-endian: magic `RDS1`, count (8 bytes), first value (8),
bytes per gap (1), the gaps less one as a Zstandard frame, CRC-32 of all that (4). Gaps are stored as planes: every
lowest byte, then every second byte, and so on. So the high bytes, nearly all zero, compress to almost nothing.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Protocol
from zlib import crc32

import numpy as np

from rowdelta.codec.bitmaps import bitmap_from_sorted, bitmap_to_numpy
from rowdelta.codec.deletion_vector import decode_deletion_vector, encode_deletion_vector
from rowdelta.codec.frame_compression import compress, decompress
from rowdelta.codec.roaring import JAVA_HIGH_KEY_LIMIT
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from pyroaring import BitMap64

    from rowdelta.codec.byte_source import Buffer

MAX_DELTA_VALUES = 2**25
"""How many values a `delta-zstd` set may have: reading lists them in memory, about 25 bytes each."""

_DELTA_MAGIC = b"RDS1"
_HEADER = Struct("<4sQQB")
_CRC = Struct("<I")
_WIDEST = 8


class SetCompression(Protocol):
    """The interface of a set compression. `decode` must check everything it reads."""

    @property
    def name(self) -> str:
        """The name in a blob's `compression` property."""

    def encode(self, bitmap: BitMap64, *, high_key_limit: int = ...) -> bytes:
        """Stores a set."""

    def decode(self, data: Buffer, *, cardinality: int | None = None, high_key_limit: int = ...) -> BitMap64:
        """Reads a set back."""


class RoaringSet:
    """The framed Roaring vector."""

    name = "roaring"

    def encode(self, bitmap: BitMap64, *, high_key_limit: int = JAVA_HIGH_KEY_LIMIT) -> bytes:
        """Stores a set."""
        return encode_deletion_vector(bitmap, high_key_limit=high_key_limit)

    def decode(
        self, data: Buffer, *, cardinality: int | None = None, high_key_limit: int = JAVA_HIGH_KEY_LIMIT
    ) -> BitMap64:
        """Reads a set back."""
        return decode_deletion_vector(data, cardinality=cardinality, high_key_limit=high_key_limit)


class DeltaZstdSet:
    """Sorted gaps in byte planes, compressed with Zstandard.

    Examples:
        >>> from pyroaring import BitMap64
        >>> DeltaZstdSet().decode(DeltaZstdSet().encode(BitMap64([5, 1_000_000])))
        BitMap64([5, 1000000])
    """

    name = "delta-zstd"

    def encode(self, bitmap: BitMap64, *, high_key_limit: int = JAVA_HIGH_KEY_LIMIT) -> bytes:
        """Stores a set."""
        if len(bitmap) > MAX_DELTA_VALUES:
            raise FormatError(
                f"delta-zstd holds at most {MAX_DELTA_VALUES} values, not {len(bitmap)}",
                hint="set write.deletion-vector.compression to roaring",
            )
        values = bitmap_to_numpy(bitmap)
        if len(values) and int(values[-1]) >> 32 > high_key_limit:
            raise FormatError(f"value {values[-1]} is above the high key limit of {high_key_limit}")
        gaps = np.diff(values) - np.uint64(1)
        width = max(1, (int(gaps.max()).bit_length() + 7) // 8) if len(gaps) else 0
        planes = gaps.astype("<u8").view(np.uint8).reshape(-1, _WIDEST)[:, :width].T.tobytes()
        content = _HEADER.pack(_DELTA_MAGIC, len(values), int(values[0]) if len(values) else 0, width)
        content += compress("zstd", planes)
        return content + _CRC.pack(crc32(content))

    def decode(
        self, data: Buffer, *, cardinality: int | None = None, high_key_limit: int = JAVA_HIGH_KEY_LIMIT
    ) -> BitMap64:
        """Reads a set back."""
        view = memoryview(data)
        if len(view) < _HEADER.size + _CRC.size:
            raise FormatError(f"delta-zstd set has {len(view)} bytes, fewer than its header")
        content = view[: -_CRC.size]
        (expected,) = _CRC.unpack_from(view, len(content))
        magic, count, first, width = _HEADER.unpack_from(content)
        if magic != _DELTA_MAGIC:
            raise FormatError(f"delta-zstd set has magic {magic!r}, not {_DELTA_MAGIC!r}")
        if crc32(content) != expected:
            raise FormatError(f"delta-zstd set has checksum 0x{crc32(content):08x} but says 0x{expected:08x}")
        if cardinality is not None and count != cardinality:
            raise FormatError(f"delta-zstd set has {count} values but its metadata says {cardinality}")
        steps = max(count - 1, 0)
        if count > MAX_DELTA_VALUES or (count == 0 and first) or (width > 0) != (steps > 0) or width > _WIDEST:
            raise FormatError(f"delta-zstd set claims {count} values from {first} on with gaps of {width} bytes")
        planes = decompress("zstd", content[_HEADER.size :], limit=steps * width)
        if len(planes) != steps * width:
            raise FormatError(f"delta-zstd set has {len(planes)} bytes of gaps, not {steps} times {width}")
        values = np.ones(count, np.uint64)
        values[:1] = first
        for index in range(width):
            plane = np.frombuffer(planes, np.uint8, count=steps, offset=index * steps)
            values[1:] += plane.astype(np.uint64) << np.uint64(8 * index)
        np.cumsum(values, out=values)
        # If a gap passes 2^64, the values descend; a gap of exactly 2^64 repeats a value.
        if not (values[1:] > values[:-1]).all():
            raise FormatError("delta-zstd set has gaps that run past 64 bits")
        if count and int(values[-1]) >> 32 > high_key_limit:
            raise FormatError(f"delta-zstd set has value {values[-1]}, above the high key limit of {high_key_limit}")
        return bitmap_from_sorted(values)


_compressions: dict[str, SetCompression] = {}


def register_compression(compression: SetCompression) -> None:
    """Registers a set compression under its name.

    Examples:
        >>> register_compression(RoaringSet())
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: there is a set compression 'roaring' already
        Hint: choose another name
    """
    if compression.name in _compressions:
        raise FormatError(f"there is a set compression {compression.name!r} already", hint="choose another name")
    _compressions[compression.name] = compression


def get_compression(name: str) -> SetCompression:
    """Finds a set compression by the name that `write.deletion-vector.compression` gives.

    Examples:
        >>> get_compression("concise")
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: unknown set compression 'concise'
        Hint: known compressions: delta-zstd, roaring
    """
    if name not in _compressions:
        names = ", ".join(sorted(_compressions))
        raise FormatError(f"unknown set compression {name!r}", hint=f"known compressions: {names}")
    return _compressions[name]


register_compression(RoaringSet())
register_compression(DeltaZstdSet())
