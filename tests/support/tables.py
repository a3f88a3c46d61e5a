"""Small Iceberg tables for tests: creates, changes and inspects them with as few Spark jobs as possible."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64
from pyspark.sql import types as T  # noqa: N812

import rowdelta as rd
from rowdelta.codec import Blob, PuffinWriter, encode_deletion_vector
from rowdelta.encoding import FileContent
from rowdelta.iceberg import ContentFile, read_snapshot_files
from rowdelta.iceberg.content_files import from_java, to_java
from rowdelta.spark import make_frame_from_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.iceberg import DeleteEntry

VECTORS = {
    "write.delete.equality-vector.enabled": "true",
    "write.delete.equality-vector.codecs": "int,date,timestamp-micros,long-signed",
    "write.delete.equality-vector.max-sparsity": "1000000000000000000",
    "write.delete.hash-map.enabled": "true",
}
EDV = {"write.delete.equality-vector.enabled": "true"}


def create(
    spark: SparkSession,
    name: str,
    columns: str,
    partitioned_by: str = "",
    *,
    version: int = 3,
    properties: Mapping[str, str] | None = None,
) -> rd.Table:
    """Creates a table with merge-on-read deletes, in which deletes by key are written as keys by default."""
    settings = {
        "format-version": str(version),
        "write.delete.mode": "merge-on-read",
        "write.upsert.resolve": "false",
        **(properties or {}),
    }
    listed = ", ".join(f"'{key}'='{value}'" for key, value in settings.items())
    parts = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
    spark.sql(f"CREATE TABLE {name} ({columns}) USING iceberg {parts} TBLPROPERTIES ({listed})")
    return rd.table(spark, name)


def set_properties(spark: SparkSession, name: str, **properties: str) -> None:
    """Sets table properties; underscores stand for dots and double underscores for dashes."""
    named = {key.replace("__", "-").replace("_", "."): value for key, value in properties.items()}
    listed = ", ".join(f"'{key}'='{value}'" for key, value in named.items())
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({listed})")


def append_ids(spark: SparkSession, name: str, ids: Iterable[int], text: str = "v") -> None:
    """Appends rows (id, text) to a table of these two columns."""
    one_file(spark, [(i, text) for i in ids], "id bigint, v string").writeTo(name).append()


def one_file(spark: SparkSession, rows: Sequence[tuple[Any, ...]], schema: str) -> DataFrame:
    """A local frame that is written as one file."""
    return make_frame(spark, rows, schema).coalesce(1)


def keys(spark: SparkSession, *ids: int | None, column: str = "id") -> DataFrame:
    """A frame of long keys."""
    return make_frame(spark, [(i,) for i in ids], f"`{column}` bigint")


# PySpark evaluates a list of rows in Python processes, which takes 0.1 s each time. Arrow takes a tenth of that.
_QUICK_TYPES: dict[T.DataType, pa.DataType] = {
    T.LongType(): pa.int64(),
    T.IntegerType(): pa.int32(),
    T.StringType(): pa.string(),
    T.BooleanType(): pa.bool_(),
}


def make_frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]], schema: str) -> DataFrame:
    """A frame of rows, without Python processes if its columns have simple types."""
    columns = _read_schema(spark, schema)
    quick = all(field.nullable and field.dataType in _QUICK_TYPES for field in columns)
    if not quick or not rows or len(set(columns.names)) < len(columns):
        return spark.createDataFrame(list(rows), schema)
    arrays = [
        pa.array(values, _QUICK_TYPES[field.dataType])
        for field, values in zip(columns, zip(*rows, strict=True), strict=True)
    ]
    return make_frame_from_arrow(spark, pa.table(arrays, names=columns.names))


_schemas: dict[str, T.StructType] = {}


def _read_schema(spark: SparkSession, schema: str) -> T.StructType:
    if schema not in _schemas:
        _schemas[schema] = spark.createDataFrame([], schema).schema
    return _schemas[schema]


def plan_of(frame: DataFrame) -> str:
    """The physical plan as text."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


def head(table: rd.Table) -> int | None:
    """The snapshot id of the branch, from refreshed metadata."""
    found = table.refresh().metadata.head(table.branch)
    return None if found is None else found.id


def stored_files(table: rd.Table) -> set[str]:
    """Every file in the table's folder, without checksums and metadata versions of the catalog."""
    folder = Path(table.metadata.location)
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in {".crc", ".text"} and not path.name.endswith(".metadata.json")
    }


def added_files(table: rd.Table) -> list[ContentFile]:
    """The data files that the newest snapshot added, ready to be added to another table."""
    java = table.refresh()._handle.java_table
    snapshot = java.currentSnapshot()
    files = [from_java(table._handle, file) for file in snapshot.addedDataFiles(java.io())]
    return [replace(file, first_row_id=None) for file in files]


def append_files(table: rd.Table, files: Iterable[ContentFile], *, merge: bool = False) -> None:
    """Appends existing files without a Spark job; `merge` merges manifests, as Spark's appends do."""
    java = table.refresh()._handle.java_table
    append = java.newAppend() if merge else java.newFastAppend()
    for file in files:
        append.appendFile(to_java(table._handle, file))
    append.commit()
    table._handle.spark.catalog.refreshTable(table.name)


def delete_positions(table: rd.Table, positions: Mapping[str, Sequence[int]], files: Iterable[ContentFile]) -> None:
    """Commits deletes of positions through Iceberg: deletion vectors on version 3, files of positions on version 2."""
    version = table.refresh().metadata.format_version
    wanted = [file for file in files if file.path in positions]
    assert len(wanted) == len(positions)
    deletes = _vectors(table, positions, wanted) if version > 2 else _position_files(table, positions, wanted)
    delta = table._handle.java_table.newRowDelta()
    for file in deletes:
        delta.addDeletes(to_java(table._handle, file))
    delta.commit()
    table._handle.spark.catalog.refreshTable(table.name)


def _vectors(table: rd.Table, positions: Mapping[str, Sequence[int]], files: list[ContentFile]) -> list[ContentFile]:
    writer = PuffinWriter(created_by="test")
    placed = []
    for file in files:
        bitmap = BitMap64(sorted(positions[file.path]))
        properties = {"referenced-data-file": file.path, "cardinality": str(len(bitmap))}
        blob = Blob("deletion-vector-v1", encode_deletion_vector(bitmap), fields=(2147483645,), properties=properties)
        placed.append((file, len(bitmap), writer.add(blob)))
    data = writer.finish()
    path = _write(table, data, "puffin")
    return [
        ContentFile(
            path=path,
            file_format="PUFFIN",
            record_count=count,
            file_size_in_bytes=len(data),
            content=FileContent.POSITION,
            spec_id=file.spec_id,
            partition=file.partition,
            referenced_data_file=file.path,
            content_offset=blob.offset,
            content_size_in_bytes=blob.length,
        )
        for file, count, blob in placed
    ]


def _position_files(
    table: rd.Table, positions: Mapping[str, Sequence[int]], files: list[ContentFile]
) -> list[ContentFile]:
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": "2147483546"}),
            pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "2147483545"}),
        ]
    )
    found = []
    for file in files:
        rows = sorted(positions[file.path])
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table([[file.path] * len(rows), rows], schema=schema), sink)
        data = sink.getvalue().to_pybytes()
        found.append(
            ContentFile(
                path=_write(table, data, "parquet"),
                file_format="PARQUET",
                record_count=len(rows),
                file_size_in_bytes=len(data),
                content=FileContent.POSITION,
                spec_id=file.spec_id,
                partition=file.partition,
            )
        )
    return found


def _write(table: rd.Table, data: bytes, suffix: str) -> str:
    path = table._handle.new_data_location(f"{uuid.uuid4()}-positions.{suffix}")
    table._handle.io.write(path, data)
    return path


def live_vectors(table: rd.Table) -> list[DeleteEntry]:
    """The equality delete vectors of a branch. A vector whose offset another writer dropped has no `content_offset`."""
    snapshot = table.refresh().metadata.head(table.branch)
    assert snapshot is not None
    files = read_snapshot_files(table._handle, snapshot)
    assert files is not None
    return [entry for entry in files.equality_deletes if entry.is_vector]


def remove_equality_deletes(table: rd.Table, at_most: int | None = None) -> int:
    """Removes equality deletes of the main branch with Iceberg's own RowDelta, and returns their number."""
    iceberg, java = table._handle.gateway.iceberg, table.refresh()._handle.java_table
    delta, count = java.newRowDelta(), 0
    for manifest in java.currentSnapshot().deleteManifests(java.io()):
        reader = iceberg.ManifestFiles.readDeleteManifest(manifest, java.io(), java.specs())
        entries = reader.iterator()
        while entries.hasNext():
            file = entries.next()
            if file.content().name() == "EQUALITY_DELETES" and count != at_most:
                delta.removeDeletes(file.copy())
                count += 1
        reader.close()
    delta.commit()
    return count
