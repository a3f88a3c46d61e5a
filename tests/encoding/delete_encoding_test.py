from __future__ import annotations

import pytest

from rowdelta.encoding import DeleteEncoding, FileContent
from rowdelta.errors import EncodingError


@pytest.mark.parametrize(("name", "encoding_id"), [("full-row", 0), ("deletion-vector", 1), ("hash-map", 2)])
def test_each_encoding_has_the_name_and_id_of_the_format(name: str, encoding_id: int) -> None:
    encoding = DeleteEncoding.from_name(name)
    assert encoding.id == encoding_id
    assert DeleteEncoding.from_id(encoding_id) is encoding
    assert str(encoding) == name


def test_there_are_three_encodings() -> None:
    assert [encoding.id for encoding in DeleteEncoding] == [0, 1, 2]


@pytest.mark.parametrize("encoding_id", [-1, 3, 255, True])
def test_an_unknown_id_fails_and_names_the_known_ones(encoding_id: int) -> None:
    with pytest.raises(EncodingError, match=f"unknown delete encoding id {encoding_id}") as error:
        DeleteEncoding.from_id(encoding_id)
    assert error.value.hint is not None
    assert "0 (full-row), 1 (deletion-vector), 2 (hash-map)" in error.value.hint


@pytest.mark.parametrize("name", ["", "FULL_ROW", "Full-Row", "bitmap", "auto"])
def test_an_unknown_name_fails_and_names_the_known_ones(name: str) -> None:
    with pytest.raises(EncodingError, match=f"unknown delete encoding '{name}'") as error:
        DeleteEncoding.from_name(name)
    assert error.value.hint == "the known ones are equality-delete-vector, full-row, deletion-vector, hash-map"


@pytest.mark.parametrize("file_format", ["PARQUET", "AVRO", "ORC", "parquet"])
def test_a_row_format_means_full_row(file_format: str) -> None:
    assert DeleteEncoding.infer(file_format) is DeleteEncoding.FULL_ROW


@pytest.mark.parametrize(
    ("blob_type", "encoding"),
    [
        (None, DeleteEncoding.DELETION_VECTOR),
        ("deletion-vector-v1", DeleteEncoding.DELETION_VECTOR),
        ("equality-delete-vector-v1", DeleteEncoding.DELETION_VECTOR),
        ("equality-delete-vector-v2", DeleteEncoding.DELETION_VECTOR),
        ("equality-delete-hash-v1", DeleteEncoding.HASH_MAP),
    ],
)
@pytest.mark.parametrize("file_format", ["PUFFIN", "puffin"])
def test_a_puffin_file_is_what_its_blob_type_says(
    file_format: str, blob_type: str | None, encoding: DeleteEncoding
) -> None:
    assert DeleteEncoding.infer(file_format, blob_type) is encoding


@pytest.mark.parametrize("blob_type", ["apache-datasketches-theta-v1", "equality-delete-vector-v3", ""])
def test_a_blob_that_holds_no_known_deletes_fails(blob_type: str) -> None:
    with pytest.raises(EncodingError, match="unknown delete blob type") as error:
        DeleteEncoding.infer("PUFFIN", blob_type)
    assert error.value.hint is not None
    assert "equality-delete-hash-v1" in error.value.hint


@pytest.mark.parametrize(
    ("stored_id", "file_format", "blob_type", "encoding"),
    [
        (None, "PARQUET", None, DeleteEncoding.FULL_ROW),
        (None, "PUFFIN", None, DeleteEncoding.DELETION_VECTOR),
        (None, "PUFFIN", "equality-delete-hash-v1", DeleteEncoding.HASH_MAP),
        (0, "PARQUET", None, DeleteEncoding.FULL_ROW),
        (1, "PUFFIN", "equality-delete-vector-v2", DeleteEncoding.DELETION_VECTOR),
        (2, "PUFFIN", None, DeleteEncoding.HASH_MAP),
    ],
)
def test_the_stored_encoding_wins_and_a_missing_one_is_inferred(
    stored_id: int | None, file_format: str, blob_type: str | None, encoding: DeleteEncoding
) -> None:
    assert DeleteEncoding.effective(stored_id, file_format, blob_type) is encoding


def test_an_unknown_stored_encoding_is_never_inferred_away() -> None:
    with pytest.raises(EncodingError, match="unknown delete encoding id 7"):
        DeleteEncoding.effective(7, "PARQUET")


@pytest.mark.parametrize(("stored_id", "blob_type"), [(1, "equality-delete-hash-v1"), (0, "deletion-vector-v1")])
def test_an_entry_that_contradicts_its_blob_fails(stored_id: int, blob_type: str) -> None:
    with pytest.raises(EncodingError, match=f"holds a blob of type '{blob_type}'"):
        DeleteEncoding.effective(stored_id, "PUFFIN", blob_type)


def test_file_content_has_the_ids_of_the_table_format() -> None:
    assert [(content.value, content.id) for content in FileContent] == [("position", 1), ("equality", 2)]


def test_an_unknown_content_fails() -> None:
    with pytest.raises(EncodingError, match="unknown delete file content 'data'"):
        FileContent.from_name("data")
