"""Finds the data files that differ between two snapshots: new ones, removed ones, and those with other deletes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.encoding import FileContent

if TYPE_CHECKING:
    from rowdelta.iceberg import DeleteEntry, SnapshotFiles, TableHandle


@dataclass(frozen=True)
class ChangedFiles:
    """Data files that differ between two snapshots, by path.

    Attributes:
        removed: Files that only the older snapshot has.
        added: Files that only the newer snapshot has.
        redeleted: Files of both whose position deletes differ.
    """

    removed: frozenset[str]
    added: frozenset[str]
    redeleted: frozenset[str]


def find_changed_files(handle: TableHandle, before: SnapshotFiles, after: SnapshotFiles) -> ChangedFiles | None:
    """Compares two snapshots by manifests that only one of them has.

    Returns:
        The files; None if deletes have changed that may apply to any file.
    """
    deletes = _find_changed_deletes(before, after)
    touched = {entry.referenced_data_file for entry in deletes}
    if None in touched or any(entry.content is not FileContent.POSITION for entry in deletes):
        return None
    paths = frozenset(path for path in touched if path is not None)
    old, new = _list_paths(handle, before, after), _list_paths(handle, after, before)
    added, removed = new - old, old - new
    return ChangedFiles(removed, added, paths - removed - added)


def _find_changed_deletes(before: SnapshotFiles, after: SnapshotFiles) -> list[DeleteEntry]:
    """Finds the deletes that only one of the snapshots has."""
    both = [
        {(entry.path, entry.content_offset): entry for entry in (*files.position_deletes, *files.equality_deletes)}
        for files in (before, after)
    ]
    return [entry for key in both[0].keys() ^ both[1].keys() for entry in [both[0].get(key) or both[1][key]]]


def _list_paths(handle: TableHandle, files: SnapshotFiles, other: SnapshotFiles) -> frozenset[str]:
    """Lists the data files of manifests that the other snapshot does not have."""
    shared = {record["manifest_path"] for record in other.listing.records}
    own = [
        record
        for record in files.listing.records
        if not record.get("content") and record["manifest_path"] not in shared
    ]
    return frozenset(entry.path for record in own for entry in handle.manifests.read_data(record))
