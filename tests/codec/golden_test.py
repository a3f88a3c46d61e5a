"""Every golden file decodes to the facts about it, or is refused where it must be."""

from __future__ import annotations

from typing import Any

import pytest
from pyroaring import BitMap64

from rowdelta.codec import (
    Blob,
    BlobMetadata,
    BytesSource,
    DeletionVectorDescriptor,
    PathSource,
    PuffinWriter,
    convert_to_deletion_vector,
    decode_deletion_vector,
    decode_delta_vector,
    delta_vector_path,
    encode_deletion_vector,
    read_blob,
    read_puffin,
)
from rowdelta.codec.delta_vector import z85_encode
from rowdelta.codec.roaring import decode32, decode64, encode64
from rowdelta.errors import FormatError
from tests.support.golden import GOLDEN, MISSING, cases, facts, file_of

if not GOLDEN.exists():
    pytest.skip(MISSING, allow_module_level=True)

Case = dict[str, Any]
STRINGS = facts()["delta_string_vectors"]
SAMPLE_TEXT = "some blob \0 binary data 🤯 that is not very very very very very very long, is it?"


def check_bitmap(bitmap: Any, checked: Case) -> None:
    if "positions" in checked:
        assert list(bitmap) == checked["positions"]
    if "cardinality" in checked:
        assert len(bitmap) == checked["cardinality"]
    if "min" in checked:
        assert (bitmap.min(), bitmap.max()) == (checked["min"], checked["max"])


def check_roaring64(case: Case) -> None:
    data = file_of(case).read_bytes()
    bitmap = decode64(data)
    check_bitmap(bitmap, case["checked"])
    assert decode64(encode64(bitmap)) == bitmap
    if case["checked"].get("byte_roundtrip_pyroaring"):
        assert bitmap.serialize() == data


def check_roaring32(case: Case) -> None:
    data = file_of(case).read_bytes()
    bitmap = decode32(data)
    check_bitmap(bitmap, case["checked"])
    assert bitmap.serialize() == data


def check_invalid(case: Case) -> None:
    data = file_of(case).read_bytes()
    with pytest.raises(FormatError):
        decode64(data)
    with pytest.raises(FormatError):
        decode32(data)


def check_vector(case: Case) -> None:
    data = file_of(case).read_bytes()
    checked = case["checked"]
    bitmap = decode_deletion_vector(data, cardinality=len(checked.get("positions", ())))
    check_bitmap(bitmap, checked)
    assert len(data) == checked["bytes"]
    assert encode_deletion_vector(BitMap64(checked.get("positions", ()))) == data


def check_puffin(case: Case) -> None:
    source = PathSource(file_of(case))
    checked = case["checked"]
    if "error" in checked:
        with pytest.raises(FormatError, match="Puffin file has"):
            read_puffin(source)
        return
    file = read_puffin(source)
    if "blobs" in checked:
        assert len(file.blobs) == len(checked["blobs"])
        for blob, expected in zip(file.blobs, checked["blobs"], strict=True):
            check_blob(source, blob, expected)
    elif "metadata_file" in checked:  # a table by Trino: its README says that both columns have two distinct values
        assert [blob.properties for blob in file.blobs] == [{"ndv": "2"}, {"ndv": "2"}]
        assert all(read_blob(source, blob) for blob in file.blobs)
    else:
        assert (file.blobs, file.properties, source.size) == ((), {}, checked["bytes"])


def check_blob(source: PathSource, blob: BlobMetadata, expected: Any) -> None:
    payload = read_blob(source, blob)
    if isinstance(expected, dict):
        assert (blob.offset, blob.length) == (expected["offset"], expected["length"])
        assert list(blob.fields) == expected["fields"]
        assert (
            list(decode_deletion_vector(payload, cardinality=int(blob.properties["cardinality"])))
            == expected["positions"]
        )
    elif len(expected) == 3:
        assert [blob.type, blob.offset, blob.length] == expected
    else:
        actual = [blob.type, list(blob.fields), blob.snapshot_id, blob.offset, blob.length, blob.compression_codec]
        assert actual == expected
        assert payload


def check_delta_file(case: Case) -> None:
    source = PathSource(file_of(case))
    for vector in case["checked"]["vectors"]:
        descriptor = DeletionVectorDescriptor("p", "file", vector["offset"], vector["size"], vector["cardinality"])
        bitmap = decode_delta_vector(descriptor, source)
        assert len(bitmap) == vector["cardinality"]
        assert decode_deletion_vector(convert_to_deletion_vector(descriptor, source)) == bitmap


CHECKS = {
    "roaring64-valid": check_roaring64,
    "roaring32-valid": check_roaring32,
    "roaring-invalid": check_invalid,
    "iceberg-dv-blob": check_vector,
    "puffin": check_puffin,
    "delta-dv-file": check_delta_file,
}
COVERED = cases(*CHECKS)


@pytest.mark.parametrize("case", COVERED, ids=[case["id"] for case in COVERED])
def test_golden_file_gives_what_is_known_about_it(case: Case) -> None:
    CHECKS[case["category"]](case)


def test_no_golden_file_of_these_categories_is_omitted() -> None:
    assert len(COVERED) == 40
    assert {case["category"] for case in COVERED} == set(CHECKS)
    assert all(file_of(case).is_file() for case in COVERED)


def rewritable() -> list[Case]:
    return [case for case in cases("puffin") if "error" not in case["checked"]]


@pytest.mark.parametrize("case", rewritable(), ids=lambda case: case["id"])
def test_puffin_file_rewritten_is_the_same_bytes(case: Case) -> None:
    source = PathSource(file_of(case))
    file = read_puffin(source)
    writer = PuffinWriter(properties=file.properties)
    for blob in file.blobs:
        payload = read_blob(source, blob)
        writer.add(
            Blob(
                blob.type,
                payload,
                blob.fields,
                blob.properties,
                blob.snapshot_id,
                blob.sequence_number,
                blob.compression_codec,
            )
        )
    written = writer.finish()
    if all(blob.compression_codec is None for blob in file.blobs):
        assert written == file_of(case).read_bytes()
    else:  # another Zstandard compressor: other bytes of the same content
        again = read_puffin(BytesSource(written))
        payloads = [read_blob(source, blob) for blob in file.blobs]
        assert [read_blob(BytesSource(written), blob) for blob in again.blobs] == payloads


def test_sample_puffin_file_holds_the_texts_that_java_wrote() -> None:
    (case,) = (case for case in cases("puffin") if "sample-metric-data-uncompressed" in case["local"])
    source = PathSource(file_of(case))
    file = read_puffin(source)
    assert file.properties == {"created-by": "Test 1234"}
    assert [read_blob(source, blob).decode() for blob in file.blobs] == ["abcdefghi", SAMPLE_TEXT]
    assert [(blob.fields, blob.snapshot_id, blob.sequence_number) for blob in file.blobs] == [
        ((1,), 2, 1),
        ((2,), 2, 1),
    ]


@pytest.mark.parametrize(
    ("name", "offset", "inside", "outside"),
    [
        ("deletion_vector_only_one.bin", 1, (0, 666, 880, 1003), (6, 26, 188)),
        ("deletion_vector_multiple.bin", 426433, (5, 3618, 155688), (3, 6886, 129900, 0, 1003, 880)),
    ],
)
def test_delta_file_holds_the_rows_that_its_upstream_test_names(
    name: str, offset: int, inside: tuple[int, ...], outside: tuple[int, ...]
) -> None:
    (case,) = (case for case in cases("delta-dv-file") if case["local"].endswith(name))
    (vector,) = (vector for vector in case["checked"]["vectors"] if vector["offset"] == offset)
    descriptor = DeletionVectorDescriptor("p", name, offset, vector["size"], vector["cardinality"])
    bitmap = decode_delta_vector(descriptor, PathSource(file_of(case)))
    assert all(row in bitmap for row in inside)
    assert not any(row in bitmap for row in outside)


@pytest.mark.parametrize(("text", "path", "source"), STRINGS["uuid_paths"])
def test_delta_path_is_decoded(text: str, path: str, source: str) -> None:
    assert delta_vector_path(DeletionVectorDescriptor("u", text, 1, 34, 1)) == path


@pytest.mark.parametrize("inline", STRINGS["inline"], ids=lambda inline: inline["source"])
def test_delta_inline_vector_is_decoded(inline: Case) -> None:
    text, size = inline["pathOrInlineDv"], inline["sizeInBytes"]
    descriptor = DeletionVectorDescriptor("i", text, None, size, inline["cardinality"])
    blob = convert_to_deletion_vector(descriptor)
    assert list(decode_deletion_vector(blob)) == inline["positions"]
    assert int.from_bytes(blob[4:8], "little") == inline["magic"]
    assert z85_encode(blob[4:-4]) == text


@pytest.mark.parametrize(("rows", "size"), [([1], 34), (range(10_000), 31)])
def test_delta_vector_has_the_size_that_trino_states(rows: Any, size: int) -> None:
    assert str(size) in STRINGS["sizes"]
    assert len(encode_deletion_vector(BitMap64(rows))) - 8 == size


def test_no_delta_string_is_omitted() -> None:
    assert set(STRINGS) == {"uuid_paths", "inline", "sizes"}


def delta_descriptors() -> list[tuple[Case, Case]]:
    return [(case, dv) for case in cases("delta-table") for dv in case["checked"].get("deletion_vectors", [])]


@pytest.mark.parametrize(
    ("case", "found"),
    delta_descriptors(),
    ids=[f"{case['local']}-{at}" for at, (case, _) in enumerate(delta_descriptors())],
)
def test_delta_table_descriptor_gives_its_rows(case: Case, found: Case) -> None:
    if found["storageType"] == "p" and "file" not in found:
        assert delta_vector_path(descriptor_of(found)) == found["pathOrInlineDv"]  # its file was outside the table
        return
    source = None if found["storageType"] == "i" else PathSource(GOLDEN / case["local"] / found["file"])
    bitmap = decode_delta_vector(descriptor_of(found), source)
    positions = found.get("positions", case["checked"].get("inline_positions", {}).get(str(found["version"])))
    if positions is not None and len(positions) == found["cardinality"]:
        assert list(bitmap) == positions


def descriptor_of(found: Case) -> DeletionVectorDescriptor:
    text = found.get("pathOrInlineDv", "")
    return DeletionVectorDescriptor(
        found["storageType"], text, found["offset"], found["sizeInBytes"], found["cardinality"]
    )
