"""Every live file of a snapshot, and which deletes may apply to which data files, from manifests alone.

The rules are those of Iceberg's delete index: sequence numbers, partition scope, paths, bounds and null counts. Files
are grouped by scope and sorted by age, and the bounds of a group are compared as arrays of ranks, so a delete costs a
few passes over the files of its own scope that are old enough.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rowdelta.encoding import FileContent
from rowdelta.iceberg.bounds import comparable
from rowdelta.iceberg.manifests import DELETED, data_sequence_number, delete_entry, may_be_live, spec_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from rowdelta.iceberg.manifests import AvroFile, DeleteEntry
    from rowdelta.iceberg.metadata import Field, Snapshot, TableMetadata
    from rowdelta.iceberg.snapshot_reader import SnapshotFiles
    from rowdelta.iceberg.table_handle import TableHandle

_UNKNOWN: Final = -1


@dataclass(frozen=True)
class ColumnMetrics:
    """What a manifest entry says of one column; None where it says nothing."""

    lower: bytes | None = None
    upper: bytes | None = None
    nulls: int | None = None
    values: int | None = None


@dataclass(frozen=True)
class LiveData:
    """A live data file."""

    path: str
    spec_id: int
    partition: tuple[Any, ...]
    sequence_number: int
    records: int
    size_in_bytes: int
    metrics: Mapping[int, ColumnMetrics] = field(repr=False)


@dataclass(frozen=True)
class LiveDelete:
    """A live delete file, or one blob of it."""

    entry: DeleteEntry
    snapshot_id: int | None
    metrics: Mapping[int, ColumnMetrics] = field(repr=False)

    @property
    def size_in_bytes(self) -> int:
        """The size of the blob where several share a file, else of the file."""
        size = self.entry.content_size_in_bytes
        return self.entry.file_size_in_bytes if size is None else size


class Inventory:
    """The live files of a snapshot."""

    def __init__(self, metadata: TableMetadata, data: Sequence[LiveData], deletes: Sequence[LiveDelete]) -> None:
        self.data = data
        self.deletes = deletes
        self._global_specs = {spec.id for spec in metadata.specs.values() if spec.is_unpartitioned}
        self._columns = metadata.schema.by_id
        self._paths = {file.path: index for index, file in enumerate(data)}
        self._ages = np.array([file.sequence_number for file in data], dtype=np.int64)
        self._order = np.argsort(self._ages, kind="stable")
        self._scopes = self._scope_members()
        self._with_vector = np.zeros(len(data), dtype=bool)
        vectors = [self._paths.get(d.entry.referenced_data_file or "") for d in deletes if d.entry.is_deletion_vector]
        self._with_vector[[index for index in vectors if index is not None]] = True
        self._ranked: dict[int, _RankedColumn] = {}

    def matches(self) -> Iterator[npt.NDArray[np.int64]]:
        """For each delete, in order, the indices of the data files that it may apply to."""
        for delete in self.deletes:
            if delete.entry.content is FileContent.EQUALITY:
                yield self._of_equality(delete)
            else:
                yield self._of_positions(delete.entry)

    def applicable(self) -> Iterator[tuple[DeleteEntry, npt.NDArray[np.int64]]]:
        """Each delete with the indices of the data files that it may apply to."""
        return zip((delete.entry for delete in self.deletes), self.matches(), strict=True)

    def _scope_members(self) -> dict[Any, npt.NDArray[np.int64]]:
        """The data files of each partition, oldest first."""
        members: dict[Any, list[int]] = defaultdict(list)
        for index in self._order.tolist():
            members[scope(self.data[index].spec_id, self.data[index].partition)].append(index)
        return {place: np.array(found, dtype=np.int64) for place, found in members.items()}

    def _older(self, members: npt.NDArray[np.int64], sequence_number: int, side: Any) -> npt.NDArray[np.int64]:
        return members[: np.searchsorted(self._ages[members], sequence_number, side)]

    def _of_positions(self, entry: DeleteEntry) -> npt.NDArray[np.int64]:
        nothing = np.empty(0, dtype=np.int64)
        if entry.referenced_data_file is not None:
            index = self._paths.get(entry.referenced_data_file)
            found = nothing if index is None else np.array([index], dtype=np.int64)
        else:
            found = self._scopes.get(scope(entry.spec_id, entry.partition), nothing)
        found = self._older(found, entry.sequence_number, "right")
        # A deletion vector replaces the position deletes of its file.
        return found if entry.is_deletion_vector else found[~self._with_vector[found]]

    def _of_equality(self, delete: LiveDelete) -> npt.NDArray[np.int64]:
        entry = delete.entry
        everywhere = entry.spec_id in self._global_specs
        place = scope(entry.spec_id, entry.partition)
        found = self._order if everywhere else self._scopes.get(place, np.empty(0, dtype=np.int64))
        found = self._older(found, entry.sequence_number, "left")
        for field_id in entry.equality_ids:
            column = self._columns.get(field_id)
            if column is not None and isinstance(column.type, str) and len(found):
                found = found[self._rank(column).may_match(delete.metrics.get(field_id), found)]
        return found

    def _rank(self, column: Field) -> _RankedColumn:
        if column.id not in self._ranked:
            self._ranked[column.id] = _RankedColumn(column, self.data, self.deletes)
        return self._ranked[column.id]


class _RankedColumn:
    """The bounds and null counts of one column in every data file, bounds as ranks among all bounds of the column."""

    def __init__(self, column: Field, data: Sequence[LiveData], deletes: Sequence[LiveDelete]) -> None:
        self._type = column.type_name
        # A required field of an optional struct can be null all the same.
        self._required = column.required and len(column.path) < 2  # noqa: PLR2004
        missing = ColumnMetrics()
        of_data = [file.metrics.get(column.id, missing) for file in data]
        bounds = [
            self._value(bound)
            for metrics in (*of_data, *(d.metrics[column.id] for d in deletes if column.id in d.metrics))
            for bound in (metrics.lower, metrics.upper)
        ]
        self._ranks = {value: rank for rank, value in enumerate(sorted({v for v in bounds if v is not None}))}
        self._lower = self._array(self._rank(metrics.lower) for metrics in of_data)
        self._upper = self._array(self._rank(metrics.upper) for metrics in of_data)
        self._nulls = self._array(_UNKNOWN if metrics.nulls is None else metrics.nulls for metrics in of_data)
        self._values = self._array(_UNKNOWN if metrics.values is None else metrics.values for metrics in of_data)

    def may_match(self, delete: ColumnMetrics | None, files: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of some data files may hold a value of the delete file."""
        delete = delete or ColumnMetrics()
        lower, upper = self._rank(delete.lower), self._rank(delete.upper)
        possible = np.ones(len(files), dtype=bool)
        if _UNKNOWN not in {lower, upper}:
            data_lower, data_upper = self._lower[files], self._upper[files]
            known = (data_lower != _UNKNOWN) & (data_upper != _UNKNOWN)
            possible = ~known | ((data_lower <= upper) & (lower <= data_upper))
        if self._required:
            return possible
        nulls = self._nulls[files]
        if delete.nulls == 0:
            possible &= (nulls != self._values[files]) | (nulls == _UNKNOWN)
            return possible
        if delete.nulls is not None and delete.nulls == delete.values:
            possible &= nulls != 0
        possible |= nulls != 0  # both may hold a null
        return possible

    def _rank(self, bound: bytes | None) -> int:
        value = self._value(bound)
        return _UNKNOWN if value is None else self._ranks[value]

    def _value(self, bound: bytes | None) -> Any:
        return comparable(self._type, bound)

    @staticmethod
    def _array(values: Iterable[int]) -> npt.NDArray[np.int64]:
        return np.fromiter(values, dtype=np.int64)


def scope(spec_id: int, partition: tuple[Any, ...]) -> tuple[Any, ...]:
    """A partition of a spec as a key.

    A NaN is itself.

    Examples:
        >>> scope(0, (2, float("nan"), None))
        (0, 2, 'NaN', None)
    """
    return (spec_id, *map(_plain, partition))


def _plain(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return value.bytes
    return "NaN" if value != value else value  # noqa: PLR0124 - only NaN differs


def take_inventory(handle: TableHandle, snapshot: Snapshot) -> Inventory:
    """Reads the manifests of a snapshot. An old one of format version 1 may have no manifest list: it has no files."""
    if snapshot.manifest_list is None:
        return Inventory(handle.metadata, [], [])
    return inventory_of(handle, handle.manifests.read(snapshot.manifest_list))


def inventory_of(handle: TableHandle, listing: AvroFile) -> Inventory:
    """Reads the manifests of a manifest list."""
    manifests = listing.records
    handle.manifests.fetch(manifests)
    deletes = [delete for manifest in manifests if manifest.get("content") for delete in _deletes(handle, manifest)]
    keys = {field_id for delete in deletes for field_id in delete.entry.equality_ids}
    data = [
        _data(record, manifest, keys)
        for manifest in manifests
        if not manifest.get("content")
        for record in _live(handle, manifest)
    ]
    return Inventory(handle.metadata, data, deletes)


def later_deletes(
    handle: TableHandle, read: SnapshotFiles, newer: SnapshotFiles, paths: Collection[str]
) -> list[DeleteEntry]:
    """Deletes of a newer snapshot that came after another one, and may apply to some of the other's data files.

    What a delete was rewritten to keeps its age, so it did not come after.
    """
    age = read.snapshot.sequence_number
    deletes = [
        delete
        for manifest in newer.listing.records
        if manifest.get("content") and (manifest.get("sequence_number") or 0) > age
        for delete in _deletes(handle, manifest)
        if delete.entry.sequence_number > age
    ]
    if not deletes:
        return []
    keys = {field_id for delete in deletes for field_id in delete.entry.equality_ids}
    data = [
        _data(record, manifest, keys)
        for manifest in read.listing.records
        if not manifest.get("content")
        for record in _live(handle, manifest)
        if record["data_file"]["file_path"] in paths
    ]
    matches = Inventory(handle.metadata, data, deletes).matches()
    # Of a partition spec that is newer than the metadata at hand it is not known where it applies.
    return [
        delete.entry
        for delete, files in zip(deletes, matches, strict=True)
        if len(files) or delete.entry.spec_id not in handle.metadata.specs
    ]


def _deletes(handle: TableHandle, manifest: dict[str, Any]) -> list[LiveDelete]:
    return [
        LiveDelete(delete_entry(record, manifest), _snapshot_id(record, manifest), _metrics(record["data_file"], None))
        for record in _live(handle, manifest)
    ]


def _live(handle: TableHandle, manifest: dict[str, Any]) -> list[dict[str, Any]]:
    records = handle.manifests.read(manifest["manifest_path"]).records if may_be_live(manifest) else []
    return [record for record in records if record["status"] != DELETED]


def _snapshot_id(record: dict[str, Any], manifest: dict[str, Any]) -> int | None:
    found = record.get("snapshot_id")
    return manifest.get("added_snapshot_id") if found is None else found


def _data(record: dict[str, Any], manifest: dict[str, Any], columns: Collection[int]) -> LiveData:
    file = record["data_file"]
    return LiveData(
        path=file["file_path"],
        spec_id=spec_id(manifest),
        partition=tuple((file.get("partition") or {}).values()),
        sequence_number=data_sequence_number(record, manifest),
        records=file["record_count"],
        size_in_bytes=file["file_size_in_bytes"],
        metrics=_metrics(file, columns),
    )


def _metrics(file: dict[str, Any], columns: Collection[int] | None) -> dict[int, ColumnMetrics]:
    """The metrics of some columns; of the equality columns of a delete file where none are named."""
    wanted = (file.get("equality_ids") or ()) if columns is None else columns
    if not wanted:
        return {}
    lower, upper, nulls, values = (
        {pair["key"]: pair["value"] for pair in file.get(name) or () if pair["key"] in wanted}
        for name in ("lower_bounds", "upper_bounds", "null_value_counts", "value_counts")
    )
    return {i: ColumnMetrics(lower.get(i), upper.get(i), nulls.get(i), values.get(i)) for i in wanted}
