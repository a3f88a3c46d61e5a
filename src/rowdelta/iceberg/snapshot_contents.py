"""The manifests of a snapshot, and its delete files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rowdelta.encoding import FileContent

if TYPE_CHECKING:
    from rowdelta.iceberg.avro_file import AvroFile
    from rowdelta.iceberg.manifest_entries import DataEntry, DeleteEntry
    from rowdelta.iceberg.snapshots import Snapshot
    from rowdelta.iceberg.table_handle import TableHandle


@dataclass(frozen=True)
class SnapshotFiles:
    """The manifests of a snapshot, and its deletes.

    `is_committed` is True if they come from the snapshot's own manifest list.
    """

    snapshot: Snapshot
    listing: AvroFile
    position_deletes: tuple[DeleteEntry, ...]
    equality_deletes: tuple[DeleteEntry, ...]
    is_committed: bool = False

    @property
    def has_row_ids(self) -> bool:
        """Whether rows have ids; not in version 2, nor between an upgrade and the next commit."""
        data = [manifest for manifest in self.listing.records if not manifest.get("content")]
        return all(manifest.get("first_row_id") is not None for manifest in data)

    def count(self, what: str) -> int | None:
        """Counts live data `files` or `rows`, deleted rows included; None if a manifest has no count."""
        manifests = [manifest for manifest in self.listing.records if not manifest.get("content")]
        counts = [manifest.get(f"{status}_{what}_count") for manifest in manifests for status in ("added", "existing")]
        numbers = [int(count) for count in counts if count is not None]
        return sum(numbers) if len(numbers) == len(counts) else None

    def list_young_files(self, handle: TableHandle) -> list[DataEntry]:
        """Lists the data files that are not older than every equality delete: only for these does the age matter."""
        oldest = min(entry.sequence_number for entry in self.equality_deletes)
        young = [
            manifest
            for manifest in self.listing.records
            if not manifest.get("content") and (manifest.get("sequence_number") or 0) >= oldest
        ]
        handle.manifests.fetch(young, parsed=True)
        entries = [entry for manifest in young for entry in handle.manifests.read_data(manifest)]
        return [entry for entry in entries if entry.sequence_number >= oldest]


def read_snapshot_files(handle: TableHandle, snapshot: Snapshot) -> SnapshotFiles | None:
    """Reads the files of a snapshot; None for an old one of version 1, which has no manifest list and no deletes."""
    if snapshot.manifest_list is None:
        return None
    return replace(
        read_listed_files(handle, snapshot, handle.manifests.read(snapshot.manifest_list)), is_committed=True
    )


def read_listed_files(handle: TableHandle, snapshot: Snapshot, listing: AvroFile) -> SnapshotFiles:
    """Reads the files of a snapshot with this manifest list, which may differ from its own."""
    manifests = [manifest for manifest in listing.records if manifest.get("content")]
    handle.manifests.fetch(manifests, parsed=True)
    deletes = [entry for manifest in manifests for entry in handle.manifests.read_deletes(manifest)]
    positions = tuple(entry for entry in deletes if entry.content is FileContent.POSITION)
    equality = tuple(entry for entry in deletes if entry.content is FileContent.EQUALITY)
    return SnapshotFiles(snapshot, listing, positions, equality)
