"""Reads the history of a table from its snapshots: deletes over time, and the files that only old snapshots keep."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowdelta.iceberg import Snapshot, TableHandle

# Iceberg's own default for `history.expire.max-snapshot-age-ms`.
FIVE_DAYS_MS: Final = 5 * 24 * 3600 * 1000


@dataclass(frozen=True)
class Commit:
    """One snapshot, by its summary: what it did, and the totals after it.

    Attributes:
        positions_added: Rows that it deleted by position. Of a vector that replaces another, only new positions count.
            The positions of a resolve do not count, because their rows were already deleted by key.
        keys_added: Keys that it deleted; rewritten deletes do not count.
    """

    snapshot_id: int
    timestamp_ms: int
    operation: str
    data_files_added: int
    data_files_removed: int
    rows_added: int
    rows_removed: int
    bytes_added: int
    bytes_removed: int
    positions_added: int
    keys_added: int
    total_rows: int
    total_data_files: int
    total_delete_files: int
    total_positions: int
    total_keys: int


@dataclass(frozen=True)
class OldSnapshots:
    """The snapshots of a table, and those that `t.expire()` would remove with the table's own settings.

    Attributes:
        total: All snapshots of the table.
        expirable: Those older than the table's `history.expire.max-snapshot-age-ms` that no branch or tag needs.
        bytes: The size of the files that newer snapshots have removed, and that only these snapshots keep.
    """

    total: int
    expirable: int
    bytes: int


def index_commit_times(handle: TableHandle) -> Callable[[int], int | None]:
    """Returns a function from a sequence number to the time of its commit, or of the next commit that still exists."""
    commits = sorted((s.sequence_number, s.timestamp_ms) for s in handle.metadata.snapshots.values())
    numbers = [number for number, _ in commits]

    def find(sequence_number: int) -> int | None:
        index = bisect.bisect_left(numbers, sequence_number)
        return commits[index][1] if index < len(commits) else None

    return find


def list_commits(handle: TableHandle, snapshot: Snapshot | None) -> tuple[Commit, ...]:
    """Lists the commits that led to a snapshot, oldest first."""
    return tuple(_read_commit(ancestor) for ancestor in reversed(list(handle.metadata.ancestors(snapshot))))


def _read_commit(snapshot: Snapshot) -> Commit:
    def count(name: str) -> int:
        return int(snapshot.summary.get(name, 0))

    def net(name: str) -> int:
        return max(count(f"added-{name}") - count(f"removed-{name}"), 0)

    return Commit(
        snapshot_id=snapshot.id,
        timestamp_ms=snapshot.timestamp_ms,
        operation=snapshot.operation or "unknown",
        data_files_added=count("added-data-files"),
        data_files_removed=count("deleted-data-files"),
        rows_added=count("added-records"),
        rows_removed=count("deleted-records"),
        bytes_added=count("added-files-size"),
        bytes_removed=count("removed-files-size"),
        positions_added=0 if count("removed-equality-deletes") else net("position-deletes"),
        keys_added=net("equality-deletes"),
        total_rows=count("total-records"),
        total_data_files=count("total-data-files"),
        total_delete_files=count("total-delete-files"),
        total_positions=count("total-position-deletes"),
        total_keys=count("total-equality-deletes"),
    )


def find_old_snapshots(handle: TableHandle, now_ms: int) -> OldSnapshots:
    """Finds what `t.expire()` would remove with the table's own settings, from the snapshots' summaries."""
    metadata = handle.metadata
    cutoff_ms = now_ms - int(metadata.properties.get("history.expire.max-snapshot-age-ms", FIVE_DAYS_MS))
    minimum = int(metadata.properties.get("history.expire.min-snapshots-to-keep", 1))
    retained = {reference.snapshot_id for reference in metadata.references.values()}
    removed_bytes = 0
    for branch in metadata.branches:
        ancestors = list(metadata.ancestors(metadata.head(branch)))
        young = [s for i, s in enumerate(ancestors) if i < minimum or s.timestamp_ms >= cutoff_ms]
        retained.update(snapshot.id for snapshot in young)
        if branch == "main" and len(young) < len(ancestors):
            # No remaining snapshot needs what the oldest remaining one, and the expired ones, have removed.
            expired = ancestors[max(len(young) - 1, 0) :]
            removed_bytes = sum(int(s.summary.get("removed-files-size", 0)) for s in expired)
    retained.update(s.id for s in metadata.snapshots.values() if s.timestamp_ms >= cutoff_ms)
    expirable = len(metadata.snapshots.keys() - retained)
    return OldSnapshots(len(metadata.snapshots), expirable, removed_bytes if expirable else 0)
