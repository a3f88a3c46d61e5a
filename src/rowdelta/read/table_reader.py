"""Reads a snapshot as a DataFrame with every delete applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.iceberg import (
    SnapshotFiles,
    has_floats,
    has_null_partitions,
    read_snapshot_files,
    read_without_equality_deletes,
    select_stored,
)
from rowdelta.read.manifest_checks import check_deletes
from rowdelta.read.snapshot_rows import build_live_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import Field, Snapshot, TableHandle


@dataclass(frozen=True)
class _CachedFrame:
    """A frame of live rows, and a function that reads it without files that a predicate excludes."""

    frame: DataFrame
    skipping: Callable[[Column], DataFrame]


def read_with_deletes(
    handle: TableHandle, snapshot: Snapshot, schema_id: int, max_broadcast_bytes: int
) -> DataFrame | None:
    """Reads the live rows of a snapshot; None if Iceberg's own reader does so, and applies filters correctly.

    Floating-point columns are hidden from filters. The caller must hide those of a frame that it makes instead.
    """
    cached = _find_frame(handle, snapshot, schema_id, max_broadcast_bytes)
    return None if cached is None else cached.frame


def _find_frame(
    handle: TableHandle, snapshot: Snapshot, schema_id: int, max_broadcast_bytes: int
) -> _CachedFrame | None:
    key = (snapshot.id, schema_id, max_broadcast_bytes)
    cached: _CachedFrame | None = handle.live_frames.get(key)
    if cached is None:
        files = read_snapshot_files(handle, snapshot)
        if files is None:
            return None
        check_deletes(handle.metadata, files)
        if files.equality_deletes:
            rows = build_live_rows(handle, files, schema_id)
            cached = _CachedFrame(
                rows.apply_deletes(max_broadcast_bytes),
                lambda condition: rows.skip_files(condition).apply_deletes(max_broadcast_bytes),
            )
        elif has_null_partitions(handle.metadata.specs, files.listing.records):
            cached = _read_shadow(handle, files, schema_id)
        else:
            return None
        handle.live_frames.put(key, cached)
    return cached


def _read_shadow(handle: TableHandle, files: SnapshotFiles, schema_id: int) -> _CachedFrame:
    columns, stored = (
        _list_columns(handle, schema_id),
        read_without_equality_deletes(handle, files, schema_id, []).frame,
    )
    return _CachedFrame(hide_floats(stored, columns), lambda condition: hide_floats(stored.where(condition), columns))


def hide_floats(frame: DataFrame, columns: Sequence[Field], more: Sequence[str] = ()) -> DataFrame:
    """Hides floating-point columns of a frame, so that filters on them do not reach the scan.

    Args:
        frame: The table as Iceberg reads it.
        columns: The columns.
        more: Metadata columns to keep if any column is hidden.
    """
    return select_stored(frame, columns, more) if has_floats(columns) else frame


def _list_columns(handle: TableHandle, schema_id: int) -> Sequence[Field]:
    return handle.metadata.schemas[schema_id].fields


def read_skipping(
    handle: TableHandle, snapshot: Snapshot, schema_id: int, max_broadcast_bytes: int, skipping: Column
) -> DataFrame:
    """Reads the live rows of a snapshot without files that a predicate excludes; see `matching`."""
    cached = _find_frame(handle, snapshot, schema_id, max_broadcast_bytes)
    if cached is None:
        files = read_snapshot_files(handle, snapshot)
        assert files is not None
        cached = _read_shadow(handle, files, schema_id)
    return cached.skipping(skipping)


def filters_mislead(handle: TableHandle, files: SnapshotFiles) -> bool:
    """Whether Iceberg's reader may return other rows than a filter asks for; see `iceberg.pushdown`."""
    return _has_floats(handle) or has_null_partitions(handle.metadata.specs, files.listing.records)


def filters_may_mislead(handle: TableHandle) -> bool:
    """Whether `filters_mislead` may be true for a snapshot of the table; reads no manifest."""
    return _has_floats(handle) or not all(spec.is_unpartitioned for spec in handle.metadata.specs.values())


def _has_floats(handle: TableHandle) -> bool:
    return any(has_floats(schema.fields) for schema in handle.metadata.schemas.values())
