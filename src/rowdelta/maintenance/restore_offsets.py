"""Restores the offsets of vectors that another writer dropped: without them, Iceberg cannot remove the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change import commit_and_refresh
from rowdelta.iceberg import RowChange

if TYPE_CHECKING:
    from rowdelta.iceberg import SnapshotFiles, TableHandle


def restore_vector_offsets(handle: TableHandle, files: SnapshotFiles) -> bool:
    """Commits manifests with all offsets if some are missing; returns whether it made a snapshot.

    Iceberg's manifest writer omits these fields of equality deletes, so they are lost when another engine merges
    manifests. The footers of the files still have them.
    """
    if all(entry.content_offset is not None for entry in files.equality_deletes if entry.is_vector):
        return False
    commit_and_refresh(handle, RowChange(operation="replace"))
    return True
