"""The rows of a snapshot before equality deletes, and the joins that apply the deletes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import TableError
from rowdelta.iceberg import SnapshotFiles, read_without_equality_deletes, select_stored
from rowdelta.read.column_names import check_names
from rowdelta.read.delete_join_builder import DeletedKeysBuilder
from rowdelta.read.delete_joins import AGE, PARTITION, SPEC
from rowdelta.read.needed_deletes import find_needed_deletes
from rowdelta.spark import make_frame_from_arrow, quote, select_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import DataEntry, DeleteEntry, Field, TableHandle
    from rowdelta.read.delete_joins import DeletedKeys
    from rowdelta.read.key_bitmap import KeyBits

MAX_BROADCAST_BYTES: Final = 256 << 20
ROW_SEQUENCE_NUMBER: Final = "_last_updated_sequence_number"
_FILE: Final = "__rd_file"


@dataclass(frozen=True)
class LiveRows:
    """The rows of a snapshot before equality deletes, and the joins that apply them.

    `rows` has the table's columns, then the columns that the joins need (`AGE`, `SPEC`, `PARTITION`, dropped key
    columns) and the requested metadata columns. `prepare` makes them of `stored`, the rows as Iceberg reads them.
    """

    rows: DataFrame
    columns: list[str]
    deleted: list[DeletedKeys | KeyBits]
    stored: DataFrame
    prepare: Callable[[DataFrame], DataFrame]

    def skip_files(self, condition: Column) -> LiveRows:
        """Keeps the rows that meet a predicate, so that files are skipped; see `matching`."""
        return replace(self, rows=self.prepare(self.stored.where(condition)))

    def apply_deletes(self, max_broadcast_bytes: int = MAX_BROADCAST_BYTES) -> DataFrame:
        """Applies the joins; returns the table's columns."""
        frame = self.apply_deletes_with_positions(max_broadcast_bytes)
        return select_sql(frame, *map(quote, self.columns))

    def apply_deletes_with_positions(self, max_broadcast_bytes: int = MAX_BROADCAST_BYTES) -> DataFrame:
        """Applies the joins; returns every column of `rows`."""
        frame = self.rows
        for keys in self.deleted:
            frame = keys.remove_from(frame, max_broadcast_bytes)
        return frame


def build_live_rows(
    handle: TableHandle,
    files: SnapshotFiles,
    schema_id: int,
    metadata_columns: tuple[str, ...] = (),
    *,
    only: AbstractSet[str] | None = None,
    deletes: tuple[DeleteEntry, ...] | None = None,
    as_bits: bool = False,
) -> LiveRows:
    """Combines the stored rows of a snapshot and its equality deletes.

    Args:
        handle: The table.
        files: The snapshot.
        schema_id: The schema to read with.
        metadata_columns: Metadata columns to read as well.
        only: The data files to read; by default, all of them.
        deletes: The equality deletes to apply; by default, all that may delete a row.
        as_bits: Whether to look keys up in a bitmap, where possible, rather than join with them.
    """
    deletes = find_needed_deletes(handle, files, only) if deletes is None else deletes
    stored = _StoredRows(handle, files, schema_id, metadata_columns, only=only, deletes=deletes)
    joins = stored.build_joins(deletes, as_bits=as_bits)
    return LiveRows(stored.rows, stored.columns, joins, stored.frame, stored.prepare)


def find_deleted_rows(
    handle: TableHandle,
    files: SnapshotFiles,
    schema_id: int,
    metadata_columns: tuple[str, ...],
    *,
    only: AbstractSet[str],
    hit_by: tuple[DeleteEntry, ...],
    unless: tuple[DeleteEntry, ...],
    more_manifests: Sequence[dict[str, Any]] = (),
) -> DataFrame:
    """Finds the rows of a snapshot that some equality deletes delete, and others do not; each row once.

    Args:
        handle: The table.
        files: The snapshot; its position deletes apply.
        schema_id: The schema to read with.
        metadata_columns: Metadata columns to read as well.
        only: The data files to read.
        hit_by: The deletes whose rows are wanted.
        unless: Deletes whose rows are not wanted.
        more_manifests: The manifests of `unless` that the snapshot does not have, as records of a manifest list.
    """
    stored = _StoredRows(handle, files, schema_id, metadata_columns, only=only, deletes=(*hit_by, *unless))
    rows = stored.rows
    for keys in stored.build_joins(unless, more_manifests):
        rows = keys.remove_from(rows, MAX_BROADCAST_BYTES)
    return keep_hits(rows, stored.build_joins(hit_by))


def keep_hits(rows: DataFrame, joins: Sequence[DeletedKeys | KeyBits]) -> DataFrame:
    """Selects the rows that at least one join hits, each once."""
    hits = []
    for keys in joins:
        hits.append(keys.keep_in(rows, MAX_BROADCAST_BYTES))
        rows = keys.remove_from(rows, MAX_BROADCAST_BYTES)
    return reduce(lambda one, other: one.unionAll(other), hits)


class _StoredRows:
    """The rows of a snapshot before equality deletes, and what the joins that apply some of them need."""

    def __init__(
        self,
        handle: TableHandle,
        files: SnapshotFiles,
        schema_id: int,
        metadata_columns: tuple[str, ...],
        *,
        only: AbstractSet[str] | None,
        deletes: tuple[DeleteEntry, ...],
    ) -> None:
        schema = handle.metadata.schemas[schema_id]
        check_names(handle, schema_id, ("_spec_id", "_partition", *metadata_columns))
        keys = {field_id for entry in deletes for field_id in entry.equality_ids}
        specs = [handle.metadata.specs[spec_id] for spec_id in {entry.spec_id for entry in deletes}]
        sources = {part.source_id for spec in specs for part in spec.fields if part.transform != "void"}
        dropped = [_find_dropped_key(handle, field_id) for field_id in sorted(keys - set(schema.by_id))]
        dropped_sources = [_find_dropped(handle, field_id) for field_id in sorted(sources - keys - set(schema.by_id))]
        read = read_without_equality_deletes(handle, files, schema_id, [*dropped, *dropped_sources], only)
        self._handle = handle
        self._every = files.equality_deletes
        self._files = replace(files, equality_deletes=deletes)
        self._young = self._files.list_young_files(handle) if deletes else []
        self._partition_names = read.partition_names
        self._by_id = schema.by_id | {column.id: column for column in dropped}
        self._fields = schema.fields
        places = [f"_spec_id AS {SPEC}", *([f"_partition AS {PARTITION}"] if read.partition_names else [])]
        self._more = [*places, *metadata_columns]
        if self._every or deletes:
            age = _write_age_sql(handle, self._files, self._young)
            self._more = [*(quote(column.name) for column in dropped), *places, age, *metadata_columns]
        self.columns = [column.name for column in schema.fields]
        self.frame = read.frame
        self.rows = self.prepare(read.frame)

    def prepare(self, frame: DataFrame) -> DataFrame:
        """Selects the table's columns, those that the joins need, and the metadata columns."""
        rows = select_stored(frame, self._fields, self._more)
        return _with_file_ages(self._handle, rows, self._young) if _FILE in rows.columns else rows

    def build_joins(
        self, deletes: tuple[DeleteEntry, ...], more_manifests: Sequence[dict[str, Any]] = (), *, as_bits: bool = False
    ) -> list[DeletedKeys | KeyBits]:
        """Builds the joins that apply some of the deletes."""
        if not (self._every or deletes):
            return []
        listing = replace(self._files.listing, records=[*self._files.listing.records, *more_manifests])
        builder = DeletedKeysBuilder(
            self._handle,
            replace(self._files, listing=listing, equality_deletes=deletes),
            self._by_id,
            self.rows,
            self._partition_names,
            ages_matter=bool(self._young),
            as_bits=as_bits,
        )
        builder.check_scopes(self._every)
        return builder.build()


def _find_dropped_key(handle: TableHandle, field_id: int) -> Field:
    for schema in handle.metadata.schemas.values():
        column = schema.by_id.get(field_id)
        if column is not None and len(column.path) > 1:
            raise TableError(
                f"{handle.name} has deletes by {column.sql}, a field of a struct that was dropped since",
                hint="it is unknown which rows they delete; an older snapshot can be read: snapshot_id=",
            )
    return _find_dropped(handle, field_id)


def _find_dropped(handle: TableHandle, field_id: int) -> Field:
    """Finds a column that the schema no longer has, and gives it a unique name."""
    for schema_id in sorted(handle.metadata.schemas, reverse=True):
        column = handle.metadata.schemas[schema_id].by_id.get(field_id)
        if column is not None:
            return replace(column, name=f"__rd_dropped_{field_id}", path=(f"__rd_dropped_{field_id}",), required=False)
    raise TableError(
        f"no schema of {handle.name} has a column with id {field_id}, by which rows are deleted",
        hint="its schema was removed when snapshots expired; it is unknown which rows are deleted",
    )


def _write_age_sql(handle: TableHandle, files: SnapshotFiles, young: list[DataEntry]) -> str:
    """Writes the data sequence number of a row's file in SQL, or its path to look the number up.

    Rows of old files may get any lower number. Iceberg returns the number as `_last_updated_sequence_number`, except
    for rows that kept an older number in a rewrite. That makes no difference while rows stay in their partition. But a
    rewrite to another partition spec can move a row into the scope of an older delete, and ORC files do not have the
    column: then the number is looked up by file.
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
    ages = F.broadcast(make_frame_from_arrow(handle.spark, table))
    return rows.join(ages, _FILE, "left").withColumn(AGE, F.coalesce("__rd_number", F.lit(-1)))
