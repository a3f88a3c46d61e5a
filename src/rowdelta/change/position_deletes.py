"""Deletes of rows by position: deletion vectors on version 3, Parquet files on version 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.change.position_files import has_file_granularity, write_position_files
from rowdelta.change.vector_files import write_vectors
from rowdelta.change.written_deletes import WrittenDeletes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rowdelta.change.file_positions import FilePositions
    from rowdelta.iceberg import SnapshotFiles, TableHandle

DELETION_VECTOR_VERSION: Final = 3


def write_positions(
    handle: TableHandle,
    files: SnapshotFiles,
    touched: Sequence[FilePositions],
    records: Mapping[str, int] | None = None,
) -> WrittenDeletes:
    """Writes positions to delete: vectors into memory, Parquet files to storage.

    Args:
        handle: The table.
        files: The snapshot that was read.
        touched: The positions.
        records: How many rows data files have, for a caller that removes files without a live row: they get no
            deletes. On version 2 this holds for files with all rows in `touched`; earlier deletes are not counted.
    """
    if not touched:
        return WrittenDeletes([], [], [], {})
    if handle.metadata.format_version >= DELETION_VECTOR_VERSION:
        return write_vectors(handle, files, touched, records or {})
    emptied = [file for file in touched if records is not None and len(file.positions) == records.get(file.path)]
    emptied_paths = {file.path for file in emptied}
    return WrittenDeletes(
        write_position_files(handle, [file for file in touched if file.path not in emptied_paths]), [], emptied, {}
    )


def describe_deletes(handle: TableHandle) -> str:
    """Says what `write_positions` would write, and why."""
    version = f"the table is of format version {handle.metadata.format_version}"
    if handle.metadata.format_version >= DELETION_VECTOR_VERSION:
        return f"deletion-vector, one for each data file touched: {version}"
    return (
        f"position deletes, a file for each {'data file' if has_file_granularity(handle) else 'partition'}: {version}"
    )
