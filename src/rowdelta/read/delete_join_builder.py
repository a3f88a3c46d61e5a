"""Builds the joins that apply the equality deletes of a snapshot."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.encoding import DeleteEncoding
from rowdelta.iceberg import find_column_path, read_delete_keys, read_only_blob_metadata, run_in_parallel
from rowdelta.read.delete_joins import (
    AGE,
    HASH,
    PARTITION,
    SIDE,
    SPEC,
    DeletedKeys,
    combine_tests,
    write_container_condition,
    write_container_probe,
    write_scope_condition,
)
from rowdelta.read.hashed_keys import load_hashed_keys
from rowdelta.read.integer_keys import is_integer, write_integer_sql
from rowdelta.read.key_bitmap import make_key_bits
from rowdelta.read.key_loader import load_integer_keys
from rowdelta.read.merged_keys import (
    BYTES_PER_VALUE,
    Level,
    MergedKeys,
    make_container_table,
    make_value_table,
    merge_levels,
)
from rowdelta.read.partition_scope import Scope, ScopeColumns, find_scope
from rowdelta.spark import make_frame_from_arrow, parse_column, quote, select_sql, try_cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.codec import BlobMetadata
    from rowdelta.iceberg import DeleteEntry, Field, SnapshotFiles, TableHandle
    from rowdelta.read.key_bitmap import KeyBits


class DeletedKeysBuilder:
    """Builds the joins of one snapshot: by key columns, and separately for partitions and the whole table.

    Args:
        handle: The table.
        files: The snapshot.
        columns: The key columns by field id, under the names that `rows` gives them.
        rows: The frame to be filtered.
        partition_names: The name of each partition field in `_partition`, by field id.
        ages_matter: Whether some rows are younger than some deletes.
        as_bits: Whether to look keys up in a bitmap, where possible, rather than join with them.
    """

    def __init__(
        self,
        handle: TableHandle,
        files: SnapshotFiles,
        columns: dict[int, Field],
        rows: DataFrame,
        partition_names: dict[int, str],
        *,
        ages_matter: bool,
        as_bits: bool = False,
    ) -> None:
        self._handle = handle
        self._files = files
        self._columns = columns
        self._all_rows = rows
        self._aged = ages_matter
        self._as_bits = as_bits
        partition = rows.schema[PARTITION].dataType if PARTITION in rows.columns else T.StructType()
        assert isinstance(partition, T.StructType)
        self._scopes = ScopeColumns(handle.metadata.specs, partition, partition_names)
        self._scope_names = [f"{SIDE}spec_id", *(f"{SIDE}{name}" for name in self._scopes.get_casts())]
        self._scope_fields = [f"{PARTITION}.{quote(name)}" for name in self._scopes.fields]

    def check_scopes(self, entries: Sequence[DeleteEntry]) -> None:
        """Refuses partition values that the table cannot have, even if the deletes then apply to no row."""
        scopes = [find_scope(entry, self._handle.metadata.specs) for entry in entries]
        self._scopes.make_table([scope for scope in scopes if scope is not None])

    def build(self) -> list[DeletedKeys | KeyBits]:
        """Builds the joins, which are applied one after the other."""
        groups: dict[tuple[tuple[int, ...], bool], list[DeleteEntry]] = defaultdict(list)
        for entry in self._files.equality_deletes:
            scoped = find_scope(entry, self._handle.metadata.specs) is not None
            groups[tuple(sorted(entry.equality_ids)), scoped].append(entry)
        run_in_parallel(self._read_blob_metadata, [entry for entry in self._files.equality_deletes if entry.is_vector])
        joins: list[DeletedKeys | KeyBits] = []
        for (ids, scoped), entries in groups.items():
            columns = [self._columns[field_id] for field_id in ids]
            bits = len(columns) == 1 and is_integer(columns[0])
            integers: list[DeleteEntry] = []
            exact: list[DeleteEntry] = []
            for entry in entries:
                (integers if bits and not self._is_hashed(entry) else exact).append(entry)
            joins += self._join_integers(columns[0], integers, scoped=scoped) if integers else []
            joins += [self._join_exact(columns, exact, scoped=scoped)] if exact else []
        return joins

    def _is_hashed(self, entry: DeleteEntry) -> bool:
        return entry.is_vector and entry.encoding(self._read_blob_metadata(entry).type) is DeleteEncoding.HASH_MAP

    def _read_blob_metadata(self, entry: DeleteEntry) -> BlobMetadata:
        return read_only_blob_metadata(self._handle, entry.path, entry.file_size_in_bytes)

    def _join_integers(
        self, column: Field, entries: Sequence[DeleteEntry], *, scoped: bool
    ) -> Sequence[DeletedKeys | KeyBits]:
        """Joins integer keys: as bitmaps where they are dense, as plain values where they are sparse."""
        levels: dict[Scope | None, list[Level]] = defaultdict(list)
        for entry, keys in zip(entries, load_integer_keys(self._handle, self._files, entries, column), strict=True):
            scope = find_scope(entry, self._handle.metadata.specs)
            levels[scope].append(Level(entry.sequence_number, keys.keys, keys.has_null))
        merged = {scope: merge_levels(some, ages_matter=self._aged) for scope, some in levels.items()}
        nullable = any(keys.null_sequence_number is not None for keys in merged.values())
        key = write_integer_sql(column, column.sql)
        if self._as_bits and not (scoped or self._aged):
            bits = make_key_bits(self._handle.spark, merged[None].keys, key, with_null=nullable)
            if bits is not None:
                return [bits]
        dense = {scope: keys for scope, keys in merged.items() if keys.dense}
        sparse = {scope: keys for scope, keys in merged.items() if not keys.dense}
        fields = self._scope_fields if scoped else []
        joins = []
        if dense:
            probe = write_container_probe(key, nullable=nullable, scoped=[SPEC, *fields] if scoped else [])
            condition = write_container_condition(key, aged=self._aged, nullable=nullable)
            joins.append(self._make_join(dense, make_container_table, "container", probe, condition, scoped=scoped))
        if sparse:
            exact = combine_tests([f"{key} <=> {SIDE}key"]) + (f" AND {AGE} < {SIDE}age" if self._aged else "")
            probe = f"xxhash64({', '.join([key, *([SPEC, *fields] if scoped else [])])})"
            joins.append(self._make_join(sparse, make_value_table, "key", probe, exact, scoped=scoped))
        return joins

    def _make_join(
        self,
        keys: dict[Scope | None, MergedKeys],
        layout: Any,
        hashed: str,
        probe: str,
        condition: str,
        *,
        scoped: bool,
    ) -> DeletedKeys:
        tables = []
        for scope, merged in keys.items():
            table = layout(merged)
            if scope is not None:
                row = self._scopes.make_table([scope])
                for name in row.column_names:
                    repeated = pa.chunked_array([pa.repeat(row[name][0], len(table))], type=row[name].type)
                    table = table.append_column(name, repeated)
            tables.append(table)
        table = pa.concat_tables(tables)
        frame = make_frame_from_arrow(self._handle.spark, table)
        if scoped:
            frame = self._cast_scopes(frame)
        frame = frame.select(*(F.col(name).alias(f"{SIDE}{name}") for name in frame.columns))
        parts = [f"{SIDE}{hashed}", *(self._scope_names if scoped else [])]
        plain = hashed == "container" and not scoped
        frame = frame.withColumn(HASH, parse_column(parts[0] if plain else f"xxhash64({', '.join(parts)})"))
        if scoped:
            condition = f"({condition}) AND {write_scope_condition(self._scope_fields)}"
        size = table.nbytes if hashed == "container" else len(table) * BYTES_PER_VALUE
        return DeletedKeys(frame, probe, condition, size)

    def _cast_scopes(self, frame: DataFrame) -> DataFrame:
        return frame.withColumns(
            {name: F.col(name).cast(data_type) for name, data_type in self._scopes.get_casts().items()}
        )

    def _join_exact(self, columns: list[Field], entries: Sequence[DeleteEntry], *, scoped: bool) -> DeletedKeys:
        """Joins keys of any type: their hash finds them, and their values decide."""
        frames = []
        rows = [entry for entry in entries if not self._is_hashed(entry)]
        if rows:
            frames.append(self._read_rows(columns, rows, scoped=scoped))
        frames += [self._read_hash_map(columns, entry, scoped=scoped) for entry in entries if self._is_hashed(entry)]
        names = [f"{SIDE}k{index}" for index in range(len(columns))]
        types = [field.dataType for field in select_sql(self._all_rows, *(column.sql for column in columns)).schema]
        wanted = dict(zip(names, types, strict=True))
        frame = reduce(DataFrame.unionByName, [_cast_keys(frame, wanted) for frame in frames])
        scope_names = self._scope_names if scoped else []
        frame = frame.groupBy(*names, *scope_names).agg(F.max(f"{SIDE}age").alias(f"{SIDE}age"))
        frame = frame.withColumn(HASH, F.xxhash64(*names, *scope_names))
        scope_fields = [SPEC, *self._scope_fields] if scoped else []
        probe = f"xxhash64({', '.join([*(column.sql for column in columns), *scope_fields])})"
        same = [f"{column.sql} <=> {name}" for column, name in zip(columns, names, strict=True)]
        condition = [combine_tests(same), *([f"{AGE} < {SIDE}age"] if self._aged else [])]
        condition += [write_scope_condition(self._scope_fields)] if scoped else []
        size = sum(entry.record_count * (BYTES_PER_VALUE + 32 * len(columns)) for entry in entries)
        return DeletedKeys(frame, probe, " AND ".join(condition), size)

    def _read_rows(self, columns: list[Field], entries: Sequence[DeleteEntry], *, scoped: bool) -> DataFrame:
        frame = read_delete_keys(self._handle, self._files, entries, [column.id for column in columns])
        keys = [
            parse_column(find_column_path(self._handle, column.id)).alias(f"{SIDE}k{i}")
            for i, column in enumerate(columns)
        ]
        entry_facts = F.broadcast(self._describe_entries(entries, scoped=scoped))
        return (
            frame.select(*keys, F.col("_file").alias(f"{SIDE}file"))
            .join(entry_facts, f"{SIDE}file")
            .drop(f"{SIDE}file")
        )

    def _describe_entries(self, entries: Sequence[DeleteEntry], *, scoped: bool) -> DataFrame:
        """Makes a frame of the age and the partition of each delete file, by path."""
        table = pa.table(
            {
                "file": pa.array([entry.path for entry in entries], pa.string()),
                "age": pa.array([entry.sequence_number for entry in entries], pa.int64()),
            }
        )
        if scoped:
            scopes = [Scope(entry.spec_id, entry.partition) for entry in entries]
            columns = self._scopes.make_table(scopes)
            for name in columns.column_names:
                table = table.append_column(name, columns[name])
        frame = make_frame_from_arrow(self._handle.spark, table)
        frame = self._cast_scopes(frame) if scoped else frame
        return frame.select(*(F.col(name).alias(f"{SIDE}{name}") for name in frame.columns))

    def _read_hash_map(self, columns: list[Field], entry: DeleteEntry, *, scoped: bool) -> DataFrame:
        """Reads the exact keys of a hash map, whose columns are named by field id."""
        keys = load_hashed_keys(self._handle, entry, columns)
        frame = make_frame_from_arrow(self._handle.spark, keys)
        frame = frame.select(
            *(F.col(quote(name)).alias(f"{SIDE}k{index}") for index, name in enumerate(keys.column_names))
        )
        return frame.crossJoin(F.broadcast(self._describe_entries([entry], scoped=scoped).drop(f"{SIDE}file")))


def _cast_keys(keys: DataFrame, wanted: dict[str, T.DataType]) -> DataFrame:
    """Casts keys to the types of the rows: a column may have been widened, and hashes differ by type.

    A key that does not fit the type is in no row.
    """
    for name, have in [(field.name, field.dataType) for field in keys.schema]:
        want = wanted.get(name, have)
        if want != have:
            value = try_cast(F.col(name), want)
            keys = keys.where(F.col(name).isNull() | value.isNotNull()).withColumn(name, value)
    return keys
