from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from rowdelta.codec import (
    BytesSource,
    DeletionVectorDescriptor,
    convert_to_deletion_vector,
    decode_deletion_vector,
    decode_delta_vector,
    delta_vector_path,
    encode_deletion_vector,
)
from rowdelta.codec.deletion_vector import frame
from rowdelta.codec.delta_vector import z85_decode, z85_encode
from rowdelta.errors import FormatError

ROWS = BitMap64([1, 3, 5, 7, 9])
BLOB = encode_deletion_vector(ROWS)
CONTENT = BLOB[4:-4]
FILE = BytesSource(b"\1" + BLOB + encode_deletion_vector(BitMap64([2])))


def inline(content: bytes = CONTENT, *, size: int | None = None, cardinality: int = 5) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor("i", z85_encode(content), None, size or len(content), cardinality)


def in_file(*, offset: int | None = 1, size: int = len(CONTENT), cardinality: int = 5) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor("p", "s3://bucket/dv.bin", offset, size, cardinality)


def test_inline_vector_gets_its_frame() -> None:
    assert convert_to_deletion_vector(inline()) == BLOB


def test_vector_in_a_file_is_copied_as_it_is() -> None:
    assert convert_to_deletion_vector(in_file(), FILE) == BLOB
    assert convert_to_deletion_vector(in_file(offset=None), FILE) == BLOB
    second = in_file(offset=1 + len(BLOB), size=len(FILE.read(0, 999)) - len(BLOB) - 9, cardinality=1)
    assert list(decode_delta_vector(second, FILE)) == [2]


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (inline(cardinality=4), "has 5 rows but the log says 4"),
        (inline(size=len(CONTENT) + 9), "has 44 bytes but the log says 51"),
        (inline(size=len(CONTENT) - 4), "has 44 bytes but the log says 38"),
        (inline(size=len(CONTENT) - 1), "has 44 bytes but the log says 41|needs"),
        (inline((1681511376).to_bytes(4, "little") + CONTENT[4:]), "old native format"),
        (inline(b"abcd" + CONTENT[4:]), "magic 61626364"),
        (DeletionVectorDescriptor("i", "0000", None, 4, 0), "has 4 characters"),
        (DeletionVectorDescriptor("i", "0000~", None, 4, 0), "character '~'"),
        (DeletionVectorDescriptor("i", "%nSc1", None, 4, 0), "does not fit 32 bits"),
    ],
)
def test_damaged_inline_vector_is_refused(descriptor: DeletionVectorDescriptor, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decode_delta_vector(descriptor)


@pytest.mark.parametrize(
    ("descriptor", "source", "message"),
    [
        (in_file(), None, "lies in file 's3://bucket/dv.bin'"),
        (in_file(), BytesSource(b""), "file of 0 bytes"),
        (in_file(), BytesSource(b"\2" + BLOB), "has version 2, not 1"),
        (in_file(), BytesSource(b"\1" + BLOB[:-1]), "file of 50 bytes"),
        (in_file(offset=0), FILE, "offset 0"),
        (in_file(offset=2), FILE, "the log says 42"),
        (in_file(size=41), FILE, "has 42 bytes but the log says 41"),
        (in_file(cardinality=6), FILE, "has 5 rows but the log says 6"),
        (in_file(), BytesSource(b"\1" + BLOB[:-1] + b"?"), "checksum"),
        (in_file(), BytesSource(b"\1" + frame((1681511376).to_bytes(4, "little") + CONTENT[4:])), "old native format"),
    ],
)
def test_damaged_file_is_refused(
    descriptor: DeletionVectorDescriptor, source: BytesSource | None, message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        decode_delta_vector(descriptor, source)


@pytest.mark.parametrize(
    ("kind", "offset", "size", "cardinality", "message"),
    [
        ("x", None, 34, 1, "storage type 'x'"),
        ("i", None, -1, 1, "size of -1 bytes"),
        ("u", None, 2**31, 1, "size of 2147483648 bytes"),
        ("u", -1, 34, 1, "offset -1"),
        ("u", 1, 34, -1, "cardinality -1"),
    ],
)
def test_impossible_descriptor_is_refused(
    kind: str, offset: int | None, size: int, cardinality: int, message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        DeletionVectorDescriptor(kind, "text", offset, size, cardinality)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [("u", "short", "shorter than the 20"), ("i", "text", "has no path"), ("u", "0" * 15 + "##093", "14 bytes")],
)
def test_descriptor_without_a_path_is_refused(kind: str, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        delta_vector_path(DeletionVectorDescriptor(kind, text, 1, 34, 1))


def test_absolute_path_is_given_as_it_is() -> None:
    assert delta_vector_path(in_file()) == "s3://bucket/dv.bin"


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_z85_gives_the_bytes_back_with_zeros_up_to_a_multiple_of_four(data: bytes) -> None:
    assert z85_decode(z85_encode(data)) == data + bytes(-len(data) % 4)


@pytest.mark.parametrize(("text", "data"), [("##093", "0300"), ("#0000", "000000"), ("###30", "ff"), ("##960", "ffff")])
def test_padding_of_rust_writers_is_understood(text: str, data: str) -> None:
    assert z85_decode("HelloWorld" + text).hex() == "864fd26fb559f75b" + data


@pytest.mark.parametrize("text", ["####0", "#####", "##09300000", "##~~~", "###~0", "###99"])
def test_padding_in_the_wrong_place_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="Z85 text has"):
        z85_decode(text)


@settings(max_examples=50, deadline=None)
@given(st.sets(st.integers(0, 2**40), max_size=30))
def test_any_inline_vector_comes_back(rows: set[int]) -> None:
    content = encode_deletion_vector(BitMap64(rows))[4:-4]
    descriptor = inline(content, cardinality=len(rows))
    assert list(decode_deletion_vector(convert_to_deletion_vector(descriptor))) == sorted(rows)
