"""Reads the rows of delete files with Iceberg's own reader, as if the files were data.

The files become the only data files of a table that exists only in memory: its schema is the key columns, with the
field ids of the real table, so that renamed, promoted and missing columns read as the Iceberg spec says.
"""

from __future__ import annotations

import copy
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import TableError
from rowdelta.iceberg.in_memory_table import make_static_table, read_java_table
from rowdelta.iceberg.metadata_document import MetadataDocument
from rowdelta.iceberg.scratch_files import find_scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from rowdelta.iceberg.manifest_entries import DeleteEntry
    from rowdelta.iceberg.snapshot_contents import SnapshotFiles
    from rowdelta.iceberg.table_handle import TableHandle

_KEPT: Final = ("file_path", "file_format", "record_count", "file_size_in_bytes", "split_offsets", "key_metadata")
_POSITION_FIELDS: Final[list[dict[str, Any]]] = [
    {"id": 2147483546, "name": "file_path", "required": False, "type": "string"},
    {"id": 2147483545, "name": "pos", "required": False, "type": "long"},
]


def read_delete_keys(
    handle: TableHandle, files: SnapshotFiles, entries: Sequence[DeleteEntry], field_ids: Iterable[int]
) -> DataFrame:
    """Reads the keys in some equality delete files, and the metadata column `_file`, which names the file.

    Args:
        handle: The table.
        files: The snapshot that has the entries.
        entries: The delete files.
        field_ids: The key columns. All of them are optional in the frame: a file without one of them reads as null.
    """
    return _read_rows(handle, files, entries, _prune_fields(_list_fields(handle), set(field_ids)))


def read_positions(handle: TableHandle, files: SnapshotFiles, entries: Sequence[DeleteEntry]) -> DataFrame:
    """Reads the `file_path` and `pos` in some position delete files."""
    return _read_rows(handle, files, entries, _POSITION_FIELDS)


def _read_rows(
    handle: TableHandle, files: SnapshotFiles, entries: Sequence[DeleteEntry], fields: list[dict[str, Any]]
) -> DataFrame:
    wanted = {entry.path for entry in entries}
    manifests = {entry.manifest_path for entry in entries}
    records = []
    for manifest in files.listing.records:
        if manifest["manifest_path"] in manifests:
            location, size, count = _write_data_manifest(handle, manifest["manifest_path"], wanted)
            records.append(_make_list_record(manifest, location, size, count))
    listing = replace(files.listing, records=records)
    return read_java_table(handle, make_static_table(handle, _describe_files(handle, files, fields), listing))


def _list_fields(handle: TableHandle) -> list[dict[str, Any]]:
    """Lists every top-level column that the table has or had, as in the current or else the newest schema."""
    document = handle.document
    schemas = sorted(
        document["schemas"], key=lambda s: (s["schema-id"] == document["current-schema-id"], s["schema-id"])
    )
    newest = {column["id"]: column for schema in schemas for column in schema["fields"]}
    return list(newest.values())


def _prune_fields(fields: list[dict[str, Any]], wanted: set[int]) -> list[dict[str, Any]]:
    """Keeps the fields of some ids and the structs around them: optional, without defaults, under unique names."""
    pruned = []
    for column in fields:
        inner = column["type"]
        if column["id"] in wanted:
            pruned.append({"id": column["id"], "name": f"f{column['id']}", "required": False, "type": inner})
        elif isinstance(inner, dict) and inner["type"] == "struct":
            nested = _prune_fields(inner["fields"], wanted)
            if nested:
                struct = {"type": "struct", "fields": nested}
                pruned.append({"id": column["id"], "name": f"f{column['id']}", "required": False, "type": struct})
    return pruned


def find_column_path(handle: TableHandle, field_id: int) -> str:
    """Writes the SQL of a key column in the frame of `read_delete_keys`."""
    path = _find_path(_list_fields(handle), field_id)
    if path is None:
        raise TableError(
            f"no schema of {handle.name} has a column with id {field_id}", hint="an equality delete names it"
        )
    return ".".join(path)


def _find_path(fields: list[dict[str, Any]], field_id: int) -> list[str] | None:
    for column in fields:
        if column["id"] == field_id:
            return [f"f{field_id}"]
        if isinstance(column["type"], dict) and column["type"]["type"] == "struct":
            inner = _find_path(column["type"]["fields"], field_id)
            if inner is not None:
                return [f"f{column['id']}", *inner]
    return None


def _write_data_manifest(handle: TableHandle, path: str, wanted: set[str]) -> tuple[str, int, int]:
    """Writes a data manifest with some delete files of a delete manifest; returns its location, size and file count."""
    avro = handle.manifests.read(path)
    schema = copy.deepcopy(avro.schema)
    data_file = next(column for column in schema["fields"] if column["name"] == "data_file")["type"]
    partition = next(column for column in data_file["fields"] if column["name"] == "partition")
    partition["type"]["fields"] = []
    names = [column["name"] for column in data_file["fields"]]
    records = [
        {**record, "status": 1, "data_file": _convert_to_data(record["data_file"], names)}
        for record in avro.records
        if record["data_file"]["file_path"] in wanted
    ]
    metadata = {**avro.metadata, "content": "data", "partition-spec": "[]", "partition-spec-id": "0"}
    data = replace(avro, schema=schema, records=records, metadata=metadata).to_bytes()
    name = uuid.uuid5(handle.scratch.namespace, f"{path}#{sorted(wanted)}")
    location = f"{find_scratch_folder(handle)}/rowdelta-{name}-m0.avro"
    handle.scratch.write(location, data)
    return location, len(data), len(records)


def _convert_to_data(file: dict[str, Any], names: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {name: file.get(name) if name in _KEPT else None for name in names}
    return values | {"content": 0, "partition": {}}


def _make_list_record(manifest: dict[str, Any], location: str, size: int, count: int) -> dict[str, Any]:
    return {
        **manifest,
        "manifest_path": location,
        "manifest_length": size,
        "partition_spec_id": 0,
        "content": 0,
        "partitions": None,
        "added_files_count": count,
        "existing_files_count": 0,
        "deleted_files_count": 0,
    }


def _describe_files(handle: TableHandle, files: SnapshotFiles, fields: Sequence[Mapping[str, Any]]) -> MetadataDocument:
    """Builds the metadata of an unpartitioned table with these columns and only this snapshot."""
    document = MetadataDocument(handle.document).set_format_version(2).replace_schemas(fields).remove_partitioning()
    return document.keep_snapshot(handle.read_snapshot_document(files.snapshot.id))
