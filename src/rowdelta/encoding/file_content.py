"""What a delete file deletes by: row positions, or the values of key columns."""

from __future__ import annotations

from enum import Enum

from rowdelta.errors import EncodingError


class FileContent(str, Enum):
    """The content of a delete file. Each member equals its name as plain text.

    Examples:
        >>> FileContent.EQUALITY == "equality", FileContent.EQUALITY.id
        (True, 2)
    """

    POSITION = "position"
    EQUALITY = "equality"

    @property
    def id(self) -> int:
        """The `content` number in a manifest entry: 1 for position deletes, 2 for equality deletes.

        Examples:
            >>> FileContent.POSITION.id
            1
        """
        return 1 if self is FileContent.POSITION else 2

    @classmethod
    def from_name(cls, name: str) -> FileContent:
        """Returns the content that has this name.

        Examples:
            >>> FileContent.from_name("position").id
            1
        """
        try:
            return cls(name)
        except ValueError:
            names = ", ".join(member.value for member in cls)
            raise EncodingError(f"unknown delete file content {name!r}", hint=f"the known ones are {names}") from None
