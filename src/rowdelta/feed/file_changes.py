"""Finds the data files whose live rows may differ between two snapshots; reads only manifests that differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.errors import TableError
from rowdelta.iceberg import SnapshotFiles, match_deletes, read_snapshot_files
from rowdelta.read import check_deletes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from rowdelta.iceberg import DeleteEntry, Snapshot, TableHandle


@dataclass(frozen=True)
class AddedDeletes:
    """The deletes that one snapshot has and another does not, and the data files of both that they may apply to.

    Attributes:
        positions: Deletion vectors and position delete files.
        keys: Equality deletes.
        position_paths: The data files of the position deletes.
        key_paths: The data files of the equality deletes.
    """

    positions: tuple[DeleteEntry, ...] = ()
    keys: tuple[DeleteEntry, ...] = ()
    position_paths: frozenset[str] = frozenset()
    key_paths: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FileChanges:
    """What differs between two snapshots.

    Attributes:
        before: The older snapshot; None for an empty table.
        after: The newer snapshot.
        removed: Data files that only the older one has.
        added: Data files that only the newer one has.
        new_deletes: The deletes that only the newer one has.
        old_deletes: The deletes that only the older one has.
    """

    before: SnapshotFiles | None
    after: SnapshotFiles
    removed: frozenset[str]
    added: frozenset[str]
    new_deletes: AddedDeletes
    old_deletes: AddedDeletes

    @property
    def may_delete(self) -> bool:
        """Whether a row may be live only in the older snapshot."""
        return bool(self.removed or self.new_deletes.position_paths or self.new_deletes.key_paths)

    @property
    def may_insert(self) -> bool:
        """Whether a row may be live only in the newer snapshot."""
        return bool(self.added or self.old_deletes.position_paths or self.old_deletes.key_paths)


def read_files(handle: TableHandle, snapshot: Snapshot) -> SnapshotFiles:
    """Reads the files of a snapshot, and refuses contradictory deletes."""
    files = read_snapshot_files(handle, snapshot)
    if files is None:
        raise TableError(
            f"snapshot {snapshot.id} of {handle.name} has no manifest list, as only format version 1 allows",
            hint="start after it: the changes of later snapshots can be read",
        )
    check_deletes(handle.metadata, files)
    return files


def compare_files(handle: TableHandle, before: SnapshotFiles | None, after: SnapshotFiles) -> FileChanges:
    """Compares the files of two snapshots."""
    if before is None:
        live = _list_live_files(handle, after.listing.records, {})
        nothing = AddedDeletes()
        return FileChanges(None, after, frozenset(), frozenset(path for path, _ in live), nothing, nothing)
    older, newer = _name_manifests(before), _name_manifests(after)
    old_files = _list_live_files(handle, before.listing.records, newer)
    new_files = _list_live_files(handle, after.listing.records, older)
    # Another sequence number is another file to equality deletes, even if its path is the same.
    removed = frozenset(path for path, _ in old_files - new_files)
    added = frozenset(path for path, _ in new_files - old_files)
    changed = removed | added
    return FileChanges(
        before,
        after,
        removed,
        added,
        _find_added_deletes(handle, before, after, changed),
        _find_added_deletes(handle, after, before, changed),
    )


def _name_manifests(files: SnapshotFiles) -> dict[str, Any]:
    return {manifest["manifest_path"]: manifest for manifest in files.listing.records}


def _list_live_files(
    handle: TableHandle, manifests: Iterable[dict[str, Any]], known: Mapping[str, Any]
) -> set[tuple[str, int]]:
    """Lists the live data files of manifests that are not known, each with its data sequence number."""
    wanted = [
        manifest for manifest in manifests if not manifest.get("content") and manifest["manifest_path"] not in known
    ]
    handle.manifests.fetch(wanted, parsed=True)
    return {
        (entry.path, entry.sequence_number) for manifest in wanted for entry in handle.manifests.read_data(manifest)
    }


def _find_added_deletes(
    handle: TableHandle, without: SnapshotFiles, having: SnapshotFiles, changed: frozenset[str]
) -> AddedDeletes:
    """Finds the deletes that one of two snapshots adds to data files of both.

    Args:
        handle: The table.
        without: The snapshot without the deletes.
        having: The snapshot with them.
        changed: The data files that only one of the snapshots has: all of their live rows are read anyway.
    """
    positions = _subtract(having.position_deletes, without.position_deletes)
    keys = _subtract(having.equality_deletes, without.equality_deletes)
    placed = {entry.referenced_data_file for entry in positions if entry.referenced_data_file is not None}
    scattered = [entry for entry in positions if entry.referenced_data_file is None]
    return AddedDeletes(
        positions,
        keys,
        frozenset(placed | match_deletes(handle, having, scattered)) - changed if positions else frozenset(),
        frozenset(match_deletes(handle, having, keys)) - changed if keys else frozenset(),
    )


def _subtract(some: tuple[DeleteEntry, ...], others: tuple[DeleteEntry, ...]) -> tuple[DeleteEntry, ...]:
    names = {(entry.path, entry.content_offset, entry.sequence_number) for entry in others}
    return tuple(e for e in some if (e.path, e.content_offset, e.sequence_number) not in names)
