"""Reads one state of a table: the head of a branch, a snapshot, a time, or a tag."""

from __future__ import annotations

import datetime as dt
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from rowdelta.errors import InputError
from rowdelta.iceberg import read_snapshot_files
from rowdelta.read.column_names import check_clashes
from rowdelta.read.deletion_vectors import check_vectors
from rowdelta.read.matching import find_matching_rows, find_matching_rows_of_schema
from rowdelta.read.table_reader import hide_floats, read_skipping, read_with_deletes
from rowdelta.spark import quote, quote_string, run_sql

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import Snapshot, TableHandle


_NUMBER: Final = re.compile(r"[+-]?\d+")


def read_live_frame(
    handle: TableHandle,
    max_broadcast_bytes: int,
    *,
    snapshot_id: int | None = None,
    timestamp: str | dt.datetime | None = None,
    tag: str | None = None,
    verify: bool = False,
    where: str | Column | None = None,
) -> DataFrame:
    """Reads the live rows of one state of the table, which at most one argument may name.

    Args:
        handle: The table.
        max_broadcast_bytes: Deletes that take more memory than this are joined by a shuffle.
        snapshot_id: A snapshot.
        timestamp: A time.
        tag: A tag.
        verify: Whether to read every deletion vector of the state, and to refuse damaged ones.
        where: The rows to keep.
    """
    given = [
        name
        for name, value in (("snapshot_id", snapshot_id), ("timestamp", timestamp), ("tag", tag))
        if value is not None
    ]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} each name a state", hint="give one of them")
    if not given:
        snapshot = handle.snapshot()
        schema_id = handle.metadata.current_schema_id
        version: int | str | None = None if snapshot is None or handle.branch == "main" else handle.branch
    else:
        snapshot = _find_snapshot(handle, snapshot_id, timestamp, tag)
        schema_id = handle.metadata.current_schema_id if snapshot.schema_id is None else snapshot.schema_id
        version = snapshot.id
    check_clashes(handle, schema_id)
    if snapshot is not None and verify:
        _check_vectors_of(handle, snapshot)
    frame = None if snapshot is None else read_with_deletes(handle, snapshot, schema_id, max_broadcast_bytes)
    if frame is None:
        frame = hide_floats(_read_with_iceberg(handle, version), handle.metadata.schemas[schema_id].fields)
    if where is None:
        return frame
    if snapshot is None or snapshot.manifest_list is None or schema_id != handle.metadata.current_schema_id:
        return find_matching_rows_of_schema(handle, frame, where, schema_id)
    reread = partial(read_skipping, handle, snapshot, schema_id, max_broadcast_bytes)
    return find_matching_rows(handle, frame, where, reread=reread).rows


def _check_vectors_of(handle: TableHandle, snapshot: Snapshot) -> None:
    files = read_snapshot_files(handle, snapshot)
    if files is not None:
        check_vectors(handle, files.position_deletes)


def _read_with_iceberg(handle: TableHandle, version: int | str | None) -> DataFrame:
    """Reads a state with Iceberg's reader."""
    handle.refresh_spark()
    if version is None:
        return handle.spark.table(handle.full_name)
    if isinstance(version, str) and _NUMBER.fullmatch(version):  # Iceberg would take it for the id of a snapshot
        return run_sql(handle.spark, f"SELECT * FROM {handle.full_name}.{quote(f'branch_{version}')}")
    wanted = str(version) if isinstance(version, int) else quote_string(version)
    return run_sql(handle.spark, f"SELECT * FROM {handle.full_name} VERSION AS OF {wanted}")


def _find_snapshot(
    handle: TableHandle, snapshot_id: int | None, timestamp: str | dt.datetime | None, tag: str | None
) -> Snapshot:
    if tag is not None:
        tags = handle.metadata.tags
        if tag not in tags:
            raise InputError(f"no tag {tag!r}", hint=f"the tags are {', '.join(sorted(tags)) or 'none'}")
        snapshot_id = tags[tag].snapshot_id
    if timestamp is not None:
        return find_snapshot_at(handle, timestamp)
    snapshot = handle.snapshot(snapshot_id)
    assert snapshot is not None
    return snapshot


def find_snapshot_at(handle: TableHandle, timestamp: str | dt.datetime) -> Snapshot:
    """Finds the snapshot that a branch had at a time.

    For main, the table's log has it, as for `TIMESTAMP AS OF`: snapshots that were rolled back later count, and those
    of another branch count from when main was moved to them. Iceberg keeps no log of other branches: there it is the
    newest ancestor of the head that is not younger than the time.
    """
    if isinstance(timestamp, str):
        try:
            timestamp = dt.datetime.fromisoformat(timestamp)
        except ValueError:
            raise InputError(
                f"{timestamp!r} is not a time", hint="write it as 2024-01-31T12:00:00 or 2024-01-31 12:00:00+02:00"
            ) from None
    if timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=dt.timezone.utc)
    milliseconds = timestamp.timestamp() * 1000
    metadata = handle.metadata
    if handle.branch == "main":
        log = handle.read_whole_document().get("snapshot-log", [])
        past = [entry["snapshot-id"] for entry in log if entry["timestamp-ms"] <= milliseconds]
        snapshot = metadata.snapshots.get(past[-1]) if past else None
    else:
        line = metadata.ancestors(handle.snapshot())
        snapshot = next((ancestor for ancestor in line if ancestor.timestamp_ms <= milliseconds), None)
    if snapshot is None:
        raise InputError(
            f"{handle.name} has no snapshot as old as {timestamp.isoformat()}",
            hint=f"SELECT * FROM {handle.name}.snapshots lists its snapshots",
        )
    return snapshot
