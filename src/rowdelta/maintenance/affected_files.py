"""Finds the data files that equality deletes can still apply to, by metadata and by the keys themselves.

Manifests give the rules of Iceberg's delete index: strictly older data, the same partition or a delete without one,
overlapping bounds. Integer keys are in memory anyway, so a file is also skipped if no key lies between its bounds.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rowdelta.encoding import DeleteEncoding
from rowdelta.iceberg import ColumnMetrics, build_delete_index, decode_bound, read_only_blob_metadata
from rowdelta.read import is_integer, load_integer_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rowdelta.iceberg import DeleteEntry, Field, LiveData, SnapshotFiles, TableHandle
    from rowdelta.read import IntegerKeys

    Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AffectedFiles:
    """The data files to read to apply some equality deletes.

    Attributes:
        files: The data files that some delete may apply to.
        total: How many data files the snapshot has.
        size_in_bytes: The size of all data files of the snapshot.
        dangling: The deletes that no longer apply to any file.
    """

    files: tuple[LiveData, ...]
    total: int
    size_in_bytes: int
    dangling: tuple[DeleteEntry, ...]


def find_affected_files(handle: TableHandle, files: SnapshotFiles, deletes: Sequence[DeleteEntry]) -> AffectedFiles:
    """Finds the data files that some equality deletes of a snapshot may apply to."""
    inventory = build_delete_index(handle, files.snapshot)
    paths = {entry.path for entry in deletes}
    keys = _load_keys(handle, files, deletes)
    bounds: dict[int, _ColumnBounds] = {}
    affected = np.zeros(len(inventory.data), bool)
    dangling = []
    for entry, by_metadata in inventory.match_entries():
        if entry.path not in paths:
            continue
        indices = by_metadata
        if entry.path in keys and len(indices):
            column = handle.metadata.schema.by_id[entry.equality_ids[0]]
            if column.id not in bounds:
                bounds[column.id] = _ColumnBounds(column, inventory.data)
            indices = indices[bounds[column.id].may_hold(keys[entry.path], indices)]
        affected[indices] = True
        if not len(indices):
            dangling.append(entry)
    read = tuple(inventory.data[i] for i in np.flatnonzero(affected).tolist())
    size = sum(file.size_in_bytes for file in inventory.data)
    return AffectedFiles(read, len(inventory.data), size, tuple(dangling))


def _load_keys(handle: TableHandle, files: SnapshotFiles, deletes: Sequence[DeleteEntry]) -> dict[str, IntegerKeys]:
    """Loads the keys of deletes on one integer column, by path of the delete file."""
    groups: dict[int, list[DeleteEntry]] = defaultdict(list)
    for entry in deletes:
        if len(entry.equality_ids) == 1 and not _is_hashed(handle, entry):
            groups[entry.equality_ids[0]].append(entry)
    by_path: dict[str, IntegerKeys] = {}
    for field_id, entries in groups.items():
        column = handle.metadata.schema.by_id.get(field_id)
        if column is not None and is_integer(column):
            keys = load_integer_keys(handle, files, entries, column)
            by_path |= {entry.path: loaded for entry, loaded in zip(entries, keys, strict=True)}
    return by_path


def _is_hashed(handle: TableHandle, entry: DeleteEntry) -> bool:
    if not entry.is_vector:
        return False
    blob = read_only_blob_metadata(handle, entry.path, entry.file_size_in_bytes)
    return entry.encoding(blob.type) is DeleteEncoding.HASH_MAP


class _ColumnBounds:
    """The bounds of an integer column in every data file."""

    def __init__(self, column: Field, data: Sequence[LiveData]) -> None:
        self._lower, self._upper = np.zeros(len(data), np.int64), np.full(len(data), -1, np.int64)
        self._unknown, self._nulls = np.zeros(len(data), bool), np.zeros(len(data), bool)
        for index, file in enumerate(data):
            metrics = file.metrics.get(column.id, ColumnMetrics())
            low, high = (decode_bound(column.type_name, bound) for bound in (metrics.lower, metrics.upper))
            self._nulls[index] = metrics.nulls is None or metrics.nulls > 0
            if low is not None and high is not None:
                self._lower[index], self._upper[index] = low, high
            else:
                self._unknown[index] = metrics.nulls is None or metrics.nulls != metrics.values

    def may_hold(self, deleted: IntegerKeys, files: Indices) -> Any:
        """Returns which files may hold a key between their bounds, or a null if null is a key."""
        may = self._unknown[files] | (self._nulls[files] & deleted.has_null)
        if not len(deleted.keys):
            return may
        first = np.searchsorted(deleted.keys, self._lower[files])
        next_key = deleted.keys[np.minimum(first, len(deleted.keys) - 1)]
        return may | ((first < len(deleted.keys)) & (next_key <= self._upper[files]))
