"""Copies manifests and manifest lists with only some of their files."""

from __future__ import annotations

import copy
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rowdelta.encoding import FileContent
from rowdelta.iceberg.manifest_entries import DELETED, EQUALITY, EXISTING
from rowdelta.iceberg.scratch_files import find_scratch_folder

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rowdelta.iceberg.avro_file import AvroFile
    from rowdelta.iceberg.snapshot_contents import SnapshotFiles
    from rowdelta.iceberg.table_handle import TableHandle

_FIRST_ROW_ID: Final = {"name": "first_row_id", "type": ["null", "long"], "default": None, "field-id": 520}
_FIRST_ROW_ID_OF_FILE: Final = {**_FIRST_ROW_ID, "field-id": 142}


def copy_listing(handle: TableHandle, files: SnapshotFiles, only: AbstractSet[str] | None) -> AvroFile:
    """Copies the manifest list without equality deletes, and with row ids, so that Iceberg returns sequence numbers."""
    hidden = {entry.manifest_path for entry in files.equality_deletes}
    schema = copy.deepcopy(files.listing.schema)
    if all(column["name"] != "first_row_id" for column in schema["fields"]):
        schema["fields"].append(_FIRST_ROW_ID)
    records, next_row_id = [], 0
    for manifest in files.listing.records:
        if only is not None and manifest.get("content") and not _may_apply(handle, manifest, only):
            continue
        if manifest["manifest_path"] in hidden:
            copied = _copy_position_deletes(handle, manifest)
            if copied is not None:
                records.append(copied)
        elif manifest.get("content"):
            records.append(manifest)
        else:
            first_row_id = manifest.get("first_row_id")
            copied = manifest if only is None else _copy_data_files(handle, manifest, only)
            if copied is not None:
                records.append({**copied, "first_row_id": next_row_id if first_row_id is None else first_row_id})
            next_row_id += (manifest.get("added_rows_count") or 0) + (manifest.get("existing_rows_count") or 0)
    return replace(files.listing, schema=schema, records=records)


def _may_apply(handle: TableHandle, manifest: dict[str, Any], only: AbstractSet[str]) -> bool:
    """Whether a delete manifest has a delete that may apply to some data files."""
    referenced = (entry.referenced_data_file for entry in handle.manifests.read_deletes(manifest))
    return any(path is None or path in only for path in referenced)


def _copy_position_deletes(handle: TableHandle, manifest: dict[str, Any]) -> dict[str, Any] | None:
    """Copies a delete manifest with only its position deletes; None if it has none."""
    if all(entry.content is FileContent.EQUALITY for entry in handle.manifests.read_deletes(manifest)):
        return None
    avro = handle.manifests.read(manifest["manifest_path"])
    positions = [record for record in avro.records if record["data_file"]["content"] != EQUALITY]
    # Iceberg reads manifests when a query is planned, so this copy stays until the process ends.
    name = uuid.uuid5(handle.scratch.namespace, manifest["manifest_path"])
    location = f"{find_scratch_folder(handle)}/rowdelta-{name}-m0.avro"
    data = replace(avro, records=positions).to_bytes()
    handle.scratch.write(location, data)
    return {**manifest, "manifest_path": location, "manifest_length": len(data)}


def _copy_data_files(handle: TableHandle, manifest: dict[str, Any], only: AbstractSet[str]) -> dict[str, Any] | None:
    """Copies a data manifest, given as its record in the list, with some of its files; None if it has none."""
    live = handle.manifests.read_data(manifest)
    wanted = sum(entry.path in only for entry in live)
    if wanted in {0, len(live)}:
        return manifest if wanted else None
    first = manifest.get("first_row_id")
    avro = _add_row_ids(handle.manifests.read(manifest["manifest_path"]), first)
    numbers = {entry.path: entry.sequence_number for entry in live}
    selected = [
        # The copy is another manifest, so an entry cannot inherit its sequence numbers: they are written explicitly.
        {**record, "status": EXISTING, **_read_sequence_numbers(record, numbers[record["data_file"]["file_path"]])}
        for record in avro.records
        if record["status"] != DELETED and record["data_file"]["file_path"] in only
    ]
    paths = sorted(record["data_file"]["file_path"] for record in selected)
    name = uuid.uuid5(handle.scratch.namespace, "\n".join([manifest["manifest_path"], str(first), *paths]))
    location = f"{find_scratch_folder(handle)}/rowdelta-{name}-m0.avro"
    data = replace(avro, records=selected).to_bytes()
    handle.scratch.write(location, data, for_action=True)
    counts = {"added_files_count": 0, "existing_files_count": len(selected), "deleted_files_count": 0}
    return {**manifest, **counts, "manifest_path": location, "manifest_length": len(data)}


def _add_row_ids(avro: AvroFile, first: int | None) -> AvroFile:
    """Writes the first row id of each live file into a data manifest; in the original, the files inherit these ids.

    Args:
        avro: The manifest.
        first: The first id, from the manifest list; None if the rows have no ids.
    """
    if first is None:
        return avro
    schema = copy.deepcopy(avro.schema)
    (fields,) = (field["type"]["fields"] for field in schema["fields"] if field["name"] == "data_file")
    if all(field["name"] != "first_row_id" for field in fields):  # written before an upgrade to version 3
        fields.append(_FIRST_ROW_ID_OF_FILE)
    records = []
    for record in avro.records:
        file = record["data_file"]
        if record["status"] == DELETED or file.get("first_row_id") is not None:
            records.append(record)
        else:
            records.append({**record, "data_file": {**file, "first_row_id": first}})
            first += file["record_count"]
    return replace(avro, schema=schema, records=records)


def _read_sequence_numbers(record: dict[str, Any], sequence_number: int) -> dict[str, Any]:
    """Reads the sequence numbers of an entry, if its manifest has the fields."""
    names = [name for name in ("sequence_number", "file_sequence_number") if name in record]
    return {name: sequence_number if record[name] is None else record[name] for name in names}
