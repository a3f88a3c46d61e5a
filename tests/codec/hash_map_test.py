from __future__ import annotations

import datetime as dt
import zlib
from struct import pack

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from rowdelta.codec import decode_hash_map, encode_hash_map
from rowdelta.codec.frame_compression import compress
from rowdelta.codec.hash_map import fold_hashes
from rowdelta.codec.roaring import encode32
from rowdelta.errors import FormatError

KEYS = pa.table({"id": [1, 2, 3], "region": ["EU", None, "US"]})
HASHES = np.array([-7046029254386353131, 5, 5], np.int64)
BLOB = encode_hash_map(HASHES, KEYS)


def stored(bitmap: bytes, packed: bytes, *, magic: bytes = b"RDH1") -> bytes:
    content = pack("<4sIQ", magic, len(bitmap), len(packed)) + bitmap + packed
    return content + pack("<I", zlib.crc32(content))


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def test_keys_and_hashes_come_back() -> None:
    hashed = decode_hash_map(BLOB)
    assert hashed.keys.equals(KEYS)
    assert hashed.bitmap == BitMap(fold_hashes(HASHES).tolist())
    assert len(hashed.bitmap) == 2


def test_composite_keys_of_many_types_come_back() -> None:
    keys = pa.table(
        {
            "s": pa.array(["x", None]),
            "d": pa.array([dt.date(2024, 1, 1), None]),
            "n": pa.array([1.5, 2.5]).cast(pa.decimal128(9, 2)),
            "b": pa.array([b"\0", b""]),
            "u": pa.array([b"x" * 16, None], pa.binary(16)),
            "t": pa.array([0, 1], pa.timestamp("us", "UTC")),
            "o": pa.array([True, None]),
        }
    )
    assert decode_hash_map(encode_hash_map(np.array([1, 2]), keys)).keys.equals(keys)


@settings(max_examples=100, deadline=None)
@given(st.integers(-(2**63), 2**63 - 1))
def test_fold_is_the_xor_of_both_halves(value: int) -> None:
    unsigned = value % 2**64
    assert fold_hashes(np.array([value], np.int64)).tolist() == [unsigned >> 32 ^ unsigned & 0xFFFF_FFFF]


def test_fold_takes_only_64_bit_hashes() -> None:
    with pytest.raises(FormatError, match="64-bit integers, not int32"):
        fold_hashes(np.array([1], np.int32))


@pytest.mark.parametrize(
    ("hashes", "keys", "message"),
    [
        (np.array([1]), KEYS, "1 hashes for 3 keys"),
        (np.array([], np.int64), KEYS.slice(0, 0), "0 keys of 2 columns"),
        (np.array([], np.int64), pa.table({}), "0 keys of 0 columns"),
    ],
)
def test_keys_without_their_hashes_are_refused(hashes: np.ndarray, keys: pa.Table, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        encode_hash_map(hashes, keys)


ONE_HASH = encode32(BitMap([1]))
PACKED = compress("zstd", stream(KEYS))


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "has 0 bytes"),
        (BLOB[:-1], "checksum"),
        (stored(ONE_HASH, PACKED, magic=b"RDH2"), "magic b'RDH2'"),
        (stored(ONE_HASH[:-1], PACKED), "Roaring bitmap needs"),
        (stored(ONE_HASH, PACKED + b"x"), "zstd frame"),
        (stored(ONE_HASH, compress("zstd", b"no stream")), "not an Arrow stream"),
        (stored(ONE_HASH, compress("zstd", stream(KEYS)[:-40])), "not an Arrow stream|hashes for 0 keys"),
        (stored(ONE_HASH, compress("zstd", stream(KEYS.slice(0, 0)))), "1 hashes for 0 keys"),
        (stored(encode32(BitMap()), PACKED), "0 hashes for 3 keys"),
        (stored(encode32(BitMap(range(4))), PACKED), "4 hashes for 3 keys"),
    ],
)
def test_damaged_blob_is_refused(blob: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decode_hash_map(blob)


def test_lengths_that_do_not_add_up_are_refused() -> None:
    content = pack("<4sIQ", b"RDH1", 2**32 - 1, 2**64 - 1) + ONE_HASH
    with pytest.raises(FormatError, match="claims 4294967295 of bitmap"):
        decode_hash_map(content + pack("<I", zlib.crc32(content)))


def test_buffers_compressed_inside_the_stream_are_refused() -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"s": ["x" * 10**6]})
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    with pytest.raises(FormatError, match="compressed as a whole"):
        decode_hash_map(stored(ONE_HASH, compress("zstd", sink.getvalue())))


@pytest.mark.parametrize(
    "column",
    [
        pa.nulls(2),
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array(["x", "x"]).dictionary_encode(),
        pa.array([b"", b""], pa.binary(0)),
        pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([1])),
    ],
    ids=lambda column: str(column.type)[:20],
)
def test_key_column_of_another_than_a_primitive_type_is_refused(column: pa.Array) -> None:
    table = pa.table({"k": column})
    with pytest.raises(FormatError, match="key column 'k' has type"):
        encode_hash_map(np.array([1, 2]), table)
    with pytest.raises(FormatError, match=r"key column 'k' has type|message of type 'dictionary'"):
        decode_hash_map(stored(ONE_HASH, compress("zstd", stream(table))))


def test_keys_larger_than_the_limit_are_refused() -> None:
    keys = pa.table({"s": ["x" * 1000] * 1000})
    with pytest.raises(FormatError, match="more than the limit of 10000"):
        decode_hash_map(encode_hash_map(np.arange(1000), keys), limit=10_000)
