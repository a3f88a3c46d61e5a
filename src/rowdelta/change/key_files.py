"""Writes keys to delete files, in each encoding."""

from __future__ import annotations

import struct
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rowdelta.change.read_back import check_parquet, check_stored_keys
from rowdelta.codec import (
    HASH_BLOB_TYPE,
    Blob,
    BytesSource,
    EqualityDeleteVector,
    PuffinWriter,
    bitmap_from_sorted,
    encode_equality_vector_file,
    encode_hash_map,
    get_codec,
    read_blob,
    read_puffin,
)
from rowdelta.encoding import DeleteEncoding, FileContent
from rowdelta.iceberg import ContentFile, NewDelete, stage_key_files
from rowdelta.read import INTEGER_TYPES
from rowdelta.spark import convert_to_json_values, select_sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rowdelta.change.key_batches import HashedBatch, IntegerBatch
    from rowdelta.change.key_input import KeyInput
    from rowdelta.encoding import EncodingChoice
    from rowdelta.iceberg import Field, TableHandle

CREATED_BY: Final = "rowdelta"
Metric = TypeVar("Metric")


def write_vector(handle: TableHandle, keys: KeyInput, batch: IntegerBatch, choice: EncodingChoice) -> NewDelete:
    """Writes an equality delete vector: one blob in its own Puffin file."""
    column, spec = keys.columns[0], keys.spec
    codec = choice.codec or "long"
    vector = EqualityDeleteVector(
        field_id=column.id,
        bitmap=bitmap_from_sorted(get_codec(codec).encode(batch.keys)),
        codec=codec,
        compression=choice.compression or "roaring",
        contains_null=batch.has_null,
        partition_spec_id=-1 if spec.is_unpartitioned else spec.id,
    )
    return _write(
        handle, keys, batch, encode_equality_vector_file(vector, created_by=CREATED_BY), DeleteEncoding.DELETION_VECTOR
    )


def make_key_array(batch: IntegerBatch, column: Field) -> pa.Array:
    """Makes values of the column from the keys of a batch, with a null last."""
    arrow_type = INTEGER_TYPES[column.type_name]
    values = pa.array(batch.keys).cast(pa.int32() if arrow_type.bit_width == 32 else pa.int64()).cast(arrow_type)  # noqa: PLR2004
    return pa.concat_arrays([values, pa.nulls(1, arrow_type)]) if batch.has_null else values


def write_rows(handle: TableHandle, keys: KeyInput, batch: IntegerBatch) -> NewDelete:
    """Writes integer keys to a standard equality delete file: sorted, distinct and delta-encoded."""
    column = keys.columns[0]
    values = make_key_array(batch, column)
    id_of = {"PARQUET:field_id": str(column.id)}
    schema = pa.schema([pa.field(column.name, values.type, nullable=not column.required, metadata=id_of)])
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table([values], schema=schema),
        sink,
        compression="zstd",
        use_dictionary=False,
        column_encoding="DELTA_BINARY_PACKED",
        store_schema=False,
    )
    return _write(handle, keys, batch, sink.getvalue().to_pybytes(), DeleteEncoding.FULL_ROW)


def _write(
    handle: TableHandle, keys: KeyInput, batch: IntegerBatch, data: bytes, encoding: DeleteEncoding
) -> NewDelete:
    column = keys.columns[0]
    file_format, suffix = ("PARQUET", "parquet") if encoding is DeleteEncoding.FULL_ROW else ("PUFFIN", "puffin")
    path = handle.new_data_location(f"{uuid.uuid4()}-equality-deletes.{suffix}")
    count = len(batch.keys) + batch.has_null
    bounds = (
        [{column.id: _encode_bound(column, int(batch.keys[at]))} for at in (0, -1)] if len(batch.keys) else [None, None]
    )
    file = ContentFile(
        path=path,
        file_format=file_format,
        record_count=count,
        file_size_in_bytes=len(data),
        content=FileContent.EQUALITY,
        spec_id=keys.spec.id,
        partition=_get_partition(handle, keys, batch),
        value_counts={column.id: count},
        null_value_counts={column.id: int(batch.has_null)},
        lower_bounds=bounds[0],
        upper_bounds=bounds[1],
        equality_ids=[column.id],
    )
    if file_format == "PUFFIN":
        file = _add_blob_place(handle, file, keys.columns, data)
    else:
        check_parquet(file, data)
    handle.io.write(path, data)
    return NewDelete(file, encoding)


def _add_blob_place(handle: TableHandle, file: ContentFile, columns: Sequence[Field], data: bytes) -> ContentFile:
    """Adds the place of the blob. Iceberg requires a data file for every Puffin delete: the file itself serves."""
    written = read_puffin(BytesSource(data))
    (blob,) = written.blobs
    check_stored_keys(file, columns, blob, read_blob(BytesSource(data), blob))
    handle.puffin_footers.put(file.path, written)
    return replace(file, content_offset=blob.offset, content_size_in_bytes=blob.length, referenced_data_file=file.path)


def _get_partition(handle: TableHandle, keys: KeyInput, batch: IntegerBatch | HashedBatch) -> list[Any]:
    return convert_to_json_values(handle.metadata.partition_types.get(keys.spec.id, ()), batch.partition)


def _encode_bound(column: Field, value: int) -> bytes:
    return struct.pack("<i" if column.type_name in {"int", "date"} else "<q", value)


def write_hashed(handle: TableHandle, keys: KeyInput, batch: HashedBatch) -> NewDelete:
    """Writes keys of any type as a hash map: a bitmap of their hashes, and the keys themselves."""
    ids = [column.id for column in keys.columns]
    payload = encode_hash_map(batch.hashes, batch.keys)
    properties = {
        "equality-field-ids": ",".join(map(str, ids)),
        "cardinality": str(batch.keys.num_rows),
        "partition-spec-id": str(-1 if keys.spec.is_unpartitioned else keys.spec.id),
        "encoding": DeleteEncoding.HASH_MAP.value,
    }
    writer = PuffinWriter(created_by=CREATED_BY)
    writer.add(Blob(HASH_BLOB_TYPE, payload, fields=tuple(ids), properties=properties))
    data = writer.finish()
    path = handle.new_data_location(f"{uuid.uuid4()}-equality-deletes.puffin")
    file = ContentFile(
        path=path,
        file_format="PUFFIN",
        record_count=batch.keys.num_rows,
        file_size_in_bytes=len(data),
        content=FileContent.EQUALITY,
        spec_id=keys.spec.id,
        partition=_get_partition(handle, keys, batch),
        equality_ids=ids,
    )
    file = _add_blob_place(handle, file, keys.columns, data)
    handle.io.write(path, data)
    return NewDelete(file, DeleteEncoding.HASH_MAP)


def stage_key_rows(handle: TableHandle, keys: KeyInput) -> list[NewDelete]:
    """Writes keys of any type to standard equality delete files, sorted and distinct, with Iceberg's own writer."""
    ids = [column.id for column in keys.columns]
    carried = list(dict.fromkeys([*keys.columns, *keys.sources]))
    names = [f"k{ids.index(c.id)}" if c.id in ids else f"s{keys.sources.index(c)}" for c in carried]
    order = [*keys.partition_names, *keys.key_names]
    frame = keys.frame.select(*dict.fromkeys([*names, *order])).distinct().orderBy(*order)
    in_table_order = sorted(zip(carried, names, strict=True), key=lambda pair: _find_position(handle, pair[0]))
    frame = select_sql(frame, *(f"{name} as {column.sql}" for column, name in in_table_order))
    properties = {"write.format.default": "parquet", "write.parquet.compression-codec": "zstd"}
    staged = stage_key_files(handle, frame, [column.id for column in carried], keys.spec.id, properties)
    return [NewDelete(_make_equality_delete(file, ids), DeleteEncoding.FULL_ROW) for file in staged]


def _find_position(handle: TableHandle, column: Field) -> int:
    return [field.id for field in handle.metadata.schema.fields].index(column.id)


def _make_equality_delete(file: ContentFile, ids: list[int]) -> ContentFile:
    """Makes a delete of a staged file, with the metrics of its key alone.

    Iceberg skips a delete file if the filter of a query excludes its bounds. The values of other columns must not
    count: they only determined the partition.
    """
    return replace(
        file,
        content=FileContent.EQUALITY,
        equality_ids=ids,
        sort_order_id=None,
        first_row_id=None,
        column_sizes=_select_key_metrics(file.column_sizes, ids),
        value_counts=_select_key_metrics(file.value_counts, ids),
        null_value_counts=_select_key_metrics(file.null_value_counts, ids),
        nan_value_counts=_select_key_metrics(file.nan_value_counts, ids),
        lower_bounds=_select_key_metrics(file.lower_bounds, ids),
        upper_bounds=_select_key_metrics(file.upper_bounds, ids),
    )


def _select_key_metrics(metric: Mapping[int, Metric] | None, ids: list[int]) -> dict[int, Metric] | None:
    return None if metric is None else {field_id: value for field_id, value in metric.items() if field_id in ids}


def estimate_full_size(handle: TableHandle, records: int) -> int | None:
    """Estimates delete files with whole rows from the average row of the table; None for an empty table."""
    head = handle.snapshot()
    summary: dict[str, Any] = head.summary if head is not None else {}
    rows, size = int(summary.get("total-records", 0)), int(summary.get("total-files-size", 0))
    return int(np.ceil(size / rows * records)) if rows else None
