"""The positions that are deleted already: by deletion vectors, or by older position delete files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rowdelta.codec import bitmap_from_sorted, sort_distinct
from rowdelta.iceberg import read_positions
from rowdelta.read import read_vectors
from rowdelta.spark import collect_arrow

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from pyroaring import BitMap64

    from rowdelta.iceberg import SnapshotFiles, TableHandle


def read_existing_positions(handle: TableHandle, files: SnapshotFiles, paths: AbstractSet[str]) -> dict[str, BitMap64]:
    """Reads the positions of some data files that a snapshot has deleted, by path."""
    vectors = [e for e in files.position_deletes if e.is_deletion_vector and e.referenced_data_file in paths]
    by_path = read_vectors(handle, vectors)
    return by_path | _read_position_files(handle, files, paths - by_path.keys())


def _read_position_files(handle: TableHandle, files: SnapshotFiles, paths: AbstractSet[str]) -> dict[str, BitMap64]:
    """Reads older position delete files, for data files that get their first vector."""
    older = [entry for entry in files.position_deletes if not entry.is_deletion_vector]
    relevant = [e for e in older if e.referenced_data_file is None or e.referenced_data_file in paths]
    if not relevant or not paths:
        return {}
    rows = read_positions(handle, files, relevant)
    table = collect_arrow(rows.where(rows["file_path"].isin(list(paths))))
    if not table.num_rows:
        return {}
    names = table["file_path"].combine_chunks().dictionary_encode()
    codes, positions = names.indices.to_numpy(), table["pos"].to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names.dictionary)))[:-1]
    parts = np.split(positions[order], ends)
    return {
        path: bitmap_from_sorted(sort_distinct(part))
        for path, part in zip(names.dictionary.to_pylist(), parts, strict=True)
    }
