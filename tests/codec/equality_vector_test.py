from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from rowdelta.codec import (
    EQUALITY_DELETE_VECTOR_V1,
    EQUALITY_DELETE_VECTOR_V2,
    Blob,
    BytesSource,
    EqualityDeleteVector,
    PuffinWriter,
    bitmap_from_sorted,
    decode_deletion_vector,
    decode_equality_vector,
    encode_equality_vector_file,
    get_codec,
)
from rowdelta.codec.equality_vector import decode_equality_vector_file, encode_equality_vector
from rowdelta.errors import FormatError

FIRST = encode_equality_vector(EqualityDeleteVector(3, BitMap64([100, 500, 1000])))
SECOND = encode_equality_vector(
    EqualityDeleteVector(
        3, bitmap_from_sorted(get_codec("int").encode(np.array([-5, 0, 7]))), "int", "delta-zstd", contains_null=True
    )
)


def changed(blob: Blob, **properties: str | None) -> Blob:
    renamed = {name.replace("_", "-"): value for name, value in properties.items()}
    merged = {**blob.properties, **renamed}
    return replace(blob, properties={name: value for name, value in merged.items() if value is not None})


def test_first_version_has_the_properties_of_the_design() -> None:
    assert FIRST.type == EQUALITY_DELETE_VECTOR_V1
    assert FIRST.fields == (3,)
    assert (FIRST.snapshot_id, FIRST.sequence_number, FIRST.compression_codec) == (-1, -1, None)
    assert dict(FIRST.properties) == {
        "equality-field-id": "3",
        "cardinality": "3",
        "partition-spec-id": "-1",
        "value-min": "100",
        "value-max": "1000",
        "encoding": "deletion-vector",
    }
    assert list(decode_deletion_vector(FIRST.payload)) == [100, 500, 1000]


def test_second_version_adds_codec_compression_and_null() -> None:
    assert SECOND.type == EQUALITY_DELETE_VECTOR_V2
    assert dict(SECOND.properties) == {
        "equality-field-id": "3",
        "cardinality": "3",
        "partition-spec-id": "-1",
        "value-min": "-5",
        "value-max": "7",
        "codec": "int",
        "compression": "delta-zstd",
        "contains-null": "true",
        "encoding": "deletion-vector",
    }
    vector = decode_equality_vector(SECOND, SECOND.payload)
    assert get_codec(vector.codec).decode(np.array(list(vector.bitmap), np.uint64)).tolist() == [-5, 0, 7]
    assert vector.contains_null


@pytest.mark.parametrize(
    ("codec", "compression", "contains_null", "expected"),
    [
        ("long", "roaring", False, EQUALITY_DELETE_VECTOR_V1),
        ("long", "roaring", True, EQUALITY_DELETE_VECTOR_V2),
        ("long", "delta-zstd", False, EQUALITY_DELETE_VECTOR_V2),
        ("date", "roaring", False, EQUALITY_DELETE_VECTOR_V2),
    ],
)
def test_oldest_version_that_can_hold_the_vector_is_written(
    codec: str, compression: str, *, contains_null: bool, expected: str
) -> None:
    vector = EqualityDeleteVector(1, BitMap64([1]), codec, compression, contains_null)
    blob = encode_equality_vector(vector)
    assert blob.type == expected
    assert decode_equality_vector(blob, blob.payload) == vector


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.integers(-(2**31), 2**31 - 1), max_size=20),
    st.sampled_from(["int", "date", "timestamp-micros", "long-signed"]),
    st.sampled_from(["roaring", "delta-zstd"]),
    st.booleans(),
    st.integers(-1, 5),
)
def test_any_vector_goes_through_a_file_and_back(
    values: set[int],
    codec: str,
    compression: str,
    contains_null: bool,  # noqa: FBT001 - hypothesis gives it by position
    spec_id: int,
) -> None:
    encoded = bitmap_from_sorted(get_codec(codec).encode(np.array(sorted(values), np.int64)))
    vector = EqualityDeleteVector(1, encoded, codec, compression, contains_null or not values, spec_id)
    assert decode_equality_vector_file(BytesSource(encode_equality_vector_file(vector))) == vector
    if values:
        assert (vector.value_min, vector.value_max) == (min(values), max(values))


def test_vector_of_null_alone_has_no_bounds() -> None:
    blob = encode_equality_vector(EqualityDeleteVector(1, BitMap64(), contains_null=True))
    assert blob.properties["cardinality"] == "0"
    assert "value-min" not in blob.properties
    assert decode_equality_vector(blob, blob.payload).contains_null


def test_empty_vector_is_refused() -> None:
    with pytest.raises(FormatError, match="deletes nothing"):
        encode_equality_vector(EqualityDeleteVector(1, BitMap64()))


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (EqualityDeleteVector(1, BitMap64([1]), codec="uuid"), "unknown key codec 'uuid'"),
        (EqualityDeleteVector(1, BitMap64([1]), compression="concise"), "unknown set compression 'concise'"),
        (EqualityDeleteVector(-1, BitMap64([1])), "field id -1"),
        (EqualityDeleteVector(1, BitMap64([1]), partition_spec_id=-2), "spec id -2"),
        (EqualityDeleteVector(1, BitMap64([2**63])), "9223372036854775808"),
        (EqualityDeleteVector(1, BitMap64([2**40]), codec="int"), "stands for no value of codec 'int'"),
    ],
)
def test_vector_that_cannot_be_written_is_refused(vector: EqualityDeleteVector, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        encode_equality_vector(vector)


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (replace(FIRST, type="deletion-vector-v1"), "type 'deletion-vector-v1'"),
        (replace(FIRST, type="equality-delete-vector-v3"), "type 'equality-delete-vector-v3'"),
        (replace(FIRST, type=EQUALITY_DELETE_VECTOR_V2), "no property 'codec'"),
        (replace(SECOND, type=EQUALITY_DELETE_VECTOR_V1), "equality-delete-vector-v1 has no property 'codec'"),
        (replace(FIRST, compression_codec="zstd"), "compressed with 'zstd'"),
        (replace(FIRST, fields=(4,)), r"for field 3 but its blob is for fields \[4\]"),
        (replace(FIRST, fields=()), r"for fields \[\]"),
        (changed(FIRST, contains_null="false"), "has no property 'contains-null'"),
        (changed(FIRST, referenced_data_file="x.parquet"), "refers to data file 'x.parquet'"),
        (changed(FIRST, encoding="hash-map"), "encoding 'hash-map'"),
        (changed(FIRST, equality_field_id=None), "no property 'equality-field-id'"),
        (changed(FIRST, equality_field_id="x"), "equality-field-id 'x'"),
        (changed(FIRST, cardinality=None), "no property 'cardinality'"),
        (changed(FIRST, cardinality="4"), "has 3 values but its metadata says 4"),
        (changed(FIRST, cardinality="٣"), "not an integer"),
        (changed(FIRST, cardinality="9" * 5000), "not an integer"),
        (changed(FIRST, partition_spec_id=None), "no property 'partition-spec-id'"),
        (changed(FIRST, partition_spec_id="-2"), "spec id -2"),
        (changed(FIRST, value_min="99"), "value-min 100 but its metadata says 99"),
        (changed(FIRST, value_max="1001"), "value-max 1000 but its metadata says 1001"),
        (changed(SECOND, codec="uuid"), "unknown key codec 'uuid'"),
        (changed(SECOND, codec="long"), "value-min 2147483643 but its metadata says -5"),
        (changed(SECOND, compression="concise"), "unknown set compression 'concise'"),
        (changed(SECOND, compression="roaring"), "vector says"),
        (changed(SECOND, contains_null="yes"), "contains-null 'yes'"),
    ],
)
def test_vector_that_disagrees_with_its_properties_is_refused(blob: Blob, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decode_equality_vector(blob, blob.payload)


def test_bounds_and_encoding_may_be_missing() -> None:
    blob = changed(FIRST, value_min=None, value_max=None, encoding=None)
    assert list(decode_equality_vector(blob, blob.payload).bitmap) == [100, 500, 1000]


def test_empty_set_in_a_blob_is_refused() -> None:
    blob = encode_equality_vector(EqualityDeleteVector(1, BitMap64(), contains_null=True))
    with pytest.raises(FormatError, match="its writer lost them"):
        decode_equality_vector(changed(blob, contains_null="false"), blob.payload)


@pytest.mark.parametrize("count", [0, 2])
def test_file_with_any_other_number_of_blobs_is_refused(count: int) -> None:
    writer = PuffinWriter()
    for _ in range(count):
        writer.add(FIRST)
    with pytest.raises(FormatError, match=f"has one blob, not {count}"):
        decode_equality_vector_file(BytesSource(writer.finish()))
