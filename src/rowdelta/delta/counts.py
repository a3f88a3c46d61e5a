"""Counts what a conversion has done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.delta.vectors import INLINE

if TYPE_CHECKING:
    from collections.abc import Collection

    from rowdelta.delta.actions import AddFile
    from rowdelta.iceberg import RowChange


@dataclass(frozen=True)
class Counts:
    """The numbers of one snapshot, or of several together."""

    snapshot_ids: tuple[int, ...] = ()
    rows_inserted: int = 0
    data_files_added: int = 0
    data_files_removed: int = 0
    delete_files_added: int = 0
    delete_files_removed: int = 0
    deletion_vectors: int = 0
    inline_deletion_vectors: int = 0
    deleted_rows: int = 0
    bytes_copied: int = 0
    bytes_added: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def count_change(snapshot_id: int, change: RowChange, with_vectors: Collection[AddFile], bytes_copied: int) -> Counts:
    """Counts what one snapshot changed."""
    vectors = [add.vector for add in with_vectors if add.vector is not None]
    return Counts(
        snapshot_ids=(snapshot_id,),
        rows_inserted=sum(file.record_count for file in change.kept_files),
        data_files_added=len(change.kept_files),
        data_files_removed=len(change.removed_rows),
        delete_files_added=len(change.deletes),
        delete_files_removed=len(change.removed_deletes),
        deletion_vectors=len(vectors),
        inline_deletion_vectors=sum(vector.storage_type == INLINE for vector in vectors),
        deleted_rows=sum(vector.cardinality for vector in vectors),
        bytes_copied=bytes_copied,
        bytes_added=change.size_in_bytes,
    )
