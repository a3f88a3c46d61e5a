"""Position deletes written anew: many files as one for each data file, and files as deletion vectors on version 3."""

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
    as_content_file,
    collect_positions_in,
    stored_partition,
    write_positions,
)
from rowdelta.iceberg import RowChange, Validation, build_row_filter, footer, position_rows, take_inventory
from rowdelta.maintenance.conflict_checks import build_data_file_check, combine_checks
from rowdelta.maintenance.file_groups import pack
from rowdelta.maintenance.verify import build_row_check
from rowdelta.spark import arrow_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.iceberg import ContentFile, DeleteEntry, LiveData, NewDelete, SnapshotFiles, TableHandle

_DELETE_FILE: Final = "__rd_delete_file"
# What a Puffin footer says of a deletion vector, apart from the path of its data file.
_FOOTER_BYTES: Final = 200
# A Puffin file is worth merging below this share of the target size, or with less than this share of its vectors live.
_SMALL: Final = 0.75
_LIVE: Final = 0.5


@dataclass(frozen=True)
class PositionRewrite:
    """Position deletes that are to be written anew.

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

    def change(self, *, verify: bool) -> RowChange:
        """Writes the new deletes, and puts them in the place of the old ones."""
        touched = self._touched()
        paths = {file.path for file in touched}
        checks = [build_data_file_check(self.files, paths, 0), *([build_row_check()] if verify else [])]
        validation = Validation(
            snapshot_id=self.files.snapshot.id,
            row_filter=build_row_filter(self.handle, None),
            data_files=sorted(paths),
            further=combine_checks(checks),
        )
        gone = [as_content_file(self.handle, entry) for entry in self.entries]
        new, replaced = self._write(touched)
        known = {(file.path, file.content_offset) for file in gone}
        more = [file for file in replaced if (file.path, file.content_offset) not in known]
        return RowChange(deletes=new, removed_deletes=[*gone, *more], validation=validation)

    def _write(self, touched: list[FilePositions]) -> tuple[list[NewDelete], list[ContentFile]]:
        """Writes deletes in files of the target size, as far as the old ones tell how large a position is."""
        records = sum(entry.record_count for entry in self.rows)
        per_position = sum(entry.file_size_in_bytes for entry in self.rows) / max(records, 1)
        vectors = {entry.referenced_data_file: _size(entry) for entry in self.vectors}
        needs = [len(file.positions) * per_position + vectors.get(file.path, 0) for file in touched]
        new: list[NewDelete] = []
        replaced: list[ContentFile] = []
        try:
            for chunk in pack(touched, needs, self.target_size):
                written = write_positions(self.handle, self.files, chunk)
                written.save(self.handle)
                new, replaced = [*new, *written.deletes], [*replaced, *written.replaced]
        except BaseException:
            self.handle.io.discard({made.file.path for made in new})
            raise
        return new, replaced

    def _touched(self) -> list[FilePositions]:
        """Every data file of the old deletes, with the positions of files; vectors are read when they are merged."""
        found = {file.path: file for file in self._positions()} if self.rows else {}
        for entry in self.vectors:
            path = entry.referenced_data_file
            if path is not None and path in self.data and path not in found:
                data = self.data[path]
                values = tuple(stored_partition(self.handle, data))
                found[path] = FilePositions(path, data.spec_id, values, BitMap64(), 0)
        return list(found.values())

    def _positions(self) -> list[FilePositions]:
        """The positions in files, of data files that are still there and not younger than the delete."""
        spark = self.handle.spark
        data = pa.table(
            {
                FILE: pa.array(list(self.data), pa.string()),
                "__rd_age": pa.array([file.sequence_number for file in self.data.values()], pa.int64()),
            }
        )
        ages = pa.table(
            {
                _DELETE_FILE: pa.array([entry.path for entry in self.rows], pa.string()),
                "__rd_delete_age": pa.array([entry.sequence_number for entry in self.rows], pa.int64()),
            }
        )
        rows = position_rows(self.handle, self.files, self.rows).select(
            F.col("file_path").alias(FILE), F.col("pos").alias(POSITION), F.col("_file").alias(_DELETE_FILE)
        )
        joined = rows.join(F.broadcast(arrow_frame(spark, data)), FILE).join(
            F.broadcast(arrow_frame(spark, ages)), _DELETE_FILE
        )
        return collect_positions_in(self.handle, joined.where("__rd_age <= __rd_delete_age"), list(self.data.values()))


def _size(vector: DeleteEntry) -> int:
    """The size of a deletion vector with its part of the footer."""
    return (vector.content_size_in_bytes or 0) + len(vector.referenced_data_file or "") + _FOOTER_BYTES


def _worth_moving(
    handle: TableHandle, files: SnapshotFiles, vectors: Sequence[DeleteEntry], min_input_files: int, target_size: int
) -> list[DeleteEntry]:
    """The vectors of Puffin files that are mostly dead, or small and so many that there will be fewer.

    With `min_input_files` of 1 all of them are wanted, whatever it brings.
    """
    if min_input_files == 1:
        return list(vectors)
    live = Counter(entry.path for entry in files.position_deletes)

    def is_dead(path: str, size: int) -> bool:
        return live[path] < _LIVE * len(footer(handle, path, size).blobs)

    sizes = {entry.path: entry.file_size_in_bytes for entry in vectors}
    small = {path for path, size in sizes.items() if size < _SMALL * target_size}
    dead = {path for path in sizes.keys() - small if is_dead(path, sizes[path])}
    moved = [entry for entry in vectors if entry.path in small | dead]
    fewer = len(pack(moved, list(map(_size, moved)), target_size)) < len(small)
    return moved if dead or (fewer and len(small) >= min_input_files) else []


def plan_position_rewrite(
    handle: TableHandle,
    files: SnapshotFiles,
    selected: Iterable[DeleteEntry],
    min_input_files: int,
    target_size: int,
) -> PositionRewrite:
    """Chooses the position deletes that are worth writing anew.

    On version 3 every file of positions becomes vectors. Otherwise so many deletes of one data file, or of one
    partition where files are for several data files, are worth merging; and so many Puffin files that are small or
    mostly dead.
    """
    some = list(selected)
    vectors = [entry for entry in some if entry.is_deletion_vector]
    vectors = _worth_moving(handle, files, vectors, min_input_files, target_size)
    rows = [entry for entry in some if not entry.is_deletion_vector]
    if handle.metadata.format_version < LINEAGE_VERSION:
        groups: dict[object, list[DeleteEntry]] = defaultdict(list)
        for entry in rows:
            groups[entry.referenced_data_file or (entry.spec_id, repr(entry.partition))].append(entry)
        rows = [entry for group in groups.values() if len(group) >= min_input_files for entry in group]
    data = {file.path: file for file in take_inventory(handle, files.snapshot).data}
    return PositionRewrite(handle, files, tuple(vectors), tuple(rows), data, target_size)
