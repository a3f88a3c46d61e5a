"""The blob `equality-delete-hash-v1`: composite and string keys as a bitmap of hashes and the exact keys.

A reader tests the bitmap first, and compares exact keys only for the rows that hit. The hashes are Spark's `xxhash64`
of the key columns, computed where the rows are, and folded to 32 bits here. The layout, all little-endian: magic
`RDH1`, length of the bitmap (4 bytes), length of the keys (8), a portable 32-bit Roaring bitmap, the keys as an Arrow
IPC stream in one Zstandard frame, CRC-32 of all that (4).
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from rowdelta.codec.frame_compression import DEFAULT_LIMIT, compress, decompress
from rowdelta.codec.roaring import decode32, encode32
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from rowdelta.codec.byte_source import Buffer

HASH_BLOB_TYPE = "equality-delete-hash-v1"

_MAGIC = b"RDH1"
_HEADER = Struct("<4sIQ")
_CRC = _U32 = Struct("<I")
_U16, _I32 = Struct("<H"), Struct("<i")
_MESSAGE_HEADER, _BATCH_COMPRESSION = 2, 3  # field numbers in Arrow's Message.fbs
_VARIABLE_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
)


@dataclass(frozen=True)
class HashedKeys:
    """The folded hashes that a deleted row can have, and the exact deleted keys."""

    bitmap: BitMap
    keys: pa.Table


def fold_hashes(hashes: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Folds 64-bit hashes to 32 bits: the upper half xor the lower half.

    Examples:
        >>> fold_hashes(np.array([0x0000_0001_0000_0003, -1])).tolist()
        [2, 0]
    """
    if hashes.dtype.kind not in "iu" or hashes.dtype.itemsize != np.dtype(np.uint64).itemsize:
        raise FormatError(f"hashes are 64-bit integers, not {hashes.dtype}")
    unsigned = np.ascontiguousarray(hashes).view(np.uint64)
    return (unsigned ^ unsigned >> np.uint64(32)).astype(np.uint32)


def encode_hash_map(hashes: npt.NDArray[Any], keys: pa.Table) -> bytes:
    """Stores keys with their hashes.

    Args:
        hashes: The 64-bit hash of each row of `keys`, in the same order.
        keys: The exact keys.

    Examples:
        >>> blob = encode_hash_map(np.array([11, 12]), pa.table({"name": ["a", "b"]}))
        >>> decode_hash_map(blob).bitmap
        BitMap([11, 12])
        >>> decode_hash_map(blob).keys.column("name").to_pylist()
        ['a', 'b']
    """
    if len(hashes) != keys.num_rows:
        raise FormatError(f"there are {len(hashes)} hashes for {keys.num_rows} keys")
    if keys.num_columns == 0 or keys.num_rows == 0:
        raise FormatError(f"a set of {keys.num_rows} keys of {keys.num_columns} columns deletes nothing")
    _check_types(keys.schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, keys.schema) as stream:
        stream.write_table(keys)
    bitmap = encode32(BitMap(fold_hashes(hashes)))
    packed = compress("zstd", sink.getvalue())
    content = _HEADER.pack(_MAGIC, len(bitmap), len(packed)) + bitmap + packed
    return content + _CRC.pack(crc32(content))


def decode_hash_map(blob: Buffer, *, limit: int = DEFAULT_LIMIT) -> HashedKeys:
    """Reads keys and hashes back, after checking all of their bytes.

    Args:
        blob: The whole blob.
        limit: How many bytes the keys may have when decompressed.

    Raises:
        FormatError: Anything is wrong with the bytes.
    """
    view = memoryview(blob)
    if len(view) < _HEADER.size + _CRC.size:
        raise FormatError(f"hash blob has {len(view)} bytes, fewer than its header")
    content = view[: -_CRC.size]
    (expected,) = _CRC.unpack_from(view, len(content))
    magic, bitmap_size, keys_size = _HEADER.unpack_from(content)
    if magic != _MAGIC:
        raise FormatError(f"hash blob has magic {magic!r}, not {_MAGIC!r}")
    if crc32(content) != expected:
        raise FormatError(f"hash blob has checksum 0x{crc32(content):08x} but says 0x{expected:08x}")
    if _HEADER.size + bitmap_size + keys_size != len(content):
        raise FormatError(f"hash blob of {len(view)} bytes claims {bitmap_size} of bitmap and {keys_size} of keys")
    middle = _HEADER.size + bitmap_size
    bitmap = decode32(content[_HEADER.size : middle])
    keys = _read_stream(decompress("zstd", content[middle:], limit=limit))
    if keys.num_columns == 0 or not 1 <= len(bitmap) <= keys.num_rows:
        raise FormatError(
            f"hash blob has {len(bitmap)} hashes for {keys.num_rows} keys of {keys.num_columns} columns: "
            "each key has one hash, and each hash at least one key"
        )
    return HashedKeys(bitmap, keys)


def _read_stream(data: bytes) -> pa.Table:
    try:
        _check_messages(data)
        with pa.ipc.open_stream(data) as stream:
            _check_types(stream.schema)
            table = stream.read_all()
        table.validate(full=True)
    except FormatError:
        raise
    # Arrow raises built-in errors of many kinds on damaged streams: OSError, ValueError, KeyError, TypeError, ...
    except Exception as error:
        raise FormatError(f"hash blob has keys that are not an Arrow stream: {str(error)[:200]}") from error
    return table


def _check_types(schema: pa.Schema) -> None:
    """Refuses types whose values take no bytes, so that a few bytes cannot represent very many rows."""
    for column in schema:
        plain = pa.types.is_primitive(column.type) or pa.types.is_decimal(column.type)
        text = any(check(column.type) for check in _VARIABLE_TYPES)
        fixed = pa.types.is_fixed_size_binary(column.type) and column.type.byte_width > 0
        if not (plain or text or fixed):
            raise FormatError(f"key column {column.name!r} has type {column.type}", hint="cast it to a primitive type")


def _check_messages(data: bytes) -> None:
    """Refuses buffers that are compressed inside the stream: Arrow would decompress them without a limit."""
    for message in pa.ipc.MessageReader.open_stream(data):
        if message.type not in ("schema", "record batch"):
            raise FormatError(f"hash blob has an Arrow message of type {message.type!r}")
        metadata = message.metadata.to_pybytes()
        header = _find_flatbuffer_field(metadata, _U32.unpack_from(metadata)[0], _MESSAGE_HEADER)
        if message.type == "record batch" and header is not None:
            batch = header + _U32.unpack_from(metadata, header)[0]
            if _find_flatbuffer_field(metadata, batch, _BATCH_COMPRESSION) is not None:
                raise FormatError("hash blob has an Arrow stream with compressed buffers; it is compressed as a whole")


def _find_flatbuffer_field(data: bytes, table: int, index: int) -> int | None:
    """Finds a field of a Flatbuffers table by the table's list of field offsets, which lies before it."""
    offsets = table - _I32.unpack_from(data, table)[0]
    if _U16.unpack_from(data, offsets)[0] < 2 * index + 6:
        return None
    offset = int(_U16.unpack_from(data, offsets + 4 + 2 * index)[0])
    return table + offset if offset else None
