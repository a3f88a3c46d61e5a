"""Committing a change, and showing it to those who already look at the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.iceberg import commit
from rowdelta.scan import refresh_views

if TYPE_CHECKING:
    from rowdelta.iceberg import RowChange, Snapshot, TableHandle


def apply(handle: TableHandle, change: RowChange) -> Snapshot:
    """Commits a change in one snapshot and refreshes Spark's view of the table."""
    snapshot = commit(handle, change)
    refresh_views(handle)
    return snapshot
