"""Counts deletes by kind, by partition and by data file, in one pass over the deletes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rowdelta.debt.costs import estimate_bitmap_bytes, estimate_iceberg_cost, estimate_rowdelta_cost
from rowdelta.debt.debt_parts import FileDebt, KindDebt, PartitionDebt
from rowdelta.debt.history import index_commit_times
from rowdelta.encoding import DeleteEncoding, FileContent
from rowdelta.iceberg import (
    DeleteFileIndex,
    build_delete_index,
    decode_bound,
    format_partition,
    make_partition_key,
    read_encoding,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from rowdelta.debt.costs import ReadCost
    from rowdelta.iceberg import LiveDelete, Snapshot, TableHandle

    Numbers = npt.NDArray[np.float64]

# The name for people of each combination of content and encoding.
_KINDS: Final = {
    (FileContent.POSITION, DeleteEncoding.DELETION_VECTOR): "deletion vectors",
    (FileContent.POSITION, DeleteEncoding.FULL_ROW): "position delete files",
    (FileContent.EQUALITY, DeleteEncoding.FULL_ROW): "equality delete files",
    (FileContent.EQUALITY, DeleteEncoding.DELETION_VECTOR): "equality delete vectors",
    (FileContent.EQUALITY, DeleteEncoding.HASH_MAP): "equality hash maps",
}
_WHOLE_NUMBERS: Final = ("int", "long", "date", "time", "timestamp", "timestamptz")


@dataclass(frozen=True)
class DebtCounts:
    """All counts of a snapshot; `totals` are those of the whole table."""

    totals: dict[str, Any]
    kinds: tuple[KindDebt, ...]
    partitions: tuple[PartitionDebt, ...]
    files: tuple[FileDebt, ...]


class _Tally:
    """What applies to each data file, to each partition, or to the table."""

    def __init__(self, size: int) -> None:
        names = ("deletes", "position_files", "positions", "keys", "bytes", "memory", "probed", "vectors")
        self.numbers: dict[str, Numbers] = {name: np.zeros(size) for name in names}

    def add(self, places: npt.NDArray[np.int64], delete: _Delete, positions: Any) -> None:
        numbers = self.numbers
        numbers["deletes"][places] += 1
        numbers["bytes"][places] += delete.size
        if delete.is_equality:
            numbers["keys"][places] += delete.records
            numbers["memory"][places] += delete.memory
            numbers["vectors"][places] += delete.only_rowdelta
        else:
            numbers["positions"][places] += positions
            numbers["position_files"][places] += not delete.is_vector

    def estimate_costs(self, index: int) -> tuple[ReadCost | None, ReadCost]:
        at = {name: int(values[index]) for name, values in self.numbers.items()}
        iceberg = None if at["vectors"] else estimate_iceberg_cost(at["probed"], at["keys"], at["position_files"])
        return iceberg, estimate_rowdelta_cost(at["probed"], at["memory"], at["position_files"])


@dataclass(frozen=True)
class _Delete:
    kind: tuple[FileContent, DeleteEncoding]
    records: int
    size: int
    memory: int
    age_ms: int | None

    @property
    def is_equality(self) -> bool:
        return self.kind[0] is FileContent.EQUALITY

    @property
    def is_vector(self) -> bool:
        return self.kind[1] is DeleteEncoding.DELETION_VECTOR

    @property
    def only_rowdelta(self) -> bool:
        return self.is_equality and self.kind[1] is not DeleteEncoding.FULL_ROW


def count_debt(handle: TableHandle, snapshot: Snapshot | None) -> DebtCounts:
    """Reads the manifests of a snapshot and counts its deletes."""
    inventory = DeleteFileIndex(handle.metadata, [], []) if snapshot is None else build_delete_index(handle, snapshot)
    counter = _Counter(handle, inventory)
    times = index_commit_times(handle)
    for live, data_files in zip(inventory.deletes, inventory.match_files(), strict=True):
        entry = live.entry
        kind = (entry.content, read_encoding(handle, entry))
        age = times(entry.sequence_number)
        counter.keys |= {entry.equality_ids} if entry.equality_ids else set()
        counter.add(
            _Delete(kind, entry.record_count, live.size_in_bytes, _estimate_memory(handle, live), age), data_files
        )
    return counter.finish()


class _Counter:
    """The running counts of a snapshot's deletes."""

    def __init__(self, handle: TableHandle, inventory: DeleteFileIndex) -> None:
        self._data = data = inventory.data
        self._rows = np.array([file.records for file in data], dtype=np.float64)
        self._sizes = np.array([file.size_in_bytes for file in data], dtype=np.float64)
        scopes = [make_partition_key(file.spec_id, file.partition) for file in data]
        places = dict(zip(scopes, data, strict=True))
        numbers = {place: number for number, place in enumerate(places)}
        self._partition_of = np.array([numbers[place] for place in scopes], dtype=np.int64)
        self._names = [format_partition(handle.metadata, file.spec_id, file.partition) for file in places.values()]
        self._by_file, self._by_partition, self._by_table = _Tally(len(data)), _Tally(len(places)), _Tally(1)
        self._kinds = {kind: _KindCount() for kind in _KINDS}
        self._columns = handle.metadata.schema.by_id
        self.keys: set[tuple[int, ...]] = set()

    def add(self, delete: _Delete, data_files: npt.NDArray[np.int64]) -> None:
        """Counts a delete and the data files that it applies to."""
        self._kinds[delete.kind].add(delete, len(data_files))
        if not len(data_files):
            return
        share = delete.records / len(data_files)
        self._by_file.add(data_files, delete, share)
        touched, files = np.unique(self._partition_of[data_files], return_counts=True)
        self._by_partition.add(touched, delete, share * files)
        self._by_table.add(np.zeros(1, dtype=np.int64), delete, delete.records)

    def finish(self) -> DebtCounts:
        """Returns all counts. Readers look up every row of a file with equality deletes among their keys."""
        by_file = self._by_file.numbers
        by_file["probed"] = np.where(by_file["keys"] > 0, self._rows, 0.0)
        self._by_partition.numbers["probed"] = self._sum_by_partition(by_file["probed"])
        self._by_table.numbers["probed"][0] = by_file["probed"].sum()
        kinds = tuple(count.finish(kind) for kind, count in self._kinds.items() if count.files)
        files = [
            FileDebt(
                self._data[index].path,
                self._names[self._partition_of[index]],
                self._data[index].records,
                self._data[index].size_in_bytes,
                position_files=int(by_file["position_files"][index]),
                **_describe_applied(self._by_file, index),
            )
            for index in np.flatnonzero(by_file["deletes"]).tolist()
        ]
        return DebtCounts(self._sum_totals(kinds), kinds, _sort_by_debt(self._list_partitions()), _sort_by_debt(files))

    def _sum_totals(self, kinds: tuple[KindDebt, ...]) -> dict[str, Any]:
        iceberg, rowdelta = self._by_table.estimate_costs(0)
        return {
            "data_files": len(self._data),
            "rows": int(self._rows.sum()),
            "bytes": int(self._sizes.sum()),
            "files_with_deletes": int(np.count_nonzero(self._by_file.numbers["deletes"])),
            "delete_files": sum(kind.files for kind in kinds),
            "dangling_files": sum(kind.dangling_files for kind in kinds),
            "delete_bytes": sum(kind.bytes for kind in kinds),
            "positions": int(self._by_table.numbers["positions"][0]),
            "keys": int(self._by_table.numbers["keys"][0]),
            "key_columns": tuple(
                tuple(self._columns[i].name if i in self._columns else f"#{i}" for i in key)
                for key in sorted(self.keys)
            ),
            "oldest_delete_ms": min((kind.oldest_ms for kind in kinds if kind.oldest_ms is not None), default=None),
            "iceberg": iceberg,
            "rowdelta": rowdelta,
        }

    def _list_partitions(self) -> list[PartitionDebt]:
        data_files = self._sum_by_partition(np.ones(len(self._data)))
        rows, sizes = self._sum_by_partition(self._rows), self._sum_by_partition(self._sizes)
        hit = self._sum_by_partition((self._by_file.numbers["deletes"] > 0).astype(np.float64))
        return [
            PartitionDebt(
                name,
                int(data_files[index]),
                int(rows[index]),
                int(sizes[index]),
                int(hit[index]),
                **_describe_applied(self._by_partition, index),
            )
            for index, name in enumerate(self._names)
        ]

    def _sum_by_partition(self, values: Numbers) -> Numbers:
        """Sums up a number of each data file, by partition."""
        sums: Numbers = np.zeros(len(self._names))
        np.add.at(sums, self._partition_of, values)
        return sums


def _describe_applied(tally: _Tally, index: int) -> dict[str, Any]:
    numbers = tally.numbers
    iceberg, rowdelta = tally.estimate_costs(index)
    return {
        "delete_files": int(numbers["deletes"][index]),
        "positions": round(float(numbers["positions"][index])),
        "keys": int(numbers["keys"][index]),
        "delete_bytes": int(numbers["bytes"][index]),
        "iceberg": iceberg,
        "rowdelta": rowdelta,
    }


def _sort_by_debt(debts: list[Any]) -> tuple[Any, ...]:
    return tuple(sorted(debts, key=lambda debt: (-debt.keys, -debt.positions, -debt.rows)))


class _KindCount:
    def __init__(self) -> None:
        self.files = self.records = self.size = self.applies_to = self.dangling = self.dangling_size = 0
        self.oldest: int | None = None

    def add(self, delete: _Delete, applies_to: int) -> None:
        self.files += 1
        self.records += delete.records
        self.size += delete.size
        self.applies_to += applies_to
        if not applies_to:
            self.dangling += 1
            self.dangling_size += delete.size
        if delete.age_ms is not None and (self.oldest is None or delete.age_ms < self.oldest):
            self.oldest = delete.age_ms

    def finish(self, kind: tuple[FileContent, DeleteEncoding]) -> KindDebt:
        content, encoding = kind
        return KindDebt(
            kind=_KINDS[kind],
            content=content.value,
            encoding=encoding.shown(content),
            files=self.files,
            records=self.records,
            bytes=self.size,
            applies_to=self.applies_to,
            dangling_files=self.dangling,
            dangling_bytes=self.dangling_size,
            oldest_ms=self.oldest,
        )


def _estimate_memory(handle: TableHandle, delete: LiveDelete) -> int:
    """Estimates the memory that rowdelta needs for an equality delete: a bitmap for one column of whole numbers."""
    entry = delete.entry
    if entry.content is FileContent.POSITION:
        return 0
    span = None
    column = handle.metadata.schema.by_id.get(entry.equality_ids[0])
    if len(entry.equality_ids) == 1 and column is not None and column.type_name in _WHOLE_NUMBERS:
        metrics = delete.metrics.get(column.id)
        low, high = (
            decode_bound(column.type_name, b) for b in ((metrics.lower, metrics.upper) if metrics else (None,) * 2)
        )
        # Without bounds the keys could be anywhere: each may need its own container.
        span = 1 << 63 if low is None or high is None else high - low + 1
    return estimate_bitmap_bytes(entry.record_count, span)
