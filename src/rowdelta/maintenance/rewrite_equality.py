"""Rewrites equality deletes in another encoding, or several as one; their age stays the same."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from rowdelta.change import (
    HashedBatch,
    KeyInput,
    check_parquet,
    make_key_array,
    to_content_file,
    write_hashed,
    write_rows,
    write_vector,
)
from rowdelta.encoding import DeleteEncoding, FileContent
from rowdelta.iceberg import (
    ContentFile,
    NewDelete,
    RowChange,
    Validation,
    build_row_filter,
    find_column_path,
    read_delete_keys,
)
from rowdelta.maintenance.conflict_checks import combine_checks
from rowdelta.maintenance.equality_groups import choose_group_encoding, load_integer_batch, read_encoding
from rowdelta.maintenance.file_groups import measure_deletes
from rowdelta.maintenance.verify import build_row_check
from rowdelta.maintenance.verify_keys import build_key_check
from rowdelta.read import is_integer, load_hashed_keys
from rowdelta.spark import collect_arrow, make_frame_from_arrow, parse_column, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from rowdelta.iceberg import Field, SnapshotFiles, TableHandle
    from rowdelta.maintenance.equality_groups import EqualityGroup
    from rowdelta.maintenance.progress import Reporter


def stage_equality_rewrite(
    handle: TableHandle, files: SnapshotFiles, groups: Sequence[EqualityGroup], reporter: Reporter, *, verify: bool
) -> RowChange:
    """Writes a delete file for each group, and prepares the commit that replaces the old ones.

    The keys of old and new files are always compared before the commit; with `verify`, so are all visible rows.
    """
    new: list[NewDelete] = []
    try:
        for group in groups:
            new.append(_write_group(handle, files, group))
            reporter.finish_group(measure_deletes(group.entries))
    except BaseException:
        handle.io.discard([delete.file.path for delete in new])
        raise
    old = [to_content_file(handle, entry) for group in groups for entry in group.entries]
    checks = [build_key_check(files, groups, [delete.file.path for delete in new])]
    if verify:
        checks.append(build_row_check())
    validation = Validation(files.snapshot.id, build_row_filter(handle, None), further=combine_checks(checks))
    return RowChange(deletes=new, removed_deletes=old, validation=validation)


def _write_group(handle: TableHandle, files: SnapshotFiles, group: EqualityGroup) -> NewDelete:
    """Writes the delete file that replaces a group, of the same partition and age."""
    first = group.entries[0]
    spec = handle.metadata.specs[first.spec_id]
    keys = KeyInput(handle.spark.range(0).toDF("k0"), group.columns, spec, ())
    new = _write_file(handle, files, group, keys)
    old = to_content_file(handle, first)
    return replace(new, file=replace(new.file, partition=old.partition), sequence_number=first.sequence_number)


def _write_file(handle: TableHandle, files: SnapshotFiles, group: EqualityGroup, keys: KeyInput) -> NewDelete:
    if len(group.columns) == 1 and is_integer(group.columns[0]) and group.encoding is not DeleteEncoding.HASH_MAP:
        integers = load_integer_batch(handle, files, group.entries, group.columns[0])
        if group.encoding is DeleteEncoding.FULL_ROW:
            return write_rows(handle, keys, integers)
        choice = choose_group_encoding(handle, group, integers.statistics)
        assert choice is not None
        return write_vector(handle, keys, integers, choice)
    hashed = _collect_keys(handle, files, group)
    if group.encoding is DeleteEncoding.HASH_MAP:
        return write_hashed(handle, keys, hashed)
    return write_key_file(handle, group, hashed.keys)


def _collect_keys(handle: TableHandle, files: SnapshotFiles, group: EqualityGroup) -> HashedBatch:
    """Collects the distinct keys of a group, of any type, with Spark's hash of each."""
    ids = [str(column.id) for column in group.columns]
    frame = reduce(lambda one, other: one.unionByName(other), _read_keys(handle, files, group)).distinct()
    table = collect_arrow(frame.withColumn("hash", F.xxhash64(*(F.col(quote(name)) for name in ids))))
    return HashedBatch((), table.select(ids), table["hash"].to_numpy())


def _read_keys(handle: TableHandle, files: SnapshotFiles, group: EqualityGroup) -> list[DataFrame]:
    """Reads the keys of a group, one frame for each form of file, in columns named after field ids."""
    ids = [str(column.id) for column in group.columns]
    hashed = [entry for entry in group.entries if read_encoding(handle, entry) is DeleteEncoding.HASH_MAP]
    vectors = [entry for entry in group.entries if entry.is_vector and entry not in hashed]
    rows = [entry for entry in group.entries if not entry.is_vector]
    tables = [load_hashed_keys(handle, entry, group.columns) for entry in hashed]
    if vectors:
        integers = load_integer_batch(handle, files, vectors, group.columns[0])
        tables.append(pa.table({ids[0]: make_key_array(integers, group.columns[0])}))
    types = {str(column.id): _find_spark_type(handle, column) for column in group.columns}
    # A column may have been widened since, and hashes differ by type.
    casts = [F.col(quote(name)).cast(spark_type).alias(name) for name, spark_type in types.items()]
    frames = [make_frame_from_arrow(handle.spark, table).select(*casts) for table in tables]
    if rows:
        read = read_delete_keys(handle, files, rows, [column.id for column in group.columns])
        paths = [find_column_path(handle, column.id) for column in group.columns]
        frames.append(read.select(*(parse_column(path).alias(name) for path, name in zip(paths, ids, strict=True))))
    return frames


def _find_spark_type(handle: TableHandle, column: Field) -> DataType:
    spark_type: DataType = handle.column_types
    for name in column.path:
        assert isinstance(spark_type, StructType)
        spark_type = spark_type[name].dataType
    return spark_type


def write_key_file(handle: TableHandle, group: EqualityGroup, keys: pa.Table) -> NewDelete:
    """Writes a standard equality delete file of any key, sorted."""
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
