"""Checks that no other writer has changed what a commit relies on since its snapshot was read."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rowdelta.errors import CommitConflictError, TableError
from rowdelta.iceberg import read_parent_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from rowdelta.iceberg import AvroFile, DataEntry, SnapshotFiles, UncommittedSnapshot

log: Final = logging.getLogger("rowdelta")
ATTEMPTS: Final = 5
ResultT = TypeVar("ResultT")


def retry_conflicts(run: Callable[[], ResultT], action: str, attempts: int = ATTEMPTS) -> ResultT:
    """Runs an action again from the beginning after a conflict with another writer; raises the last conflict."""
    for _ in range(attempts - 1):
        try:
            return run()
        except CommitConflictError as error:  # noqa: PERF203 - a conflict is rare
            log.info("%s starts again: %s", action, error.message)
    return run()


def build_data_file_check(
    files: SnapshotFiles, touched: AbstractSet[str], oldest_allowed: int
) -> Callable[[UncommittedSnapshot], None]:
    """Builds a check of the manifests that are about to be committed.

    Args:
        files: The snapshot that was read.
        touched: Data files that must still be in the table.
        oldest_allowed: No data file below this sequence number may have been added since. A rewrite keeps the number
            that it started with: its rows would come back if a newer equality delete were removed unapplied.
    """
    read_manifests = _list_data_manifests(files.listing)

    def check(uncommitted: UncommittedSnapshot) -> None:
        before, after = _find_changes(read_manifests, uncommitted)
        lost = sorted(touched & (before - after.keys()))
        if lost:
            raise CommitConflictError(f"another writer removed data file {lost[0]}", hint="run it again")
        late = [e for path, e in after.items() if path not in before and e.sequence_number < oldest_allowed]
        if late:
            raise CommitConflictError(
                f"another writer added {late[0].path} with sequence number {late[0].sequence_number}, older than the "
                f"equality deletes that are removed",
                hint="run it again",
            )

    return check


def build_equality_delete_check(
    files: SnapshotFiles, deletes: AbstractSet[str], emptied: Mapping[str, int]
) -> Callable[[UncommittedSnapshot], None]:
    """Builds a check that the resolved deletes were still there, and that files without a live row are removed.

    Args:
        files: The snapshot that was read.
        deletes: The equality deletes that are resolved. If another writer removed or resolved one of them, its rows
            must be found again.
        emptied: The files without a live row, by path, with their sequence numbers. A file of the same path with
            another number is a different file.
    """
    read_manifests = _list_data_manifests(files.listing)

    def check(uncommitted: UncommittedSnapshot) -> None:
        before, after = _find_changes(read_manifests, uncommitted)
        remaining = sorted(emptied.keys() - (before - after.keys()))
        if remaining:
            raise TableError(
                f"Iceberg did not remove {remaining[0]}", hint="nothing was committed; run t.compact() instead"
            )
        if uncommitted.parent_id == files.snapshot.id:
            return
        parent = read_parent_files(uncommitted)
        removed = sorted(deletes - {entry.path for entry in parent.equality_deletes})
        if removed:
            raise CommitConflictError(f"another writer removed equality delete {removed[0]}", hint="run it again")
        newer = [m for path, m in _list_data_manifests(parent.listing).items() if path not in read_manifests]
        entries = [entry for manifest in newer for entry in uncommitted.handle.manifests.read_data(manifest)]
        replaced = [e.path for e in entries if emptied.get(e.path, e.sequence_number) != e.sequence_number]
        if replaced:
            raise CommitConflictError(f"another writer added data file {replaced[0]} again", hint="run it again")

    return check


def _list_data_manifests(listing: AvroFile) -> dict[str, dict[str, Any]]:
    return {record["manifest_path"]: record for record in listing.records if not record.get("content")}


def _find_changes(
    read_manifests: dict[str, dict[str, Any]], uncommitted: UncommittedSnapshot
) -> tuple[set[str], dict[str, DataEntry]]:
    """Finds the data files of manifests that were removed since a snapshot was read, and of new manifests."""
    now, data = _list_data_manifests(uncommitted.listing), uncommitted.handle.manifests.read_data
    before = {entry.path for path, manifest in read_manifests.items() if path not in now for entry in data(manifest)}
    after = {
        entry.path: entry for path, manifest in now.items() if path not in read_manifests for entry in data(manifest)
    }
    return before, after


def combine_checks(checks: Sequence[Callable[[UncommittedSnapshot], None]]) -> Callable[[UncommittedSnapshot], None]:
    """Combines checks into one that runs them in order."""

    def check(uncommitted: UncommittedSnapshot) -> None:
        for each in checks:
            each(uncommitted)

    return check
