"""Every live delete file of a snapshot as a DataFrame, with the data files that it can still apply to.

All of it comes from Iceberg's `entries` metadata table inside Spark: a few passes over the manifests for each set of
key columns, whatever the number of files. The rules are those of Iceberg's delete index: sequence numbers, partition
scope, paths, bounds.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from rowdelta.encoding import DeleteEncoding
from rowdelta.iceberg.arrow import arrow_frame
from rowdelta.iceberg.manifests import DELETE_FILE_PATH_ID
from rowdelta.iceberg.puffin_footers import blob_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg.handle import TableHandle
    from rowdelta.iceberg.metadata import Field, PartitionSpec

COLUMNS = (
    "path",
    "content",
    "encoding",
    "records",
    "bytes",
    "sequence",
    "partition",
    "applies_to",
    "dangling",
    "format",
    "key",
    "referenced_data_file",
    "content_offset",
    "spec_id",
    "snapshot_id",
)
SCHEMA = (
    "path string, content string, encoding string, records bigint, bytes bigint, sequence bigint, partition string, "
    "applies_to bigint, dangling boolean, format string, key array<string>, referenced_data_file string, "
    "content_offset bigint, spec_id int, snapshot_id bigint"
)


def list_delete_files(handle: TableHandle, snapshot_id: int | None = None) -> DataFrame:
    """The live delete files of a snapshot (default: the head of the handle's branch).

    Columns: `path`, `content` (position or equality), `encoding`, `records`, `bytes` (of the blob where several share
    a file), `sequence`, `partition` (null: not bound to one), `applies_to` (data files that may hold a matching row, by
    metadata alone), `dangling` (there is none), then `format`, `key` (equality columns), `referenced_data_file`,
    `content_offset`, `spec_id` and `snapshot_id`.

    Iceberg's metadata tables do not show a partition field whose source column has been dropped. Its value is `?` then,
    and `applies_to` counts the files of all its values: too many, never too few.
    """
    snapshot = handle.snapshot(snapshot_id)
    if snapshot is None:
        return handle.spark.createDataFrame([], SCHEMA)
    entries = handle.gateway.metadata_table(handle.full_name, "entries", snapshot.id).where("status < 2")
    file = F.col("data_file")
    shown = _shown_partition_fields(entries)
    # Iceberg leaves the column out where it would have no field.
    partition = file["partition"] if shown else F.lit("")
    entries = entries.select(
        "snapshot_id",
        F.col("sequence_number").alias("sequence"),
        "readable_metrics",
        *(file[name].alias(name) for name in ("content", "file_path", "file_format", "spec_id")),
        partition.alias("partition"),
        *(file[name].alias(name) for name in ("record_count", "file_size_in_bytes", "equality_ids")),
        *(file[name].alias(name) for name in ("referenced_data_file", "content_offset", "content_size_in_bytes")),
        _path_bound(file["lower_bounds"]).alias("path_low"),
        _path_bound(file["upper_bounds"]).alias("path_high"),
    )
    deletes = entries.where("content > 0").withColumn(
        "target", F.expr("coalesce(referenced_data_file, if(path_low = path_high, decode(path_low, 'utf-8'), null))")
    )
    deletes = deletes.withColumn("id", F.struct("file_path", "content_offset", "referenced_data_file"))
    data = entries.where("content = 0").select("file_path", "spec_id", "partition", "sequence", "readable_metrics")
    counted = _counts(handle, deletes, data)
    found = deletes.join(counted, "id", "left").join(_encodings(handle, deletes), "file_path", "left")
    return found.select(*_output(handle, shown)).orderBy("sequence", "path", "content_offset")


def _shown_partition_fields(entries: DataFrame) -> frozenset[str]:
    file: Any = entries.schema["data_file"].dataType
    return frozenset(file["partition"].dataType.names if "partition" in file.names else ())


def _path_bound(bounds: Column) -> Column:
    return bounds[F.lit(DELETE_FILE_PATH_ID)]


def _output(handle: TableHandle, shown_partition_fields: frozenset[str]) -> list[Column]:
    is_vector = F.expr("content = 1 and file_format = 'PUFFIN'")
    applies_to = F.coalesce("applies", F.lit(0).cast("long"))
    columns = {
        "path": F.col("file_path"),
        "content": F.when(F.col("content") == 1, "position").otherwise("equality"),
        "encoding": F.when(is_vector, DeleteEncoding.DELETION_VECTOR.value).otherwise(
            F.coalesce("encoding", F.lit(DeleteEncoding.FULL_ROW.value))
        ),
        "records": F.col("record_count"),
        "bytes": F.coalesce("content_size_in_bytes", "file_size_in_bytes"),
        "sequence": F.col("sequence"),
        "partition": _partition_text(handle.metadata.specs, shown_partition_fields),
        "applies_to": applies_to,
        "dangling": applies_to == 0,
        "format": F.lower("file_format"),
        "key": _key_names(handle.metadata.schema.by_id),
        "referenced_data_file": F.col("target"),
        "content_offset": F.col("content_offset"),
        "spec_id": F.col("spec_id"),
        "snapshot_id": F.col("snapshot_id"),
    }
    return [columns[name].alias(name) for name in COLUMNS]


def _partition_text(specs: dict[int, PartitionSpec], shown: frozenset[str]) -> Column:
    """`region=EU/day=2024-01-01`, with the fields of the file's own spec; null where the spec has none."""
    # Iceberg shows one column per field id, named as the newest spec names it.
    names = {part.field_id: part.name for _, spec in sorted(specs.items()) for part in spec.fields}
    text = F.lit(None).cast("string")
    for spec in specs.values():
        if not spec.is_unpartitioned:
            parts = [
                F.concat(F.lit(f"{part.name}="), _partition_value(names[part.field_id], shown)) for part in spec.fields
            ]
            text = F.when(F.col("spec_id") == spec.id, F.concat_ws("/", *parts)).otherwise(text)
    return text


def _partition_value(name: str, shown: frozenset[str]) -> Column:
    return F.coalesce(F.col("partition")[name].cast("string"), F.lit("null")) if name in shown else F.lit("?")


def _key_names(columns: dict[int, Field]) -> Column:
    """The names of the equality columns; a dropped column shows as its id."""
    known = F.create_map(*(F.lit(part) for column in columns.values() for part in (column.id, column.name)))
    return F.transform("equality_ids", lambda i: F.coalesce(known[i], F.concat(F.lit("#"), i.cast("string"))))


def _encodings(handle: TableHandle, deletes: DataFrame) -> DataFrame:
    """Path and encoding of the equality deletes in Puffin files: only their footers tell what they hold."""
    rows = deletes.where("content = 2 and file_format = 'PUFFIN'").select("file_path", "file_size_in_bytes").distinct()
    sizes = {row.file_path: row.file_size_in_bytes for row in rows.collect()}
    labels = [DeleteEncoding.infer("PUFFIN", blob_type(handle, path, size)).value for path, size in sizes.items()]
    table = pa.table({"file_path": pa.array(list(sizes), pa.string()), "encoding": pa.array(labels, pa.string())})
    return F.broadcast(arrow_frame(handle.spark, table))


def _counts(handle: TableHandle, deletes: DataFrame, data: DataFrame) -> DataFrame:
    """How many data files each delete may apply to."""
    metadata = handle.metadata
    vectors = deletes.where("content = 1 and file_format = 'PUFFIN'").select(F.col("target").alias("file_path"))
    d, f = deletes.alias("d"), data.alias("f")
    no_vector = data.join(vectors, "file_path", "left_anti").alias(
        "f"
    )  # a DV replaces the position deletes of its file
    same_partition = F.expr("d.spec_id = f.spec_id AND d.partition <=> f.partition")
    by_path = F.expr("d.target = f.file_path AND f.sequence <= d.sequence")
    pairs = [
        d.where("content = 1 AND file_format = 'PUFFIN'").join(f, by_path),
        d.where("content = 1 AND file_format <> 'PUFFIN' AND target IS NOT NULL").join(no_vector, by_path),
        d.where("content = 1 AND target IS NULL").join(no_vector, same_partition & F.expr("f.sequence <= d.sequence")),
    ]
    global_specs = [spec.id for spec in metadata.specs.values() if spec.is_unpartitioned]
    key_sets = [tuple(row.equality_ids) for row in d.where("content = 2").select("equality_ids").distinct().collect()]
    for key in key_sets:
        of_key = d.where("content = 2").where(F.col("equality_ids") == F.array(*map(F.lit, key)))
        applies = reduce(
            lambda condition, field_id: condition & _may_match(metadata.schema.by_id.get(field_id)),
            key,
            F.expr("f.sequence < d.sequence"),
        )
        # Each pair is one more pass over the manifests, so none is made for specs that the table does not have.
        if global_specs:
            pairs.append(of_key.where(F.col("d.spec_id").isin(global_specs)).join(F.broadcast(f), applies))
        if len(global_specs) < len(metadata.specs):
            pairs.append(of_key.where(~F.col("d.spec_id").isin(global_specs)).join(f, same_partition & applies))
    matched = reduce(lambda left, right: left.unionAll(right), (pair.select("d.id") for pair in pairs))
    return matched.groupBy("id").agg(F.count("*").alias("applies"))


def _may_match(column: Field | None) -> Column:
    """Whether bounds and null counts of a column allow a common value; a dropped or nested column always may."""
    if column is None or not isinstance(column.type, str):
        return F.lit(True)
    d, f = (F.col(f"{side}.readable_metrics")[column.name] for side in ("d", "f"))
    d_nulls, f_nulls = d["null_value_count"], f["null_value_count"]
    if column.required:
        both_null = data_null_only = delete_null_only = F.lit(False)
    else:
        both_null = (F.coalesce(d_nulls, F.lit(1)) > 0) & (F.coalesce(f_nulls, F.lit(1)) > 0)
        data_null_only = (f_nulls == f["value_count"]) & (d_nulls == 0)
        delete_null_only = (d_nulls == d["value_count"]) & (f_nulls == 0)
    disjoint = (f["lower_bound"] > d["upper_bound"]) | (d["lower_bound"] > f["upper_bound"])
    never = F.coalesce(data_null_only, F.lit(False)) | F.coalesce(delete_null_only, F.lit(False))
    return both_null | ~(never | F.coalesce(disjoint, F.lit(False)))
