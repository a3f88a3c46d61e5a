"""Finds which deletes may apply to which data files of a snapshot; reads only manifests.

The rules are those of Iceberg's delete index: sequence numbers, partition scope, paths, bounds and null counts. Files
are grouped by scope and sorted by age, and the bounds of a group are compared as arrays of ranks. So each delete
costs only a few passes over the older files in its scope.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rowdelta.encoding import FileContent
from rowdelta.iceberg.live_files import read_live_data, read_live_deletes
from rowdelta.iceberg.ranked_bounds import RankedColumn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import numpy.typing as npt

    from rowdelta.iceberg.avro_file import AvroFile
    from rowdelta.iceberg.live_files import LiveData, LiveDelete
    from rowdelta.iceberg.manifest_entries import DeleteEntry
    from rowdelta.iceberg.metadata import TableMetadata
    from rowdelta.iceberg.schema import Field
    from rowdelta.iceberg.snapshot_contents import SnapshotFiles
    from rowdelta.iceberg.snapshots import Snapshot
    from rowdelta.iceberg.table_handle import TableHandle


class DeleteFileIndex:
    """The live files of a snapshot."""

    def __init__(self, metadata: TableMetadata, data: Sequence[LiveData], deletes: Sequence[LiveDelete]) -> None:
        self.data = data
        self.deletes = deletes
        self._global_specs = {spec.id for spec in metadata.specs.values() if spec.is_unpartitioned}
        self._columns = metadata.schema.by_id
        self._paths = {file.path: index for index, file in enumerate(data)}
        self._ages = np.array([file.sequence_number for file in data], dtype=np.int64)
        self._order = np.argsort(self._ages, kind="stable")
        self._scopes = self._group_by_partition()
        self._with_vector = np.zeros(len(data), dtype=bool)
        vectors = [self._paths.get(d.entry.referenced_data_file or "") for d in deletes if d.entry.is_deletion_vector]
        self._with_vector[[index for index in vectors if index is not None]] = True
        self._ranked: dict[int, RankedColumn] = {}

    def match_files(self) -> Iterator[npt.NDArray[np.int64]]:
        """Yields the indices of the data files that each delete may apply to, in the order of the deletes."""
        for delete in self.deletes:
            if delete.entry.content is FileContent.EQUALITY:
                yield self._match_equality(delete)
            else:
                yield self._match_positions(delete.entry)

    def match_entries(self) -> Iterator[tuple[DeleteEntry, npt.NDArray[np.int64]]]:
        """Pairs each delete with the indices of the data files that it may apply to."""
        return zip((delete.entry for delete in self.deletes), self.match_files(), strict=True)

    def _group_by_partition(self) -> dict[Any, npt.NDArray[np.int64]]:
        """Groups the data files by partition, oldest first."""
        members: dict[Any, list[int]] = defaultdict(list)
        for index in self._order.tolist():
            members[make_partition_key(self.data[index].spec_id, self.data[index].partition)].append(index)
        return {place: np.array(indices, dtype=np.int64) for place, indices in members.items()}

    def _keep_older(self, members: npt.NDArray[np.int64], sequence_number: int, side: Any) -> npt.NDArray[np.int64]:
        return members[: np.searchsorted(self._ages[members], sequence_number, side)]

    def _match_positions(self, entry: DeleteEntry) -> npt.NDArray[np.int64]:
        nothing = np.empty(0, dtype=np.int64)
        if entry.referenced_data_file is not None:
            index = self._paths.get(entry.referenced_data_file)
            candidates = nothing if index is None else np.array([index], dtype=np.int64)
        else:
            candidates = self._scopes.get(make_partition_key(entry.spec_id, entry.partition), nothing)
        candidates = self._keep_older(candidates, entry.sequence_number, "right")
        # A deletion vector replaces the position deletes of its file.
        return candidates if entry.is_deletion_vector else candidates[~self._with_vector[candidates]]

    def _match_equality(self, delete: LiveDelete) -> npt.NDArray[np.int64]:
        entry = delete.entry
        everywhere = entry.spec_id in self._global_specs
        place = make_partition_key(entry.spec_id, entry.partition)
        candidates = self._order if everywhere else self._scopes.get(place, np.empty(0, dtype=np.int64))
        candidates = self._keep_older(candidates, entry.sequence_number, "left")
        for field_id in entry.equality_ids:
            column = self._columns.get(field_id)
            if column is not None and isinstance(column.type, str) and len(candidates):
                candidates = candidates[self._rank_column(column).may_match(delete.metrics.get(field_id), candidates)]
        return candidates

    def _rank_column(self, column: Field) -> RankedColumn:
        if column.id not in self._ranked:
            self._ranked[column.id] = RankedColumn(column, self.data, self.deletes)
        return self._ranked[column.id]


def make_partition_key(spec_id: int, partition: tuple[Any, ...]) -> tuple[Any, ...]:
    """Makes a hashable key of a partition of a spec; a NaN equals itself.

    Examples:
        >>> make_partition_key(0, (2, float("nan"), None))
        (0, 2, 'NaN', None)
    """
    return (spec_id, *map(_make_comparable, partition))


def _make_comparable(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return value.bytes
    return "NaN" if value != value else value  # noqa: PLR0124 - only NaN differs


def build_delete_index(handle: TableHandle, snapshot: Snapshot) -> DeleteFileIndex:
    """Reads the manifests of a snapshot.

    An old snapshot of format version 1 may lack a manifest list. Its index is empty.
    """
    if snapshot.manifest_list is None:
        return DeleteFileIndex(handle.metadata, [], [])
    return index_manifest_list(handle, handle.manifests.read(snapshot.manifest_list))


def index_manifest_list(handle: TableHandle, listing: AvroFile) -> DeleteFileIndex:
    """Reads the manifests of a manifest list."""
    manifests = listing.records
    handle.manifests.fetch(manifests)
    deletes = read_live_deletes(handle, manifests)
    return DeleteFileIndex(handle.metadata, read_live_data(handle, manifests, deletes), deletes)


def match_deletes(handle: TableHandle, files: SnapshotFiles, entries: Collection[DeleteEntry]) -> set[str]:
    """Finds the paths of the data files of a snapshot to which some of its deletes may apply."""
    wanted = {(entry.path, entry.content_offset) for entry in entries}
    of_entries = {entry.manifest_path for entry in entries}
    manifests = [manifest for manifest in files.listing.records if manifest["manifest_path"] in of_entries]
    deletes = [
        delete
        for delete in read_live_deletes(handle, manifests)
        if (delete.entry.path, delete.entry.content_offset) in wanted
    ]
    if not deletes:
        return set()
    handle.manifests.fetch(files.listing.records)
    index = DeleteFileIndex(handle.metadata, read_live_data(handle, files.listing.records, deletes), deletes)
    return {index.data[number].path for numbers in index.match_files() for number in numbers.tolist()}


def find_later_deletes(
    handle: TableHandle, older: SnapshotFiles, newer: SnapshotFiles, paths: Collection[str]
) -> list[DeleteEntry]:
    """Finds deletes that a newer snapshot adds to an older one, and that may apply to some data files of the older one.

    A rewritten delete keeps its age, so it does not count as added.

    Args:
        handle: The table.
        older: The older snapshot.
        newer: The newer snapshot.
        paths: The data files.
    """
    age = older.snapshot.sequence_number
    manifests = [manifest for manifest in newer.listing.records if (manifest.get("sequence_number") or 0) > age]
    deletes = [delete for delete in read_live_deletes(handle, manifests) if delete.entry.sequence_number > age]
    if not deletes:
        return []
    matches = DeleteFileIndex(
        handle.metadata, read_live_data(handle, older.listing.records, deletes, paths), deletes
    ).match_files()
    # The handle's metadata may be older than a partition spec. Where a delete of that spec applies is then unknown.
    return [
        delete.entry
        for delete, files in zip(deletes, matches, strict=True)
        if len(files) or delete.entry.spec_id not in handle.metadata.specs
    ]
