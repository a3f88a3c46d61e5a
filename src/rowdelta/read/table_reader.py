"""A snapshot as a DataFrame, every delete applied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import TableError
from rowdelta.iceberg import SnapshotFiles, has_null_partitions, hides_floats, select_stored, shadow, snapshot_files
from rowdelta.read.column_names import check_names
from rowdelta.read.delete_join_builder import DeletedKeysBuilder
from rowdelta.read.delete_joins import AGE, PARTITION, SPEC
from rowdelta.read.manifest_checks import check_deletes
from rowdelta.read.needed_deletes import find_needed_deletes
from rowdelta.spark import arrow_frame, quote, select_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import DataEntry, DeleteEntry, Field, Snapshot, TableHandle
    from rowdelta.read.delete_joins import DeletedKeys
    from rowdelta.read.key_bitmap import KeyBits

MAX_BROADCAST_BYTES: Final = 256 << 20
ROW_SEQUENCE_NUMBER: Final = "_last_updated_sequence_number"
_FILE: Final = "__rd_file"


@dataclass(frozen=True)
class LiveRows:
    """The rows of a snapshot before equality deletes, and the joins that apply them.

    `rows` has the table's columns, then the columns that the joins need (`AGE`, `SPEC`, `PARTITION`, dropped key
    columns) and the metadata columns that were asked for. `made` makes them of `stored`, the rows as Iceberg
    reads them.
    """

    rows: DataFrame
    columns: list[str]
    deleted: list[DeletedKeys | KeyBits]
    stored: DataFrame
    made: Callable[[DataFrame], DataFrame]

    def skipping(self, condition: Column) -> LiveRows:
        """The same of the rows that meet a predicate, which skips files; see `matching`. The joins stay as they are."""
        return replace(self, rows=self.made(self.stored.where(condition)))

    def live(self, max_broadcast_bytes: int = MAX_BROADCAST_BYTES) -> DataFrame:
        """The rows that are left, with the table's columns."""
        frame = self.live_with_places(max_broadcast_bytes)
        return select_sql(frame, *map(quote, self.columns))

    def live_with_places(self, max_broadcast_bytes: int = MAX_BROADCAST_BYTES) -> DataFrame:
        """The rows that are left, with every column of `rows`."""
        frame = self.rows
        for keys in self.deleted:
            frame = keys.remove_from(frame, max_broadcast_bytes)
        return frame


@dataclass(frozen=True)
class _Kept:
    """A frame of live rows, and what makes it of the rows that meet a predicate."""

    frame: DataFrame
    skipping: Callable[[Column], DataFrame]


def read_with_deletes(
    handle: TableHandle, snapshot: Snapshot, schema_id: int, max_broadcast_bytes: int
) -> DataFrame | None:
    """The live rows of a snapshot; None where Iceberg's reader gives them, and applies filters as it should.

    Floating-point columns are hidden from filters; those of a frame that the caller makes instead must be, too.
    """
    kept = _kept(handle, snapshot, schema_id, max_broadcast_bytes)
    return None if kept is None else kept.frame


def _kept(handle: TableHandle, snapshot: Snapshot, schema_id: int, max_broadcast_bytes: int) -> _Kept | None:
    key = (snapshot.id, schema_id, max_broadcast_bytes)
    kept: _Kept | None = handle.live_frames.get(key)
    if kept is None:
        files = snapshot_files(handle, snapshot)
        if files is None:
            return None
        check_deletes(handle.metadata, files)
        if files.equality_deletes:
            rows = live_rows(handle, files, schema_id)
            kept = _Kept(
                rows.live(max_broadcast_bytes), lambda condition: rows.skipping(condition).live(max_broadcast_bytes)
            )
        elif has_null_partitions(handle.metadata.specs, files.listing.records):
            kept = _of_shadow(handle, files, schema_id)
        else:
            return None
        handle.live_frames.put(key, kept)
    return kept


def _of_shadow(handle: TableHandle, files: SnapshotFiles, schema_id: int) -> _Kept:
    columns, stored = _columns(handle, schema_id), shadow(handle, files, schema_id, []).frame
    return _Kept(hide_floats(stored, columns), lambda condition: hide_floats(stored.where(condition), columns))


def hide_floats(frame: DataFrame, columns: Sequence[Field], more: Sequence[str] = ()) -> DataFrame:
    """A frame of some columns of a table, whose filters on floating-point columns do not reach the scan.

    Args:
        frame: The table as Iceberg reads it.
        columns: The columns.
        more: Metadata columns to keep where any column is hidden.
    """
    return select_stored(frame, columns, more) if hides_floats(columns) else frame


def _columns(handle: TableHandle, schema_id: int) -> Sequence[Field]:
    return handle.metadata.schemas[schema_id].fields


def read_skipping(
    handle: TableHandle, snapshot: Snapshot, schema_id: int, max_broadcast_bytes: int, skipping: Column
) -> DataFrame:
    """The live rows of a snapshot that meet a predicate by which files are skipped; see `matching`."""
    kept = _kept(handle, snapshot, schema_id, max_broadcast_bytes)
    if kept is None:
        files = snapshot_files(handle, snapshot)
        assert files is not None
        kept = _of_shadow(handle, files, schema_id)
    return kept.skipping(skipping)


def filters_mislead(handle: TableHandle, files: SnapshotFiles) -> bool:
    """Whether Iceberg's reader may give other rows than a filter asks for: see `iceberg.pushdown`."""
    return _has_floats(handle) or has_null_partitions(handle.metadata.specs, files.listing.records)


def filters_may_mislead(handle: TableHandle) -> bool:
    """The same without a look at the manifests: whether it may be so."""
    return _has_floats(handle) or not all(spec.is_unpartitioned for spec in handle.metadata.specs.values())


def _has_floats(handle: TableHandle) -> bool:
    return any(hides_floats(schema.fields) for schema in handle.metadata.schemas.values())


def live_rows(
    handle: TableHandle,
    files: SnapshotFiles,
    schema_id: int,
    metadata_columns: tuple[str, ...] = (),
    *,
    only: AbstractSet[str] | None = None,
    deletes: tuple[DeleteEntry, ...] | None = None,
    as_bits: bool = False,
) -> LiveRows:
    """Puts the shadow of a snapshot and its equality deletes together.

    Args:
        handle: The table.
        files: The snapshot.
        schema_id: The schema to read with.
        metadata_columns: Metadata columns to read as well.
        only: The data files to read; all of them when left out.
        deletes: The equality deletes to make joins for; all that can find a row when left out.
        as_bits: Whether to look keys up in a bitmap rather than join with them, where that can be.
    """
    schema = handle.metadata.schemas[schema_id]
    check_names(handle, schema_id, ("_spec_id", "_partition", *metadata_columns))
    deletes = find_needed_deletes(handle, files, only) if deletes is None else deletes
    keys = {field_id for entry in deletes for field_id in entry.equality_ids}
    specs = [handle.metadata.specs[spec_id] for spec_id in {entry.spec_id for entry in deletes}]
    sources = {part.source_id for spec in specs for part in spec.fields if part.transform != "void"}
    dropped = [_dropped_key(handle, field_id) for field_id in sorted(keys - set(schema.by_id))]
    dropped_sources = [_dropped(handle, field_id) for field_id in sorted(sources - keys - set(schema.by_id))]
    shade = shadow(handle, files, schema_id, [*dropped, *dropped_sources], only)
    every, files = files.equality_deletes, replace(files, equality_deletes=deletes)
    columns = [column.name for column in schema.fields]
    places = [f"_spec_id AS {SPEC}", *([f"_partition AS {PARTITION}"] if shade.partition_names else [])]
    if not every:

        def plain(rows: DataFrame) -> DataFrame:
            return select_stored(rows, schema.fields, [*places, *metadata_columns])

        return LiveRows(plain(shade.frame), columns, [], shade.frame, plain)
    young = files.young_files(handle) if files.equality_deletes else []
    keys_dropped = [quote(column.name) for column in dropped]
    age = _age(handle, files, young)

    def made(rows: DataFrame) -> DataFrame:
        rows = select_stored(rows, schema.fields, [*keys_dropped, *places, age, *metadata_columns])
        return _with_file_ages(handle, rows, young) if _FILE in rows.columns else rows

    rows = made(shade.frame)
    by_id = schema.by_id | {column.id: column for column in dropped}
    builder = DeletedKeysBuilder(
        handle, files, by_id, rows, shade.partition_names, ages_matter=bool(young), as_bits=as_bits
    )
    builder.check_scopes(every)
    return LiveRows(rows, columns, builder.build(), shade.frame, made)


def _dropped_key(handle: TableHandle, field_id: int) -> Field:
    for schema in handle.metadata.schemas.values():
        known = schema.by_id.get(field_id)
        if known is not None and len(known.path) > 1:
            raise TableError(
                f"{handle.name} has deletes by {known.sql}, a field of a struct that was dropped since",
                hint="which rows they delete cannot be told any more; a snapshot from before can be read: snapshot_id=",
            )
    return _dropped(handle, field_id)


def _dropped(handle: TableHandle, field_id: int) -> Field:
    """A column that the schema no longer has, under a name of its own."""
    for schema_id in sorted(handle.metadata.schemas, reverse=True):
        known = handle.metadata.schemas[schema_id].by_id.get(field_id)
        if known is not None:
            return replace(known, name=f"__rd_dropped_{field_id}", path=(f"__rd_dropped_{field_id}",), required=False)
    raise TableError(
        f"no schema of {handle.name} has a column with id {field_id}, by which rows are deleted",
        hint="its schema was removed when snapshots expired; which rows are deleted cannot be known",
    )


def _age(handle: TableHandle, files: SnapshotFiles, young: list[DataEntry]) -> str:
    """The data sequence number of a row's file, or the path to look it up by; rows of old files may have any lower one.

    Iceberg gives it out as `_last_updated_sequence_number`, save for rows that kept an older number through a
    rewrite. That makes no difference while rows stay in their partition; but a rewrite into another partition spec
    can move a row into the scope of an older delete, and ORC files do not have the column: then the number is looked
    up by file.
    """
    if not young:
        return f"0 AS {AGE}"
    specs = handle.metadata.specs
    moved = len(specs) > 1 and any(not specs[entry.spec_id].is_unpartitioned for entry in files.equality_deletes)
    if moved or any(entry.file_format not in {"PARQUET", "AVRO"} for entry in young):
        return f"_file AS {_FILE}"
    return f"coalesce({ROW_SEQUENCE_NUMBER}, -1) AS {AGE}"


def _with_file_ages(handle: TableHandle, rows: DataFrame, young: list[DataEntry]) -> DataFrame:
    table = pa.table(
        {
            _FILE: pa.array([entry.path for entry in young], pa.string()),
            "__rd_number": pa.array([entry.sequence_number for entry in young], pa.int64()),
        }
    )
    ages = F.broadcast(arrow_frame(handle.spark, table))
    return rows.join(ages, _FILE, "left").withColumn(AGE, F.coalesce("__rd_number", F.lit(-1)))
