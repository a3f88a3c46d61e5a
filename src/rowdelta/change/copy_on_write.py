"""Copy-on-write: rewrites the files that a change touches, without the deleted rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change.target_snapshot import FILE, POSITION, list_written_columns
from rowdelta.codec import bitmap_to_numpy
from rowdelta.errors import CommitConflictError
from rowdelta.iceberg import RowChange, find_later_deletes, read_parent_files, stage_rows
from rowdelta.spark import make_frame_from_arrow, parse_column, select_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.change.file_positions import FilePositions
    from rowdelta.change.target_snapshot import Target
    from rowdelta.iceberg import UncommittedSnapshot, Validation


def rewrite_files(
    target: Target, touched: Sequence[FilePositions], new_rows: DataFrame | None, validation: Validation
) -> RowChange:
    """Writes the remaining rows of the touched files, and the new rows, to files that replace them.

    Remaining rows keep their lineage. If another writer deletes rows of a touched file meanwhile, that is a conflict.
    """
    handle = target.handle
    with handle.scratch.action():
        remaining = select_sql(_select_remaining_rows(target, touched), *list_written_columns(target))
        frame = remaining if new_rows is None else remaining.unionByName(new_rows)
        staged = stage_rows(handle, frame)
    further = _forbid_later_deletes(target, frozenset(file.path for file in touched))
    return RowChange(
        rows=staged,
        removed_rows=[file.data_file for file in touched],
        validation=replace(validation, no_new_deletes=True, data_files=(), further=further),
    )


def _forbid_later_deletes(target: Target, paths: frozenset[str]) -> Callable[[UncommittedSnapshot], None]:
    """Makes a check that no other writer has deleted rows of the touched files since.

    A later delete would not apply to the new files, which are younger. Iceberg checks only deletes of rows that match
    the change; it may even drop the others from the new snapshot, since their data files are removed.
    """
    older = target.files
    assert older is not None

    def check(uncommitted: UncommittedSnapshot) -> None:
        later = (
            []
            if uncommitted.parent_id == older.snapshot.id
            else find_later_deletes(uncommitted.handle, older, read_parent_files(uncommitted), paths)
        )
        if later:
            raise CommitConflictError(
                f"another writer changed the same data: {later[0].path} deletes rows of files that are rewritten",
                hint="run it again",
            )

    return check


def _select_remaining_rows(target: Target, touched: Sequence[FilePositions]) -> DataFrame:
    """Selects the live rows of the touched files that are not touched themselves."""
    rows = target.read_rows(only={file.path for file in touched})
    return rows.join(F.broadcast(_make_positions_frame(target, touched)), _is_touched(), "left_anti")


def _is_touched() -> Column:
    same_block = (F.col(FILE) == F.col("__rd_touched")) & (
        parse_column(f"shiftright({POSITION}, 6)") == F.col("__rd_block")
    )
    return same_block & parse_column(f"getbit(__rd_word, cast({POSITION} & 63 as int)) = 1")


def _make_positions_frame(target: Target, touched: Sequence[FilePositions]) -> DataFrame:
    """Makes a frame of positions: 64-bit words by file and block."""
    tables = []
    for file in touched:
        positions = bitmap_to_numpy(file.positions).astype(np.int64)
        starts = np.append(0, np.flatnonzero(np.diff(positions >> 6)) + 1)
        words = np.bitwise_or.reduceat(np.uint64(1) << (positions & 63).astype(np.uint64), starts).view(np.int64)
        paths = pa.repeat(pa.scalar(file.path), len(starts))
        tables.append(pa.table({"__rd_touched": paths, "__rd_block": positions[starts] >> 6, "__rd_word": words}))
    return make_frame_from_arrow(target.handle.spark, pa.concat_tables(tables))
