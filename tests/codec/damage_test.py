"""Damaged bytes raise a FormatError, or decode to a consistent value.

`scripts/fuzz_codec.py` does the same with as many inputs as you want.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from rowdelta.codec import (
    BytesSource,
    EqualityDeleteVector,
    bitmap_to_numpy,
    decode_deletion_vector,
    decode_hash_map,
    encode_deletion_vector,
    encode_equality_vector_file,
    encode_hash_map,
    read_blob,
    read_puffin,
)
from rowdelta.codec.deletion_vector import frame
from rowdelta.codec.delta_vector import z85_decode
from rowdelta.codec.equality_vector import decode_equality_vector_file
from rowdelta.codec.roaring import decode32, decode64, encode64
from rowdelta.codec.set_compression import get_compression
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable

SETS = [
    BitMap64(),
    BitMap64([1, 3, 5, 7, 9]),
    BitMap64(range(1000)),
    BitMap64([*range(0, 300, 3), *range(70_000, 71_000), *range(2**32, 2**32 + 9), 2**40]),
    BitMap64([*range(0, 20_000, 2)]),
]
ROARING = [encode64(each) for each in SETS]
DELTA = [get_compression("delta-zstd").encode(each) for each in SETS]
HASHED = [encode_hash_map(np.array([1, 2**40]), pa.table({"a": ["x", "y"], "b": [1, None]}))]
FILES = [encode_equality_vector_file(EqualityDeleteVector(1, each, contains_null=True)) for each in SETS]


def checksum(data: bytes) -> bytes:
    return data[:-4] + zlib.crc32(data[:-4]).to_bytes(4, "little")


def read_every_blob(data: bytes) -> None:
    source = BytesSource(data)
    for blob in read_puffin(source).blobs:
        read_blob(source, blob, limit=2**20)


def decode_consistently(data: bytes) -> None:
    bitmap = decode64(data)
    assert decode64(encode64(bitmap)) == bitmap
    values = bitmap_to_numpy(bitmap, limit=10**6)
    assert len(values) == len(bitmap)
    assert (values[1:] > values[:-1]).all()
    assert decode_deletion_vector(encode_deletion_vector(bitmap), cardinality=len(values)) == bitmap


DECODERS: dict[str, tuple[list[bytes], Callable[[bytes], Any]]] = {
    "roaring": (ROARING, decode_consistently),
    "roaring32": ([each[12:] for each in ROARING[1:3]], decode32),
    "vector": ([b"\xd1\xd3\x39\x64" + each for each in ROARING], lambda data: decode_deletion_vector(frame(data))),
    "vector-raw": ([encode_deletion_vector(each) for each in SETS], decode_deletion_vector),
    "puffin": (FILES, read_every_blob),
    "edv": (FILES, lambda data: decode_equality_vector_file(BytesSource(data))),
    "delta-zstd": (DELTA, lambda data: get_compression("delta-zstd").decode(checksum(data))),
    "hashed": (HASHED, lambda data: decode_hash_map(checksum(data), limit=2**20)),
}


@st.composite
def damaged(draw: st.DrawFn, originals: list[bytes]) -> bytes:
    data = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["set", "set", "flip", "cut", "insert", "delete"])):
            case "set":
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case "flip" if at < len(data):
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at:]
            case "insert":
                data[at:at] = draw(st.binary(max_size=8))
            case _:
                del data[at : at + draw(st.integers(1, 8))]
    return bytes(data)


@settings(max_examples=150, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", DECODERS)
def test_damaged_bytes_are_refused_or_decoded_consistently(name: str, data: st.DataObject) -> None:
    originals, decode = DECODERS[name]
    try:
        decode(data.draw(damaged(originals)))
    except FormatError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
@pytest.mark.parametrize("name", DECODERS)
def test_random_bytes_are_refused_or_decoded_consistently(name: str, data: bytes) -> None:
    try:
        DECODERS[name][1](data)
    except FormatError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30))
def test_random_text_is_no_other_error_in_z85(text: str) -> None:
    try:
        assert len(z85_decode(text)) <= len(text)
    except FormatError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right
