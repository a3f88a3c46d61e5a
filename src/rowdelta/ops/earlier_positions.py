"""What was deleted of data files before, by deletion vectors or by position deletes from the time before these."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from rowdelta.codec import bitmap_from_sorted, decode_vector, sorted_distinct
from rowdelta.iceberg import position_rows, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from pyroaring import BitMap64

    from rowdelta.iceberg import DeleteEntry, SnapshotFiles, TableHandle

# Vectors that lie together are read together: on an object store, to skip this much takes longer than to read it.
_GAP_BYTES: Final = 64 << 10
_READ_BYTES: Final = 8 << 20


def earlier_positions(handle: TableHandle, files: SnapshotFiles, paths: AbstractSet[str]) -> dict[str, BitMap64]:
    """The positions that a snapshot has deleted of some data files, by path."""
    vectors = [e for e in files.position_deletes if e.is_deletion_vector and e.referenced_data_file in paths]
    found = _of_vectors(handle, vectors)
    return found | _of_position_files(handle, files, paths - found.keys())


def _of_vectors(handle: TableHandle, entries: Sequence[DeleteEntry]) -> dict[str, BitMap64]:
    """Vectors by data file; several ranges of Puffin files are read at once, since each waits for storage."""
    by_file: dict[str, list[DeleteEntry]] = defaultdict(list)
    for entry in entries:
        by_file[entry.path].append(entry)
    ranges = [neighbours for vectors in by_file.values() for neighbours in _neighbours(vectors)]
    found: dict[str, BitMap64] = {}
    for some in together(partial(_read, handle), ranges):
        found |= some
    return found


def _neighbours(vectors: list[DeleteEntry]) -> Iterator[list[DeleteEntry]]:
    """The vectors of a file, in parts that are read at once."""
    part: list[DeleteEntry] = []
    for entry in sorted(vectors, key=lambda one: _span(one)[0]):
        if part:
            start, end = _span(part[0])[0], _span(part[-1])[1]
            if _span(entry)[0] - end > _GAP_BYTES or _span(entry)[1] - start > _READ_BYTES:
                yield part
                part = []
        part.append(entry)
    yield part


def _span(entry: DeleteEntry) -> tuple[int, int]:
    assert entry.content_offset is not None
    assert entry.content_size_in_bytes is not None
    return entry.content_offset, entry.content_offset + entry.content_size_in_bytes


def _read(handle: TableHandle, neighbours: Sequence[DeleteEntry]) -> dict[str, BitMap64]:
    first = _span(neighbours[0])[0]
    data = handle.io.read(neighbours[0].path, first, max(_span(entry)[1] for entry in neighbours) - first)
    found = {}
    for entry in neighbours:
        assert entry.referenced_data_file is not None
        start, end = _span(entry)
        vector = decode_vector(data[start - first : end - first], cardinality=entry.record_count)
        found[entry.referenced_data_file] = vector
    return found


def _of_position_files(handle: TableHandle, files: SnapshotFiles, paths: AbstractSet[str]) -> dict[str, BitMap64]:
    """What older position delete files say of data files that get their first vector."""
    older = [entry for entry in files.position_deletes if not entry.is_deletion_vector]
    relevant = [e for e in older if e.referenced_data_file is None or e.referenced_data_file in paths]
    if not relevant or not paths:
        return {}
    rows = position_rows(handle, files, relevant)
    table = rows.where(rows["file_path"].isin(list(paths))).toArrow()
    if not table.num_rows:
        return {}
    names = table["file_path"].combine_chunks().dictionary_encode()
    codes, positions = names.indices.to_numpy(), table["pos"].to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names.dictionary)))[:-1]
    parts = np.split(positions[order], ends)
    return {
        path: bitmap_from_sorted(sorted_distinct(part))
        for path, part in zip(names.dictionary.to_pylist(), parts, strict=True)
    }
