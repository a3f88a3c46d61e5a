"""Merge-on-read: old rows are deleted by position, and new rows go to new files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change.assignments import name_new_value
from rowdelta.change.position_deletes import write_positions
from rowdelta.change.target_snapshot import LAST_UPDATED
from rowdelta.iceberg import RowChange, stage_rows
from rowdelta.spark import quote, select_sql

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import DataFrame

    from rowdelta.change.file_positions import FilePositions
    from rowdelta.change.target_snapshot import Target
    from rowdelta.iceberg import Validation


def select_updated_rows(target: Target, rows: DataFrame, changed: Collection[str] = ()) -> DataFrame:
    """Selects rows for the writer: with their old id; the commit records when they were updated.

    Args:
        target: The table.
        rows: The rows.
        changed: The columns that have a new value in `rows`, under the name of `name_new_value`.
    """
    values = [f"{quote(name_new_value(name) if name in changed else name)} AS {quote(name)}" for name in target.columns]
    updated = [f"cast(NULL AS bigint) AS {LAST_UPDATED}"] if target.has_lineage else []
    return select_sql(rows, *values, *target.updated_lineage, *updated)


def replace_rows(
    target: Target, touched: list[FilePositions], new_rows: DataFrame, validation: Validation
) -> RowChange:
    """Writes files with the new rows, and deletes for the positions of the old ones."""
    assert target.files is not None
    staged = stage_rows(target.handle, new_rows)
    try:
        written = write_positions(target.handle, target.files, touched)
    except BaseException:
        staged.remove()
        raise
    return written.change(validation, staged)
