"""How the deletes of a file are stored, and how to infer it if the manifest entry does not name it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from rowdelta.choices import Encoding, list_words
from rowdelta.encoding.file_content import FileContent
from rowdelta.errors import EncodingError

if TYPE_CHECKING:
    from collections.abc import Mapping

PUFFIN: Final = "PUFFIN"
# Names for people: to the Iceberg specification, a deletion vector holds positions, never keys.
POSITION_DELETES: Final = "position"
EQUALITY_DELETE_VECTOR: Final = "equality-delete-vector"

DELETION_VECTOR_V1: Final = "deletion-vector-v1"
EQUALITY_DELETE_VECTOR_V1: Final = "equality-delete-vector-v1"
EQUALITY_DELETE_VECTOR_V2: Final = "equality-delete-vector-v2"
EQUALITY_DELETE_HASH_V1: Final = "equality-delete-hash-v1"


class DeleteEncoding(Enum):
    """The physical form of a delete file.

    Examples:
        >>> DeleteEncoding.DELETION_VECTOR.id, str(DeleteEncoding.DELETION_VECTOR)
        (1, 'deletion-vector')
    """

    FULL_ROW = "full-row"
    DELETION_VECTOR = "deletion-vector"
    HASH_MAP = "hash-map"

    def __str__(self) -> str:
        return self.value

    @property
    def id(self) -> int:
        """The number that stands for this encoding in a manifest entry.

        Examples:
            >>> DeleteEncoding.HASH_MAP.id
            2
        """
        return _IDS[self]

    def shown(self, content: FileContent | str) -> str:
        """Returns the name for users. The stored name alone does not distinguish keys from positions.

        Args:
            content: `position` or `equality`.

        Examples:
            >>> DeleteEncoding.DELETION_VECTOR.shown("equality"), DeleteEncoding.DELETION_VECTOR.shown("position")
            ('equality-delete-vector', 'deletion-vector')
            >>> DeleteEncoding.FULL_ROW.shown("equality"), DeleteEncoding.FULL_ROW.shown("position")
            ('full-row', 'position')
        """
        by_position = FileContent(content) is FileContent.POSITION
        if self is DeleteEncoding.FULL_ROW and by_position:
            return POSITION_DELETES
        if self is DeleteEncoding.DELETION_VECTOR and not by_position:
            return EQUALITY_DELETE_VECTOR
        return self.value

    @classmethod
    def from_id(cls, encoding_id: int) -> DeleteEncoding:
        """Returns the encoding that has this number.

        Raises:
            EncodingError: No encoding has this number. A newer writer may have made the file, so nothing is assumed.

        Examples:
            >>> DeleteEncoding.from_id(2)
            <DeleteEncoding.HASH_MAP: 'hash-map'>
        """
        for encoding, known_id in _IDS.items():
            # A bool is an int to Python, but True is not an encoding id.
            if known_id == encoding_id and not isinstance(encoding_id, bool):
                return encoding
        listed = ", ".join(f"{known_id} ({encoding})" for encoding, known_id in _IDS.items())
        raise EncodingError(
            f"unknown delete encoding id {encoding_id!r}",
            hint=f"the known ones are {listed}; a newer version of rowdelta may have written this file",
        )

    @classmethod
    def from_name(cls, name: str) -> DeleteEncoding:
        """Returns the encoding that has this name.

        Raises:
            EncodingError: No encoding has this name.

        Examples:
            >>> DeleteEncoding.from_name("full-row").id
            0
            >>> DeleteEncoding.from_name("equality-delete-vector")  # the name for deletes by key
            <DeleteEncoding.DELETION_VECTOR: 'deletion-vector'>
        """
        if name == EQUALITY_DELETE_VECTOR:
            return cls.DELETION_VECTOR
        try:
            return cls(name)
        except ValueError:
            names = ", ".join(list_words(Encoding))
            raise EncodingError(f"unknown delete encoding {name!r}", hint=f"the known ones are {names}") from None

    @classmethod
    def infer(cls, file_format: str, blob_type: str | None = None) -> DeleteEncoding:
        """Infers the encoding of a file whose manifest entry does not name one.

        Args:
            file_format: The format in the manifest entry, in any case.
            blob_type: The type of the Puffin blob, if the footer was read.

        Raises:
            EncodingError: The blob is of a type that holds no deletes, or that is not known.

        Examples:
            >>> str(DeleteEncoding.infer("parquet"))
            'full-row'
            >>> str(DeleteEncoding.infer("PUFFIN", "equality-delete-hash-v1"))
            'hash-map'
        """
        if file_format.upper() != PUFFIN:
            return cls.FULL_ROW
        if blob_type is None:
            return cls.DELETION_VECTOR
        if blob_type not in BLOB_ENCODINGS:
            blob_types = ", ".join(BLOB_ENCODINGS)
            raise EncodingError(f"unknown delete blob type {blob_type!r}", hint=f"the known ones are {blob_types}")
        return BLOB_ENCODINGS[blob_type]

    @classmethod
    def effective(cls, stored_id: int | None, file_format: str, blob_type: str | None = None) -> DeleteEncoding:
        """Returns the encoding that the manifest entry names, or else the inferred one.

        Args:
            stored_id: The `encoding` field of the manifest entry; None if it is missing.
            file_format: The format in the manifest entry, in any case.
            blob_type: The type of the Puffin blob, if the footer was read.

        Raises:
            EncodingError: The number or the blob type is unknown, or the two contradict each other.

        Examples:
            >>> str(DeleteEncoding.effective(None, "PUFFIN", "deletion-vector-v1"))
            'deletion-vector'
            >>> str(DeleteEncoding.effective(0, "PARQUET"))
            'full-row'
        """
        if stored_id is None:
            return cls.infer(file_format, blob_type)
        stored = cls.from_id(stored_id)
        if blob_type is not None and cls.infer(file_format, blob_type) is not stored:
            raise EncodingError(
                f"the manifest entry says {stored}, but the {file_format} file holds a blob of type {blob_type!r}",
                hint="the entry and the file do not belong together; do not read the table until you know why",
            )
        return stored


_IDS: Final[Mapping[DeleteEncoding, int]] = {
    DeleteEncoding.FULL_ROW: 0,
    DeleteEncoding.DELETION_VECTOR: 1,
    DeleteEncoding.HASH_MAP: 2,
}

BLOB_ENCODINGS: Final[Mapping[str, DeleteEncoding]] = {
    DELETION_VECTOR_V1: DeleteEncoding.DELETION_VECTOR,
    EQUALITY_DELETE_VECTOR_V1: DeleteEncoding.DELETION_VECTOR,
    EQUALITY_DELETE_VECTOR_V2: DeleteEncoding.DELETION_VECTOR,
    EQUALITY_DELETE_HASH_V1: DeleteEncoding.HASH_MAP,
}
