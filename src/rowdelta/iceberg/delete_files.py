"""Lists the live delete files of a snapshot, with the number of data files that each may still apply to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from rowdelta.iceberg.delete_index import DeleteFileIndex, build_delete_index
from rowdelta.iceberg.puffin_footers import read_only_blob_metadata
from rowdelta.spark import format_value, make_frame_from_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.encoding import DeleteEncoding
    from rowdelta.iceberg.live_files import LiveDelete
    from rowdelta.iceberg.manifest_entries import DeleteEntry
    from rowdelta.iceberg.metadata import TableMetadata
    from rowdelta.iceberg.table_handle import TableHandle

SCHEMA: Final = pa.schema(
    {
        "path": pa.string(),
        "content": pa.string(),
        "encoding": pa.string(),
        "records": pa.int64(),
        "bytes": pa.int64(),
        "sequence": pa.int64(),
        "partition": pa.string(),
        "applies_to": pa.int64(),
        "dangling": pa.bool_(),
        "format": pa.string(),
        "key": pa.list_(pa.string()),
        "referenced_data_file": pa.string(),
        "content_offset": pa.int64(),
        "spec_id": pa.int32(),
        "snapshot_id": pa.int64(),
    }
)


def list_delete_files(handle: TableHandle, snapshot_id: int | None = None) -> DataFrame:
    """Lists the live delete files of a snapshot (default: the head of the handle's branch).

    Columns: `path`, `content` (position or equality), `encoding`, `records`, `bytes` (of the blob where several share
    a file), `sequence`, `partition` (null: not bound to one), `applies_to` (data files that may hold a matching row, by
    metadata alone), `dangling` (there is none), then `format`, `key` (equality columns), `referenced_data_file`,
    `content_offset`, `spec_id` and `snapshot_id`.
    """
    snapshot = handle.snapshot(snapshot_id)
    inventory = DeleteFileIndex(handle.metadata, [], []) if snapshot is None else build_delete_index(handle, snapshot)
    rows = [
        _make_row(handle, delete, len(matched))
        for delete, matched in zip(inventory.deletes, inventory.match_files(), strict=True)
    ]
    rows.sort(key=lambda row: (row["sequence"], row["path"], row["content_offset"] or 0))
    return make_frame_from_arrow(handle.spark, pa.Table.from_pylist(rows, SCHEMA))


def _make_row(handle: TableHandle, delete: LiveDelete, applies_to: int) -> dict[str, Any]:
    entry = delete.entry
    return {
        "path": entry.path,
        "content": entry.content.value,
        "encoding": read_encoding(handle, entry).shown(entry.content),
        "records": entry.record_count,
        "bytes": delete.size_in_bytes,
        "sequence": entry.sequence_number,
        "partition": format_partition(handle.metadata, entry.spec_id, entry.partition),
        "applies_to": applies_to,
        "dangling": applies_to == 0,
        "format": entry.file_format.lower(),
        "key": _list_key_names(handle.metadata, entry),
        "referenced_data_file": entry.referenced_data_file,
        "content_offset": entry.content_offset,
        "spec_id": entry.spec_id,
        "snapshot_id": delete.snapshot_id,
    }


def read_encoding(handle: TableHandle, entry: DeleteEntry) -> DeleteEncoding:
    """Reads the encoding of a delete file; if its manifest no longer has it, from the footer of the Puffin file."""
    unknown = entry.is_vector and entry.encoding_id is None
    return entry.encoding(
        read_only_blob_metadata(handle, entry.path, entry.file_size_in_bytes).type if unknown else None
    )


def format_partition(metadata: TableMetadata, spec_id: int, partition: tuple[Any, ...]) -> str | None:
    """`region=EU/day=2024-01-01`, with the fields of the file's own spec; None if the spec has none."""
    spec = metadata.specs[spec_id]
    if spec.is_unpartitioned:
        return None
    parts = zip(spec.fields, metadata.partition_types[spec_id], partition, strict=True)
    return "/".join(f"{part.name}={format_value(type_name, value)}" for part, type_name, value in parts)


def _list_key_names(metadata: TableMetadata, entry: DeleteEntry) -> list[str] | None:
    """Lists the names of the equality columns; the id of a dropped column."""
    columns = metadata.schema.by_id
    return [columns[i].name if i in columns else f"#{i}" for i in entry.equality_ids] or None
