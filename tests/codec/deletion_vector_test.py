from __future__ import annotations

import hashlib
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from rowdelta.codec import bitmap_from_sorted, bitmap_to_numpy, decode_deletion_vector, encode_deletion_vector
from rowdelta.codec.deletion_vector import MAX_POSITION, frame
from rowdelta.errors import FormatError

BLOB = encode_deletion_vector(BitMap64([1, 3, 5, 7, 9]))


def with_byte(data: bytes, at: int, value: int) -> bytes:
    changed = bytearray(data)
    changed[at] = value
    return bytes(changed)


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "has 0 bytes"),
        (BLOB[:11], "has 11 bytes"),
        (BLOB[:-1], "says that it has 42 bytes of magic and bitmap, but there are 41"),
        (BLOB + b"\0", "but there are 43"),
        (with_byte(BLOB, 0, 0xFF), "4278190122 bytes"),
        (with_byte(BLOB, 20, 0xFF), "checksum"),
        (with_byte(BLOB, -1, BLOB[-1] ^ 1), "checksum"),
        (frame(b"\xd1\xd3\x39\x65" + BLOB[8:-4]), "magic d1d33965, not d1d33964"),
        (frame(BLOB[4:-5]), "needs 38 bytes but the input has 37"),
    ],
)
def test_damaged_vector_is_refused(blob: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decode_deletion_vector(blob)


def test_vector_of_another_cardinality_is_refused() -> None:
    with pytest.raises(FormatError, match="has 5 values but its metadata says 6"):
        decode_deletion_vector(BLOB, cardinality=6)


def test_vector_is_framed_as_the_spec_says() -> None:
    assert int.from_bytes(BLOB[:4], "big") == len(BLOB) - 8
    assert BLOB[4:8] == bytes.fromhex("D1D33964")
    assert int.from_bytes(BLOB[-4:], "big") == zlib.crc32(BLOB[4:-4])


def test_vector_of_every_container_kind_is_the_one_that_java_wrote() -> None:
    bitmap = BitMap64([5, 7, 2**32 + 10, 2**32 + 20])
    for start, end in ((65536 + 1, 65536 + 1000), (2 * 65536 + 1, 3 * 65536 - 1)):
        bitmap.add_range(start, end)
    for start, end in ((65536 + 10, 65536 + 500), (2 * 65536 + 1, 3 * 65536 - 1)):
        bitmap.add_range(2**32 + start, 2**32 + end)
    # all-container-types-position-index.bin of Iceberg's TestBitmapPositionDeleteIndex
    assert (
        hashlib.sha256(encode_deletion_vector(bitmap)).hexdigest()
        == "98f569f1e0dfe39d38b83c8b3c852d3ba1e7fd8179bb4da19dc94f5318ec70ae"
    )


def test_largest_position_of_java_comes_back() -> None:
    assert list(decode_deletion_vector(encode_deletion_vector(BitMap64([MAX_POSITION])))) == [MAX_POSITION]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_vector_is_read_from_any_kind_of_bytes(kind: type) -> None:
    assert list(decode_deletion_vector(kind(BLOB))) == [1, 3, 5, 7, 9]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, MAX_POSITION), max_size=100))
def test_numpy_values_go_through_a_vector_and_back(values: list[int]) -> None:
    listed = np.array(sorted(values), np.int64)
    bitmap = decode_deletion_vector(encode_deletion_vector(bitmap_from_sorted(listed)))
    assert bitmap_to_numpy(bitmap).tolist() == sorted(set(values))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, ">i8"])
def test_bitmap_is_built_from_any_integer_type(dtype: str) -> None:
    assert list(bitmap_from_sorted(np.array([1, 2, 100], dtype))) == [1, 2, 100]


def test_bitmap_is_built_from_a_strided_array() -> None:
    assert list(bitmap_from_sorted(np.arange(10)[::3])) == [0, 3, 6, 9]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([3, 1]), "3 comes before 1"),
        (np.array([-5, 1]), "value -5 is negative"),
        (np.array([1.5]), "flat integer array, not 1 dimensions of float64"),
        (np.array([[1]]), "not 2 dimensions"),
    ],
)
def test_bitmap_is_not_built_from_something_else(values: np.ndarray, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        bitmap_from_sorted(values)


def test_huge_bitmap_is_not_listed_beyond_the_limit() -> None:
    bitmap = BitMap64()
    bitmap.add_range(0, 2**33)
    with pytest.raises(FormatError, match="8589934592 values, more than the limit of 1000"):
        bitmap_to_numpy(bitmap, limit=1000)


def test_empty_bitmap_is_an_empty_array() -> None:
    assert bitmap_to_numpy(bitmap_from_sorted(np.array([], np.int64))).tolist() == []
