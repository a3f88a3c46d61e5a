"""Copies of manifests and manifest lists that name some of their files only."""

from __future__ import annotations

import copy
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rowdelta.encoding import FileContent
from rowdelta.iceberg.manifest_entries import DELETED, EQUALITY, EXISTING
from rowdelta.iceberg.scratch_files import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rowdelta.iceberg.avro_file import AvroFile
    from rowdelta.iceberg.snapshot_contents import SnapshotFiles
    from rowdelta.iceberg.table_handle import TableHandle

_FIRST_ROW_ID: Final = {"name": "first_row_id", "type": ["null", "long"], "default": None, "field-id": 520}
_FIRST_ROW_ID_OF_FILE: Final = {**_FIRST_ROW_ID, "field-id": 142}


def copy_listing(handle: TableHandle, files: SnapshotFiles, only: AbstractSet[str] | None) -> AvroFile:
    """The manifest list without equality deletes, and with the row ids that make Iceberg give out sequence numbers."""
    hidden = {entry.manifest_path for entry in files.equality_deletes}
    schema = copy.deepcopy(files.listing.schema)
    if all(known["name"] != "first_row_id" for known in schema["fields"]):
        schema["fields"].append(_FIRST_ROW_ID)
    records, next_row_id = [], 0
    for manifest in files.listing.records:
        if manifest["manifest_path"] in hidden:
            kept = _without_equality(handle, manifest)
            if kept is not None:
                records.append(kept)
        elif manifest.get("content"):
            records.append(manifest)
        else:
            known = manifest.get("first_row_id")
            kept = manifest if only is None else with_some_files(handle, manifest, only)
            if kept is not None:
                records.append({**kept, "first_row_id": next_row_id if known is None else known})
            next_row_id += (manifest.get("added_rows_count") or 0) + (manifest.get("existing_rows_count") or 0)
    return replace(files.listing, schema=schema, records=records)


def _without_equality(handle: TableHandle, manifest: dict[str, Any]) -> dict[str, Any] | None:
    """A copy of a delete manifest with its position deletes alone; None when it has none."""
    if all(entry.content is FileContent.EQUALITY for entry in handle.manifests.deletes(manifest)):
        return None
    avro = handle.manifests.read(manifest["manifest_path"])
    kept = [record for record in avro.records if record["data_file"]["content"] != EQUALITY]
    # Iceberg reads manifests when a query is planned, so this copy stays as long as the process.
    name = uuid.uuid5(handle.scratch.namespace, manifest["manifest_path"])
    location = f"{scratch_folder(handle)}/rowdelta-{name}-m0.avro"
    data = replace(avro, records=kept).to_bytes()
    handle.scratch.keep(location, data)
    return {**manifest, "manifest_path": location, "manifest_length": len(data)}


def with_some_files(handle: TableHandle, manifest: dict[str, Any], only: AbstractSet[str]) -> dict[str, Any] | None:
    """A data manifest, given as its record in the manifest list, with some of its files; None when it has none."""
    live = handle.manifests.data(manifest)
    wanted = sum(entry.path in only for entry in live)
    if wanted in {0, len(live)}:
        return manifest if wanted else None
    first = manifest.get("first_row_id")
    avro = _with_row_ids(handle.manifests.read(manifest["manifest_path"]), first)
    numbers = {entry.path: entry.sequence_number for entry in live}
    kept = [
        # What an entry inherits from its manifest is written out: the copy is of another manifest.
        {**record, "status": EXISTING, **_numbers(record, numbers[record["data_file"]["file_path"]])}
        for record in avro.records
        if record["status"] != DELETED and record["data_file"]["file_path"] in only
    ]
    paths = sorted(record["data_file"]["file_path"] for record in kept)
    name = uuid.uuid5(handle.scratch.namespace, "\n".join([manifest["manifest_path"], str(first), *paths]))
    location = f"{scratch_folder(handle)}/rowdelta-{name}-m0.avro"
    data = replace(avro, records=kept).to_bytes()
    handle.scratch.keep(location, data, passing=True)
    counts = {"added_files_count": 0, "existing_files_count": len(kept), "deleted_files_count": 0}
    return {**manifest, **counts, "manifest_path": location, "manifest_length": len(data)}


def _with_row_ids(avro: AvroFile, first: int | None) -> AvroFile:
    """A data manifest whose live files say the id of their first row, which they inherit one after the other.

    Args:
        avro: The manifest.
        first: The id that it starts from, as the manifest list says; None where its rows have none.
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


def _numbers(record: dict[str, Any], sequence_number: int) -> dict[str, Any]:
    """The sequence numbers of an entry, where its manifest has the fields."""
    names = [name for name in ("sequence_number", "file_sequence_number") if name in record]
    return {name: sequence_number if record[name] is None else record[name] for name in names}
