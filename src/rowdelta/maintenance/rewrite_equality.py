"""Equality deletes written anew in another encoding, or several as one; their age stays what it was."""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from rowdelta.change import (
    HashedBatch,
    IntegerBatch,
    KeyInput,
    as_content_file,
    check_parquet,
    key_values,
    write_hashed,
    write_rows,
    write_vector,
)
from rowdelta.codec import sorted_distinct
from rowdelta.encoding import BatchStatistics, DeleteBatch, DeleteEncoding, FileContent, KeyColumn, choose_encoding
from rowdelta.errors import EncodingError
from rowdelta.iceberg import ContentFile, NewDelete, column_path, delete_rows, footer
from rowdelta.read import hashed_integers, is_integer, load_hashed_keys, load_integer_keys
from rowdelta.spark import arrow_frame, quote, sql_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql.types import DataType

    from rowdelta.encoding import EncodingChoice
    from rowdelta.iceberg import DeleteEntry, Field, SnapshotFiles, TableHandle

# Arrow holds and writes these as Iceberg's Parquet files have them.
_PLAIN: Final = ("int", "long", "date", "timestamp", "timestamptz", "string", "binary", "boolean")


@dataclass(frozen=True)
class EqualityGroup:
    """Equality deletes of one key, one partition and one age, which may be one file."""

    entries: tuple[DeleteEntry, ...]
    columns: tuple[Field, ...]
    encoding: DeleteEncoding


class EqualityRewrite:
    """Plans and writes the equality deletes of one snapshot anew.

    Args:
        handle: The table.
        files: The snapshot.
        target: The encoding to write; None keeps the one that is there.
        min_input_files: So many deletes of one key, partition and age are worth merging where the encoding stays.
    """

    def __init__(
        self, handle: TableHandle, files: SnapshotFiles, target: DeleteEncoding | None, min_input_files: int
    ) -> None:
        self._handle = handle
        self._files = files
        self._target = target
        self._min_input_files = min_input_files
        self.skipped: list[str] = []

    def groups(self, entries: Iterable[DeleteEntry]) -> list[EqualityGroup]:
        """What would be written anew; the reasons against the rest are in `skipped`."""
        by_place: dict[Any, list[tuple[DeleteEntry, DeleteEncoding]]] = defaultdict(list)
        for entry in entries:
            encoding = self._encoding(entry)
            target = self._target or encoding
            ids = tuple(sorted(entry.equality_ids))
            place = (entry.sequence_number, entry.spec_id, repr(entry.partition), ids, target)
            by_place[place].append((entry, encoding))
        found = []
        for (*_, ids, target), members in by_place.items():
            some = tuple(entry for entry, _ in members)
            if all(encoding is target for _, encoding in members) and len(some) < self._min_input_files:
                continue
            columns = [self._handle.metadata.schema.by_id.get(field_id) for field_id in ids]
            known = tuple(column for column in columns if column is not None)
            reason = self._reason(known, len(ids), target, members)
            if reason is None:
                found.append(EqualityGroup(some, known, target))
            else:
                self.skipped.append(f"{some[0].path}: {reason}")
        return found

    def _encoding(self, entry: DeleteEntry) -> DeleteEncoding:
        blobs = footer(self._handle, entry.path, entry.file_size_in_bytes).blobs if entry.is_vector else ()
        return entry.encoding(blobs[0].type if blobs else None)

    def _reason(
        self, columns: tuple[Field, ...], count: int, target: DeleteEncoding, members: Sequence[Any]
    ) -> str | None:
        """Why deletes cannot be written in an encoding; None where they can."""
        if len(columns) < count:
            return "a key column has been dropped"
        single = count == 1 and is_integer(columns[0])
        if target is DeleteEncoding.DELETION_VECTOR and not single:
            return "only one integer column fits into a vector"
        inner = [column.name for column in columns if len(column.path) > 1]
        if target is DeleteEncoding.FULL_ROW and inner:
            return f"key {inner[0]!r} is inside a struct, which cannot be written outside of Spark"
        if target is DeleteEncoding.FULL_ROW and not single:
            odd = [column for column in columns if not _is_plain(column)]
            if odd:
                return f"column {odd[0].name!r} of type {odd[0].type_name} cannot be written outside of Spark"
        try:
            self._choice(target, columns, self._statistics(columns, members, target))
        except EncodingError as error:
            return error.message
        return None

    def _statistics(self, columns: tuple[Field, ...], members: Sequence[Any], target: DeleteEncoding) -> Any:
        if target is DeleteEncoding.DELETION_VECTOR:
            return self._integers([entry for entry, _ in members], columns[0]).statistics
        return None

    def _choice(self, target: DeleteEncoding, columns: tuple[Field, ...], statistics: Any) -> EncodingChoice | None:
        """How a vector is written; the table's properties have a say."""
        if target is DeleteEncoding.FULL_ROW:
            return None
        if statistics is None:
            statistics = BatchStatistics(0)
        keys = tuple(KeyColumn(column.name, column.type_name, column.required) for column in columns)
        metadata = self._handle.metadata
        batch = DeleteBatch(FileContent.EQUALITY, metadata.format_version, statistics, keys, metadata.properties)
        return choose_encoding(batch, encoding=target.value)

    def write(self, group: EqualityGroup) -> NewDelete:
        """Writes the delete that takes the place of a group."""
        first = group.entries[0]
        spec = self._handle.metadata.specs[first.spec_id]
        keys = KeyInput(self._handle.spark.range(0).toDF("k0"), group.columns, spec, ())
        new = self._write(group, keys)
        place = as_content_file(self._handle, first)
        return replace(new, file=replace(new.file, partition=place.partition), sequence_number=first.sequence_number)

    def _write(self, group: EqualityGroup, keys: KeyInput) -> NewDelete:
        if len(group.columns) == 1 and is_integer(group.columns[0]) and group.encoding is not DeleteEncoding.HASH_MAP:
            batch = self._integers(group.entries, group.columns[0])
            if group.encoding is DeleteEncoding.FULL_ROW:
                return write_rows(self._handle, keys, batch)
            choice = self._choice(group.encoding, group.columns, batch.statistics)
            assert choice is not None
            return write_vector(self._handle, keys, batch, choice)
        exact = self._exact(group)
        if group.encoding is DeleteEncoding.HASH_MAP:
            return write_hashed(self._handle, keys, exact)
        return _write_keys(self._handle, group, exact.keys)

    def _integers(self, entries: Sequence[DeleteEntry], column: Field) -> IntegerBatch:
        plain = [entry for entry in entries if self._encoding(entry) is not DeleteEncoding.HASH_MAP]
        found = load_integer_keys(self._handle, self._files, plain, column) if plain else []
        for entry in entries:
            if entry not in plain:
                found.append(hashed_integers(self._handle, entry, column))
        has_null = any(keys.has_null for keys in found)
        return IntegerBatch((), sorted_distinct(np.concatenate([keys.keys for keys in found])), has_null)

    def _exact(self, group: EqualityGroup) -> HashedBatch:
        """The distinct keys of a group, of any type, with Spark's hash of each."""
        ids = [str(column.id) for column in group.columns]
        hashed = [entry for entry in group.entries if self._encoding(entry) is DeleteEncoding.HASH_MAP]
        vectors = [entry for entry in group.entries if entry.is_vector and entry not in hashed]
        rows = [entry for entry in group.entries if not entry.is_vector]
        tables = [load_hashed_keys(self._handle, entry, group.columns) for entry in hashed]
        if vectors:
            tables.append(pa.table({ids[0]: key_values(self._integers(vectors, group.columns[0]), group.columns[0])}))
        kinds = {str(column.id): _spark_type(self._handle, column) for column in group.columns}
        frames = [
            # A column may have been widened since, and hashes differ by type.
            arrow_frame(self._handle.spark, table).select(
                *(F.col(quote(name)).cast(kind).alias(name) for name, kind in kinds.items())
            )
            for table in tables
        ]
        if rows:
            read = delete_rows(self._handle, self._files, rows, [column.id for column in group.columns])
            paths = [column_path(self._handle, column.id) for column in group.columns]
            frames.append(read.select(*(sql_column(path).alias(name) for path, name in zip(paths, ids, strict=True))))
        frame = reduce(lambda one, other: one.unionByName(other), frames).distinct()
        table = frame.withColumn("hash", F.xxhash64(*(F.col(quote(name)) for name in ids))).toArrow()
        return HashedBatch((), table.select(ids), table["hash"].to_numpy())


def _spark_type(handle: TableHandle, column: Field) -> DataType:
    kind: DataType = handle.column_types
    for name in column.path:
        assert isinstance(kind, StructType)
        kind = kind[name].dataType
    return kind


def _is_plain(column: Field) -> bool:
    return column.type_name in _PLAIN or column.type_name.startswith("decimal")


def _write_keys(handle: TableHandle, group: EqualityGroup, keys: pa.Table) -> NewDelete:
    """A standard equality delete file of any key, sorted."""
    fields = [
        pa.field(
            column.name,
            keys.schema.field(str(column.id)).type,
            nullable=not column.required,
            metadata={"PARQUET:field_id": str(column.id)},
        )
        for column in group.columns
    ]
    table = keys.sort_by([(name, "ascending") for name in keys.column_names]).cast(
        pa.schema([pa.field(name, part.type) for name, part in zip(keys.column_names, fields, strict=True)])
    )
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(table.columns, schema=pa.schema(fields)), sink, compression="zstd", store_schema=False)
    data = sink.getvalue().to_pybytes()
    file = ContentFile(
        path=handle.new_data_location(f"{uuid.uuid4()}-equality-deletes.parquet"),
        file_format="PARQUET",
        record_count=len(table),
        file_size_in_bytes=len(data),
        content=FileContent.EQUALITY,
        spec_id=group.entries[0].spec_id,
        value_counts={column.id: len(table) for column in group.columns},
        null_value_counts={column.id: table[str(column.id)].null_count for column in group.columns},
        equality_ids=[column.id for column in group.columns],
    )
    check_parquet(file, data)
    handle.io.write(file.path, data)
    return NewDelete(file, DeleteEncoding.FULL_ROW)
