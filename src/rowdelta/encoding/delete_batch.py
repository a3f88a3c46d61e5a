"""Describes a batch of deletes for the choice of its encoding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rowdelta.encoding.file_content import FileContent
from rowdelta.encoding.properties import GRANULARITIES
from rowdelta.errors import EncodingError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Version 1 tables have no delete files at all.
FIRST_VERSION_WITH_DELETES = 2


@dataclass(frozen=True)
class KeyColumn:
    """One key column of an equality delete.

    Attributes:
        name: The column's name, for messages.
        type: Iceberg's name of its type, such as `long` or `decimal(10,2)`.
        required: The column has no nulls.

    Examples:
        >>> KeyColumn("id", "long", required=True).type
        'long'
    """

    name: str
    type: str
    required: bool = False


@dataclass(frozen=True)
class BatchStatistics:
    """Statistics that are collected with the deletes.

    Attributes:
        cardinality: The number of distinct keys that are not null, or of positions.
        minimum: The smallest key as an integer: days for a date, microseconds for a timestamp; None if unknown.
        maximum: The largest key, likewise.
        has_null: A null is among the keys.
        granularity: `file` or `partition` for position deletes; None leaves it to the table property.
        total_rows: The rows of the table; None if unknown.

    Examples:
        >>> BatchStatistics(3, minimum=100, maximum=1000, has_null=True).delete_count
        4
        >>> BatchStatistics(3, minimum=1000, maximum=100)
        Traceback (most recent call last):
        rowdelta.errors.EncodingError: the smallest key 1000 is larger than the largest key 100
        Hint: did you swap minimum and maximum?
    """

    cardinality: int
    minimum: int | None = None
    maximum: int | None = None
    has_null: bool = False
    granularity: str | None = None
    total_rows: int | None = None

    def __post_init__(self) -> None:
        if self.cardinality < 0 or (self.total_rows or 0) < 0:
            raise EncodingError(
                f"a batch of {self.cardinality} deletes in a table of {self.total_rows} rows",
                hint="a number of rows is 0 or more",
            )
        if (self.minimum is None) != (self.maximum is None):
            raise EncodingError(
                f"the smallest key is {self.minimum}, the largest is {self.maximum}", hint="give both, or neither"
            )
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise EncodingError(
                f"the smallest key {self.minimum} is larger than the largest key {self.maximum}",
                hint="did you swap minimum and maximum?",
            )
        if self.granularity not in {None, *GRANULARITIES}:
            raise EncodingError(
                f"unknown delete granularity {self.granularity!r}", hint=f"use one of {', '.join(GRANULARITIES)}"
            )

    @property
    def delete_count(self) -> int:
        """The number of keys with the null, if there is one.

        Examples:
            >>> BatchStatistics(3).delete_count
            3
        """
        return self.cardinality + self.has_null


@dataclass(frozen=True)
class DeleteBatch:
    """Deletes that need an encoding, and the properties of their table.

    Attributes:
        content: Position or equality deletes; plain text is accepted and becomes a `FileContent`.
        format_version: The table's format version.
        statistics: What is known about the deletes.
        keys: The key columns of equality deletes; empty for position deletes.
        properties: The table's properties.

    Examples:
        >>> DeleteBatch("position", 3, BatchStatistics(3)).content
        <FileContent.POSITION: 'position'>
    """

    content: FileContent | str
    format_version: int
    statistics: BatchStatistics
    keys: tuple[KeyColumn, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", FileContent.from_name(self.content))
        object.__setattr__(self, "keys", tuple(self.keys))
        if self.format_version < FIRST_VERSION_WITH_DELETES:
            raise EncodingError(
                f"format version {self.format_version} has no delete files",
                hint="upgrade the table: set its property format-version to 2 or 3",
            )
        if self.content == FileContent.EQUALITY and not self.keys:
            raise EncodingError("equality deletes without a key column", hint="name at least one key column")
        if self.content == FileContent.POSITION and self.keys:
            raise EncodingError(
                f"position deletes with the key column {self.keys[0].name!r}", hint="only equality deletes have keys"
            )
        if self.statistics.has_null and self.keys and all(key.required for key in self.keys):
            raise EncodingError(
                f"a null among the keys of the required column {self.keys[0].name!r}",
                hint="a required column holds no null, so this key can delete nothing: drop it from the batch",
            )
