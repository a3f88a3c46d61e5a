"""Vectors whose place in their file another writer left out: Iceberg cannot remove them before it is back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.iceberg import RowChange
from rowdelta.ops.changes import apply
from rowdelta.ops.target import open_target

if TYPE_CHECKING:
    from rowdelta.iceberg import TableHandle


def mend_places(handle: TableHandle) -> None:
    """Commits manifests that say again where vectors are, if some do not.

    Iceberg's manifest writer leaves these fields out of equality deletes, so they are lost when another engine merges
    manifests. The footers of the files still have them.
    """
    files = open_target(handle).files
    if files is not None and any(e.is_vector and e.content_offset is None for e in files.equality_deletes):
        apply(handle, RowChange(operation="replace"))
