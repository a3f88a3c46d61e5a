"""The parts of a debt: the deletes of one kind, of one partition and of one data file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta._deprecated import RenamedAttribute

if TYPE_CHECKING:
    from rowdelta.debt.costs import ReadCost


@dataclass(frozen=True)
class KindDebt:
    """The deletes of one kind.

    Attributes:
        kind: Its name for people, such as `deletion vectors`.
        content: `position` or `equality`.
        encoding: `position`, `deletion-vector`, `full-row`, `equality-delete-vector` or `hash-map`.
        files: Delete files; a vector counts as one.
        records: Positions or keys in them.
        bytes: Their size.
        applies_to: Data files, each counted once for every delete that applies to it.
        dangling_files: Files that apply to no data file.
        dangling_bytes: The size of these.
        oldest_ms: When the oldest was committed, at the latest.
    """

    kind: str
    content: str
    encoding: str
    files: int
    records: int
    bytes: int
    applies_to: int
    dangling_files: int
    dangling_bytes: int
    oldest_ms: int | None

    @property
    def only_rowdelta(self) -> bool:
        """Whether only rowdelta can read these files."""
        return self.content == "equality" and self.encoding != "full-row"


@dataclass(frozen=True)
class PartitionDebt:
    """The deletes that a reader of one partition must apply; `partition` is None for files without a partition."""

    partition: str | None
    data_files: int
    rows: int
    bytes: int
    files_with_deletes: int
    delete_files: int
    positions: int
    keys: int
    delete_bytes: int
    iceberg: ReadCost | None
    rowdelta: ReadCost
    stock = RenamedAttribute("iceberg")


@dataclass(frozen=True)
class FileDebt:
    """The deletes that a reader of one data file must apply.

    The positions of a delete file that covers several data files are divided evenly among them.
    """

    path: str
    partition: str | None
    rows: int
    bytes: int
    delete_files: int
    position_files: int
    positions: int
    keys: int
    delete_bytes: int
    iceberg: ReadCost | None
    rowdelta: ReadCost
    stock = RenamedAttribute("iceberg")
