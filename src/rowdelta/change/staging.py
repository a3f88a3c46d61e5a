"""Stages the files of a change of rows at known positions, by the mode of the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change.copy_on_write import rewrite_files
from rowdelta.change.merge_on_read import replace_rows
from rowdelta.change.position_deletes import write_positions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.change.file_positions import FilePositions
    from rowdelta.change.target_snapshot import Target
    from rowdelta.iceberg import RowChange, Validation


def stage_change(
    target: Target, mode: str, touched: list[FilePositions], new_rows: DataFrame | None, validation: Validation
) -> RowChange:
    """Writes everything that a commit needs, without committing it.

    Args:
        target: The table.
        mode: `merge-on-read` or `copy-on-write`.
        touched: The rows to delete.
        new_rows: The rows to add, with the columns that the writer wants; None for a delete.
        validation: What must still hold when the change is committed.
    """
    assert target.files is not None
    if mode == "copy-on-write" and touched:
        return rewrite_files(target, touched, new_rows, validation)
    if new_rows is None:
        return write_positions(target.handle, target.files, touched).change(validation)
    return replace_rows(target, touched, new_rows, validation)
