from __future__ import annotations

import pytest

from rowdelta.encoding import DeleteEncoding, DeleteFileFacts, FileContent, validate
from rowdelta.errors import EncodingError

FULL_ROW, VECTOR, HASH_MAP = DeleteEncoding.FULL_ROW, DeleteEncoding.DELETION_VECTOR, DeleteEncoding.HASH_MAP


@pytest.mark.parametrize(
    "facts",
    [
        DeleteFileFacts("position", "PUFFIN", VECTOR, referenced_data_file="data/1.parquet"),
        DeleteFileFacts("equality", "PUFFIN", VECTOR, (1,)),
        # Iceberg's builder demands a referenced file of every Puffin delete: a vector of keys names itself.
        DeleteFileFacts("equality", "PUFFIN", VECTOR, (1,), "data/edv.puffin", "data/edv.puffin"),
        DeleteFileFacts("equality", "puffin", HASH_MAP, (1,)),
        DeleteFileFacts("equality", "PUFFIN", HASH_MAP, (1, 2, 3)),
        DeleteFileFacts("position", "PARQUET", FULL_ROW),
        DeleteFileFacts("position", "PARQUET", FULL_ROW, referenced_data_file="data/1.parquet"),
        DeleteFileFacts("equality", "PARQUET", FULL_ROW, (1, 2)),
        DeleteFileFacts("equality", "avro", FULL_ROW, (1,)),
        DeleteFileFacts("equality", "Orc", FULL_ROW, (1,)),
    ],
)
def test_a_file_that_keeps_the_rules_is_accepted(facts: DeleteFileFacts) -> None:
    validate(facts)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            DeleteFileFacts("equality", "PARQUET", VECTOR, (1,)),
            "Deletion vector encoding requires PUFFIN format, got: PARQUET",
        ),
        (
            DeleteFileFacts("position", "avro", VECTOR, referenced_data_file="data/1.parquet"),
            "Deletion vector encoding requires PUFFIN format, got: AVRO",
        ),
        (
            DeleteFileFacts("equality", "PUFFIN", VECTOR, (1, 2)),
            "Equality deletion vector requires exactly one field, got: 2",
        ),
        (
            DeleteFileFacts("equality", "PUFFIN", VECTOR, ()),
            "Equality deletion vector requires exactly one field, got: 0",
        ),
        (
            DeleteFileFacts("equality", "PUFFIN", VECTOR),
            "Equality deletion vector requires exactly one field, got: 0",
        ),
        (DeleteFileFacts("position", "PUFFIN", VECTOR), "Position deletion vector requires referenced data file"),
        (
            DeleteFileFacts("position", "PUFFIN", VECTOR, referenced_data_file=""),
            "Position deletion vector requires referenced data file",
        ),
        (
            DeleteFileFacts("equality", "PUFFIN", FULL_ROW, (1,)),
            "Full row encoding requires PARQUET, AVRO, or ORC format, got: PUFFIN",
        ),
        (
            DeleteFileFacts("position", "CSV", FULL_ROW),
            "Full row encoding requires PARQUET, AVRO, or ORC format, got: CSV",
        ),
        (
            DeleteFileFacts("equality", "PARQUET", HASH_MAP, (1, 2)),
            "Hash map encoding requires PUFFIN format, got: PARQUET",
        ),
        (DeleteFileFacts("equality", "PUFFIN", HASH_MAP, ()), "Hash map encoding requires at least one field"),
        (DeleteFileFacts("equality", "PUFFIN", HASH_MAP), "Hash map encoding requires at least one field"),
        (
            DeleteFileFacts("position", "PUFFIN", HASH_MAP, (1,), "data/1.parquet"),
            "Hash map encoding requires equality deletes, got: position deletes",
        ),
    ],
)
def test_a_broken_rule_is_refused_with_its_message_and_a_hint(facts: DeleteFileFacts, message: str) -> None:
    with pytest.raises(EncodingError) as error:
        validate(facts)
    assert error.value.message == message
    assert error.value.hint


def test_the_message_names_the_file() -> None:
    facts = DeleteFileFacts("position", "PUFFIN", VECTOR, path="data/dv-7.puffin")
    with pytest.raises(EncodingError, match=r"\(data/dv-7\.puffin\)"):
        validate(facts)


def test_content_and_format_are_normalised() -> None:
    facts = DeleteFileFacts("equality", "parquet", FULL_ROW, (1,))
    assert facts.content is FileContent.EQUALITY
    assert facts.file_format == "PARQUET"


def test_an_unknown_content_is_refused() -> None:
    with pytest.raises(EncodingError, match="unknown delete file content 'rows'"):
        DeleteFileFacts("rows", "PARQUET", FULL_ROW)
