"""The work of one attempt to resolve: finds the rows that equality deletes delete, and stages positions for them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from rowdelta.change import FILE, POSITION, collect_positions_in, to_content_file, write_positions
from rowdelta.iceberg import SAME_ROWS, RowChange, Validation, build_row_filter
from rowdelta.maintenance.conflict_checks import build_data_file_check, build_equality_delete_check, combine_checks
from rowdelta.maintenance.verify import build_row_check
from rowdelta.read import MAX_BROADCAST_BYTES, build_live_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from pyspark.sql import DataFrame

    from rowdelta.change import FilePositions
    from rowdelta.iceberg import DeleteEntry, LiveData
    from rowdelta.maintenance.resolve_plan import ResolvePlan

_ROWS_PER_KEY: Final = 2  # most keys have one row, and a row that two deletes hit counts twice


def find_positions(plan: ResolvePlan, group: Sequence[LiveData]) -> list[FilePositions]:
    """Finds the positions of the deleted rows in a group of data files."""
    keys = sum(entry.record_count for entry in plan.deletes)
    return collect_positions_in(
        plan.handle,
        find_deleted_rows(plan, group),
        group,
        expected=_ROWS_PER_KEY * keys,
        most_bytes=plan.memory // 2,
    )


def find_deleted_rows(plan: ResolvePlan, group: Sequence[LiveData]) -> DataFrame:
    """Finds the rows of a group that equality deletes delete, by file and position; reads only the key columns."""
    dangling = {entry.path for entry in plan.affected.dangling}
    deletes = tuple(entry for entry in plan.deletes if entry.path not in dangling)
    paths = {file.path for file in group}
    schema_id = plan.handle.metadata.current_schema_id
    live = build_live_rows(
        plan.handle, plan.files, schema_id, (FILE, POSITION), only=paths, deletes=deletes, as_bits=True
    )
    # A row that several deletes hit appears several times, at the same position.
    most = min(plan.memory // 2, MAX_BROADCAST_BYTES)
    hits = [keys.keep_in(live.rows, most).select(FILE, POSITION) for keys in live.deleted]
    return reduce(lambda one, other: one.unionAll(other), hits)


def stage_group(
    plan: ResolvePlan, positions: Sequence[FilePositions], group: Sequence[LiveData], *, verify: bool
) -> RowChange | None:
    """Stages the positions of one group, while the equality deletes stay; None if it has no deleted row."""
    if not positions:
        return None
    return _stage(plan, positions, (), {file.path for file in group} if verify else frozenset())


def stage_rest(plan: ResolvePlan, positions: Sequence[FilePositions], *, verify: bool) -> RowChange:
    """Stages the last positions, and the removal of the equality deletes."""
    return _stage(plan, positions, plan.deletes, None if verify else frozenset())


def _stage(
    plan: ResolvePlan,
    positions: Sequence[FilePositions],
    removed: Sequence[DeleteEntry],
    verified: AbstractSet[str] | None,
) -> RowChange:
    """Writes positions and prepares their commit.

    A data file without a live row is removed itself. Other writers may delete rows of it or remove it meanwhile: no
    reader can miss any of its rows, as long as the equality deletes are there.

    Args:
        plan: The snapshot and its deletes.
        positions: The rows to delete by position.
        removed: The equality deletes to remove.
        verified: The data files whose visible rows are compared before the commit; None for all of them.
    """
    handle, files = plan.handle, plan.files
    removed_deletes = [to_content_file(handle, entry) for entry in removed]
    condition = build_row_filter(handle, None)
    affected = {file.path: file for file in plan.affected.files}
    written = write_positions(handle, files, positions, {path: file.records for path, file in affected.items()})
    emptied = {file.path: affected[file.path].sequence_number for file in written.emptied}
    paths = {file.path for file in positions} - emptied.keys()
    oldest_allowed = max((entry.sequence_number for entry in removed), default=0)
    checks = [
        build_data_file_check(files, paths, oldest_allowed),
        build_equality_delete_check(files, {entry.path for entry in plan.deletes}, emptied),
    ]
    if verified is None or verified:
        checks.append(build_row_check(verified))
    validation = Validation(
        snapshot_id=files.snapshot.id,
        row_filter=condition,
        data_files=sorted(paths),
        further=combine_checks(checks),
    )
    return RowChange(
        deletes=written.deletes,
        contents=written.contents,
        removed_deletes=[*written.replaced, *removed_deletes],
        removed_rows=[file.data_file for file in written.emptied],
        validation=validation,
        summary={SAME_ROWS: "true"},
        operation="delete" if written.emptied and not written.deletes else None,
    )
