"""Vectors whose place in their file another writer left out: Iceberg cannot remove them before it is back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change import apply
from rowdelta.iceberg import RowChange

if TYPE_CHECKING:
    from rowdelta.iceberg import SnapshotFiles, TableHandle


def restore_vector_offsets(handle: TableHandle, files: SnapshotFiles) -> bool:
    """Commits manifests that say again where vectors are, if some do not; whether there is a new snapshot.

    Iceberg's manifest writer leaves these fields out of equality deletes, so they are lost when another engine merges
    manifests. The footers of the files still have them.
    """
    if all(entry.content_offset is not None for entry in files.equality_deletes if entry.is_vector):
        return False
    apply(handle, RowChange(operation="replace"))
    return True
