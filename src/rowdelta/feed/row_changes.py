"""Reads the rows that may have changed between two snapshots: those that only one of them has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from rowdelta.change import FILE, POSITION, ROW_ID
from rowdelta.read import (
    MAX_BROADCAST_BYTES,
    build_live_rows,
    find_deleted_rows,
    find_matching_rows_of_schema,
    find_needed_deletes,
    join_bitmaps,
    join_position_files,
    keep_hits,
    read_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.feed.file_changes import AddedDeletes, FileChanges
    from rowdelta.iceberg import SnapshotFiles, TableHandle
    from rowdelta.read import DeletedKeys


@dataclass(frozen=True)
class RowReader:
    """Reads rows of snapshots in one schema.

    Attributes:
        handle: The table.
        schema_id: The schema.
        where: The rows to read.
        select: Selects columns of rows, given whether the rows have ids.
    """

    handle: TableHandle
    schema_id: int
    where: str | Column | None
    select: Callable[[DataFrame, bool], DataFrame]

    def read_deleted(self, changes: FileChanges) -> DataFrame | None:
        """Reads the rows that only the older snapshot has; None if there is none.

        Rows that were rewritten to other files are among them, and among those of `read_inserted`.
        """
        if changes.before is None:
            return None
        return self._read_lost(changes.before, changes.after, changes.removed, changes.new_deletes, changes.old_deletes)

    def read_inserted(self, changes: FileChanges) -> DataFrame | None:
        """Reads the rows that only the newer snapshot has; None if there is none."""
        older = changes.before if changes.before is not None else changes.after
        return self._read_lost(changes.after, older, changes.added, changes.old_deletes, changes.new_deletes)

    def _read_lost(
        self,
        having: SnapshotFiles,
        without: SnapshotFiles,
        removed: frozenset[str],
        added: AddedDeletes,
        taken_back: AddedDeletes,
    ) -> DataFrame | None:
        """Reads the rows that one of two snapshots has and the other does not.

        Args:
            having: The snapshot that has them.
            without: The other snapshot.
            removed: The data files that the other does not have.
            added: The deletes that only the other has.
            taken_back: The deletes that only `having` has.
        """
        frames = []
        if removed:
            live = build_live_rows(self.handle, having, self.schema_id, _list_ids(having), only=removed)
            frames.append(self._finish(live.apply_deletes_with_positions(), having))
        if added.position_paths:
            joins = _join_positions(self.handle, added, without, having)
            if joins:
                names = (FILE, POSITION, *_list_ids(having))
                live = build_live_rows(self.handle, having, self.schema_id, names, only=added.position_paths)
                frames.append(self._finish(keep_hits(live.apply_deletes_with_positions(), joins), having))
        if added.key_paths:
            frames.append(self._finish(self._find_by_keys(having, without, added, taken_back), without))
        return reduce(lambda one, other: one.unionAll(other), frames) if frames else None

    def _find_by_keys(
        self, having: SnapshotFiles, without: SnapshotFiles, added: AddedDeletes, taken_back: AddedDeletes
    ) -> DataFrame:
        """Finds the rows that the equality deletes of the other snapshot delete.

        They are read from the other snapshot, without the rows that its position deletes delete: `_read_lost` has
        those already. So rows that were deleted before must be removed by the deletes of the first one.
        """
        manifests = {manifest["manifest_path"] for manifest in without.listing.records}
        rows = find_deleted_rows(
            self.handle,
            without,
            self.schema_id,
            (FILE, POSITION, *_list_ids(without)),
            only=added.key_paths,
            hit_by=added.keys,
            unless=find_needed_deletes(self.handle, having, added.key_paths),
            more_manifests=[m for m in having.listing.records if m["manifest_path"] not in manifests],
        )
        if taken_back.position_paths & added.key_paths:
            for keys in _join_positions(self.handle, taken_back, having, without):
                rows = keys.remove_from(rows, MAX_BROADCAST_BYTES)
        return rows

    def _finish(self, rows: DataFrame, files: SnapshotFiles) -> DataFrame:
        if self.where is not None:
            rows = find_matching_rows_of_schema(self.handle, rows, self.where, self.schema_id)
        return self.select(rows, files.has_row_ids)


def _list_ids(files: SnapshotFiles) -> tuple[str, ...]:
    return (ROW_ID,) if files.has_row_ids else ()


def _join_positions(
    handle: TableHandle, added: AddedDeletes, having: SnapshotFiles, without: SnapshotFiles
) -> Sequence[DeletedKeys]:
    """Makes joins with positions that one snapshot deletes, and that the other may not delete.

    Args:
        handle: The table.
        added: The deletes that only the first snapshot has.
        having: The first snapshot.
        without: The other snapshot.
    """
    vectors = [e for e in added.positions if e.is_deletion_vector and e.referenced_data_file in added.position_paths]
    replaced = {entry.referenced_data_file for entry in having.position_deletes if entry.is_deletion_vector}
    files = [e for e in added.positions if not e.is_deletion_vector and e.referenced_data_file not in replaced]
    bitmaps = read_vectors(handle, vectors)
    others = [e for e in without.position_deletes if e.is_deletion_vector and e.referenced_data_file in bitmaps]
    for path, known in read_vectors(handle, others).items():
        bitmaps[path] -= known
    bitmaps = {path: bitmap for path, bitmap in bitmaps.items() if bitmap}
    joins = [join_bitmaps(handle, bitmaps)] if bitmaps else []
    return [*joins, *([join_position_files(handle, having, files)] if files else [])]
