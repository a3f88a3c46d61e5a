"""Checks the rules for a delete file before it is committed."""

from __future__ import annotations

from dataclasses import dataclass

from rowdelta.encoding.delete_encoding import PUFFIN, DeleteEncoding
from rowdelta.encoding.file_content import FileContent
from rowdelta.errors import EncodingError

ROW_FORMATS = ("PARQUET", "AVRO", "ORC")


@dataclass(frozen=True)
class DeleteFileFacts:
    """What the rules need to know about one delete file.

    Attributes:
        content: Position or equality deletes; plain text is accepted and becomes a `FileContent`.
        file_format: PARQUET, AVRO, ORC or PUFFIN, in any case.
        encoding: How the deletes are stored.
        equality_field_ids: The key columns of an equality delete; None or empty for position deletes.
        referenced_data_file: The data file that a position deletion vector belongs to.
        path: Where the file is; it appears in messages.

    Examples:
        >>> facts = DeleteFileFacts("equality", "parquet", DeleteEncoding.FULL_ROW, (1,))
        >>> facts.content, facts.file_format
        (<FileContent.EQUALITY: 'equality'>, 'PARQUET')
    """

    content: FileContent | str
    file_format: str
    encoding: DeleteEncoding
    equality_field_ids: tuple[int, ...] | None = None
    referenced_data_file: str | None = None
    path: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", FileContent.from_name(self.content))
        object.__setattr__(self, "file_format", self.file_format.upper())


def validate(facts: DeleteFileFacts) -> None:
    """Refuses a delete file that no reader could apply.

    Raises:
        EncodingError: A rule is broken. The message says which, and names the file.

    Examples:
        >>> validate(DeleteFileFacts("equality", "PUFFIN", DeleteEncoding.DELETION_VECTOR, (1,)))
        >>> validate(DeleteFileFacts("equality", "PARQUET", DeleteEncoding.DELETION_VECTOR, (1,)))
        Traceback (most recent call last):
        rowdelta.errors.EncodingError: Deletion vector encoding requires PUFFIN format, got: PARQUET
        Hint: write the bitmap as a Puffin blob, or use the full-row encoding
    """
    if facts.encoding is DeleteEncoding.DELETION_VECTOR:
        _validate_deletion_vector(facts)
    elif facts.encoding is DeleteEncoding.HASH_MAP:
        _validate_hash_map(facts)
    else:
        _validate_full_row(facts)


def _validate_deletion_vector(facts: DeleteFileFacts) -> None:
    if facts.file_format != PUFFIN:
        raise _make_error(
            facts,
            f"Deletion vector encoding requires PUFFIN format, got: {facts.file_format}",
            "write the bitmap as a Puffin blob, or use the full-row encoding",
        )
    field_count = len(facts.equality_field_ids or ())
    if facts.content == FileContent.EQUALITY and field_count != 1:
        raise _make_error(
            facts,
            f"Equality deletion vector requires exactly one field, got: {field_count}",
            "a vector holds the values of one key column; use full-row or hash-map for composite keys",
        )
    if facts.content == FileContent.POSITION and not facts.referenced_data_file:
        raise _make_error(
            facts,
            "Position deletion vector requires referenced data file",
            "set referenced_data_file to the path of the data file whose positions these are",
        )


def _validate_hash_map(facts: DeleteFileFacts) -> None:
    if facts.file_format != PUFFIN:
        raise _make_error(
            facts,
            f"Hash map encoding requires PUFFIN format, got: {facts.file_format}",
            "write the hashed keys as a Puffin blob, or use the full-row encoding",
        )
    if facts.content != FileContent.EQUALITY:
        raise _make_error(
            facts,
            "Hash map encoding requires equality deletes, got: position deletes",
            "positions belong in a deletion vector",
        )
    if not facts.equality_field_ids:
        raise _make_error(
            facts,
            "Hash map encoding requires at least one field",
            "set equality_field_ids to the field ids of the key columns",
        )


def _validate_full_row(facts: DeleteFileFacts) -> None:
    if facts.file_format not in ROW_FORMATS:
        raise _make_error(
            facts,
            f"Full row encoding requires PARQUET, AVRO, or ORC format, got: {facts.file_format}",
            "a PUFFIN file holds a deletion-vector or hash-map blob: name that encoding",
        )


def _make_error(facts: DeleteFileFacts, message: str, hint: str) -> EncodingError:
    where = "" if facts.path is None else f" ({facts.path})"
    return EncodingError(message + where, hint=hint)
