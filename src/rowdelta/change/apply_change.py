"""Commits a change, and refreshes the views and caches of the table in this session."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rowdelta.change.operation import Result
from rowdelta.iceberg import TableHandle, commit_change, fast_forward
from rowdelta.read import forget_keys, refresh_views

if TYPE_CHECKING:
    from rowdelta.iceberg import RowChange, Snapshot


def commit_and_refresh(handle: TableHandle, change: RowChange) -> Snapshot:
    """Commits a change in one snapshot and refreshes Spark's view of the table."""
    snapshot = commit_change(handle, change)
    forget_keys(file.path for file in change.removed_deletes)
    refresh_views(handle)
    return snapshot


def count_removed_files(snapshot: Snapshot) -> int:
    """Counts the data files that a snapshot removed; another writer may have removed some of them before."""
    return int(snapshot.summary.get("deleted-data-files", 0))


def publish(handle: TableHandle, branch: str, snapshot_id: int) -> bool:
    """Moves a branch forward to a snapshot and refreshes its views; False if it is there already."""
    if not fast_forward(handle, branch, snapshot_id):
        return False
    refresh_views(handle if branch == handle.branch else handle.on_branch(branch))
    return True


def make_empty_result(started: float) -> Result:
    """Makes the result of an operation that commits nothing."""
    return Result(seconds=time.monotonic() - started)


def commit_rows(
    handle: TableHandle,
    change: RowChange,
    started: float,
    *,
    deleted: int | None = 0,
    inserted: int = 0,
    updated: int = 0,
) -> Result:
    """Commits a change of rows that were found in the table, and counts its rows and files.

    Args:
        handle: The table.
        change: The change.
        started: When the operation started, by the monotonic clock.
        deleted: Rows that are deleted; None if they were not counted.
        inserted: Rows that are new.
        updated: Rows that are replaced.
    """
    snapshot = commit_and_refresh(handle, change)
    return Result(
        snapshot_id=snapshot.id,
        rows_deleted=deleted,
        rows_inserted=inserted,
        rows_updated=updated,
        data_files_added=0 if change.rows is None else len(change.rows),
        data_files_removed=count_removed_files(snapshot),
        delete_files_added=len(change.deletes),
        delete_files_removed=len(change.removed_deletes),
        bytes_added=change.size_in_bytes,
        seconds=time.monotonic() - started,
    )
