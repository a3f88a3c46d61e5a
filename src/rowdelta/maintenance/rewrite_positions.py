"""Rewrites position deletes: many files as one for each data file, and files as deletion vectors on version 3."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import (
    FILE,
    LINEAGE_VERSION,
    POSITION,
    FilePositions,
    collect_positions_in,
    partition_to_json,
    to_content_file,
    write_positions,
)
from rowdelta.iceberg import RowChange, Validation, build_delete_index, build_row_filter, read_footer, read_positions
from rowdelta.maintenance.conflict_checks import build_data_file_check, combine_checks
from rowdelta.maintenance.file_groups import pack
from rowdelta.maintenance.verify import build_row_check
from rowdelta.spark import make_frame_from_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.iceberg import ContentFile, DeleteEntry, LiveData, NewDelete, SnapshotFiles, TableHandle

_DELETE_FILE: Final = "__rd_delete_file"
# What a Puffin footer says about a deletion vector, apart from the path of its data file.
_FOOTER_BYTES: Final = 200
# A Puffin file is worth merging below this share of the target size, or with less than this share of its vectors live.
_SMALL: Final = 0.75
_LIVE: Final = 0.5


@dataclass(frozen=True)
class PositionRewrite:
    """Position deletes to rewrite.

    Attributes:
        handle: The table.
        files: The snapshot.
        vectors: Deletion vectors that move into one Puffin file.
        rows: Files of positions.
        data: The live data files by path.
        target_size: About how large a new file of deletes for several data files may be.
    """

    handle: TableHandle
    files: SnapshotFiles
    vectors: tuple[DeleteEntry, ...]
    rows: tuple[DeleteEntry, ...]
    data: dict[str, LiveData]
    target_size: int

    @property
    def entries(self) -> tuple[DeleteEntry, ...]:
        """All deletes that would go."""
        return (*self.vectors, *self.rows)


def plan_position_rewrite(
    handle: TableHandle,
    files: SnapshotFiles,
    deletes: Iterable[DeleteEntry],
    min_input_files: int,
    target_size: int,
) -> PositionRewrite:
    """Chooses the position deletes that are worth rewriting.

    On version 3, every file of positions becomes vectors. On version 2, files are merged where one data file has at
    least `min_input_files` of them, or one partition if they are for several data files. Puffin files are merged where
    as many of them are small, or mostly dead.
    """
    deletes = list(deletes)
    vectors = [entry for entry in deletes if entry.is_deletion_vector]
    vectors = _choose_vectors(handle, files, vectors, min_input_files, target_size)
    rows = [entry for entry in deletes if not entry.is_deletion_vector]
    if handle.metadata.format_version < LINEAGE_VERSION:
        groups: dict[object, list[DeleteEntry]] = defaultdict(list)
        for entry in rows:
            groups[entry.referenced_data_file or (entry.spec_id, repr(entry.partition))].append(entry)
        rows = [entry for group in groups.values() if len(group) >= min_input_files for entry in group]
    data = {file.path: file for file in build_delete_index(handle, files.snapshot).data}
    return PositionRewrite(handle, files, tuple(vectors), tuple(rows), data, target_size)


def _choose_vectors(
    handle: TableHandle, files: SnapshotFiles, vectors: Sequence[DeleteEntry], min_input_files: int, target_size: int
) -> list[DeleteEntry]:
    """Chooses the vectors of Puffin files that are mostly dead, or of small ones where fewer files can hold them.

    A `min_input_files` of 1 asks for all vectors, even where no file is saved.
    """
    if min_input_files == 1:
        return list(vectors)
    live = Counter(entry.path for entry in files.position_deletes)

    def is_dead(path: str, size: int) -> bool:
        return live[path] < _LIVE * len(read_footer(handle, path, size).blobs)

    sizes = {entry.path: entry.file_size_in_bytes for entry in vectors}
    small = {path for path, size in sizes.items() if size < _SMALL * target_size}
    dead = {path for path in sizes.keys() - small if is_dead(path, sizes[path])}
    moved = [entry for entry in vectors if entry.path in small | dead]
    fewer = len(pack(moved, list(map(_measure_vector, moved)), target_size)) < len(small)
    return moved if dead or (fewer and len(small) >= min_input_files) else []


def _measure_vector(vector: DeleteEntry) -> int:
    """Measures the size of a deletion vector with its part of the footer."""
    return (vector.content_size_in_bytes or 0) + len(vector.referenced_data_file or "") + _FOOTER_BYTES


def stage_position_rewrite(plan: PositionRewrite, *, verify: bool) -> RowChange:
    """Writes the new deletes, and prepares the commit that replaces the old ones."""
    handle = plan.handle
    positions = _collect_positions(plan)
    paths = {file.path for file in positions}
    checks = [build_data_file_check(plan.files, paths, 0), *([build_row_check()] if verify else [])]
    validation = Validation(
        snapshot_id=plan.files.snapshot.id,
        row_filter=build_row_filter(handle, None),
        data_files=sorted(paths),
        further=combine_checks(checks),
    )
    old = [to_content_file(handle, entry) for entry in plan.entries]
    new, replaced = _write(plan, positions)
    listed = {(file.path, file.content_offset) for file in old}
    others = [file for file in replaced if (file.path, file.content_offset) not in listed]
    return RowChange(deletes=new, removed_deletes=[*old, *others], validation=validation)


def _collect_positions(plan: PositionRewrite) -> list[FilePositions]:
    """Lists every data file of the old deletes, with the positions of files; vectors are read when they are merged."""
    by_path = {file.path: file for file in _read_position_files(plan)} if plan.rows else {}
    for entry in plan.vectors:
        path = entry.referenced_data_file
        if path is not None and path in plan.data and path not in by_path:
            data = plan.data[path]
            partition = tuple(partition_to_json(plan.handle, data))
            by_path[path] = FilePositions(path, data.spec_id, partition, BitMap64(), 0)
    return list(by_path.values())


def _read_position_files(plan: PositionRewrite) -> list[FilePositions]:
    """Reads the positions of files, for data files that still exist and are not newer than the delete."""
    spark = plan.handle.spark
    data = pa.table(
        {
            FILE: pa.array(list(plan.data), pa.string()),
            "__rd_age": pa.array([file.sequence_number for file in plan.data.values()], pa.int64()),
        }
    )
    ages = pa.table(
        {
            _DELETE_FILE: pa.array([entry.path for entry in plan.rows], pa.string()),
            "__rd_delete_age": pa.array([entry.sequence_number for entry in plan.rows], pa.int64()),
        }
    )
    rows = read_positions(plan.handle, plan.files, plan.rows).select(
        F.col("file_path").alias(FILE), F.col("pos").alias(POSITION), F.col("_file").alias(_DELETE_FILE)
    )
    joined = rows.join(F.broadcast(make_frame_from_arrow(spark, data)), FILE).join(
        F.broadcast(make_frame_from_arrow(spark, ages)), _DELETE_FILE
    )
    return collect_positions_in(plan.handle, joined.where("__rd_age <= __rd_delete_age"), list(plan.data.values()))


def _write(plan: PositionRewrite, positions: list[FilePositions]) -> tuple[list[NewDelete], list[ContentFile]]:
    """Writes deletes in files of about the target size, estimated from the old files.

    Returns:
        The new deletes, and the old ones that they replace.
    """
    records = sum(entry.record_count for entry in plan.rows)
    per_position = sum(entry.file_size_in_bytes for entry in plan.rows) / max(records, 1)
    vectors = {entry.referenced_data_file: _measure_vector(entry) for entry in plan.vectors}
    sizes = [len(file.positions) * per_position + vectors.get(file.path, 0) for file in positions]
    new: list[NewDelete] = []
    replaced: list[ContentFile] = []
    try:
        for chunk in pack(positions, sizes, plan.target_size):
            written = write_positions(plan.handle, plan.files, chunk)
            written.save(plan.handle)
            new, replaced = [*new, *written.deletes], [*replaced, *written.replaced]
    except BaseException:
        plan.handle.io.discard({delete.file.path for delete in new})
        raise
    return new, replaced
