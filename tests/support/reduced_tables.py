"""Completes reduced tables: fills in the metadata that Java's reader needs but the test does not.

The adversarial tables of pgcolumnar have manifests without field ids, and their metadata lacks most required fields.
Here they get the Avro schemas and the metadata of the Iceberg spec. Of the existing values, only paths and file sizes
change.
"""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq

from tests.support.golden import GOLDEN, cases
from tests.support.golden_tables import move_parquet_position_deletes

OLD_LOCATION = "/tmp/pgc_ice_del/db/t"
UUID = "00000000-0000-4000-8000-000000000000"
_MANIFEST = {
    "manifest_path": ("string", 500),
    "manifest_length": ("long", 501),
    "partition_spec_id": ("int", 502),
    "content": ("int", 517),
    "sequence_number": ("long", 515),
    "min_sequence_number": ("long", 516),
    "added_snapshot_id": ("long", 503),
    "added_files_count": ("int", 504),
    "existing_files_count": ("int", 505),
    "deleted_files_count": ("int", 506),
    "added_rows_count": ("long", 512),
    "existing_rows_count": ("long", 513),
    "deleted_rows_count": ("long", 514),
}
_OPTIONAL_IDS = ["null", {"type": "array", "items": "int", "element-id": 136}]


def variants() -> dict[str, dict[str, Any]]:
    """The adversarial tables and what is expected of each; empty without the golden data."""
    return {name: fact for case in cases("iceberg-adversarial") for name, fact in case["checked"]["variants"].items()}


def install_variant(name: str, warehouse: Path, namespace: str = "adversarial") -> str:
    """Completes one of the adversarial tables inside a warehouse and returns its name, `namespace.table`."""
    (case,) = cases("iceberg-adversarial")
    source = GOLDEN / case["local"] / "db" / "t"
    target = warehouse / namespace / name
    if not target.exists():
        shutil.copytree(source / "data", target / "data")
        for path in target.rglob("*.parquet"):
            move_parquet_position_deletes(path, lambda value: value.replace(OLD_LOCATION, str(target)))
        document = _load(source / "metadata" / f"{name}.metadata.json", target)
        (snapshot,) = document["snapshots"]
        listing = read_avro(source / "metadata" / snapshot["manifest-list"].rpartition("/")[2], target)
        manifests = [
            (record, read_avro(source / "metadata" / record["manifest_path"].rpartition("/")[2], target))
            for record in listing
        ]
        write_table(target, document, manifests)
    return f"{namespace}.{name}"


def _load(path: Path, target: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text().replace(OLD_LOCATION, str(target)))
    return loaded


def read_avro(path: Path, target: Path) -> list[dict[str, Any]]:
    """The records of an Avro file, their paths moved."""
    with path.open("rb") as file:
        records: list[Any] = list(fastavro.reader(file))
    moved: list[dict[str, Any]] = json.loads(json.dumps(records).replace(OLD_LOCATION, str(target)))
    return moved


def write_table(
    folder: Path, document: dict[str, Any], manifests: list[tuple[dict[str, Any], list[dict[str, Any]]]]
) -> None:
    """Writes the metadata of a table with one snapshot, whose manifests are given by list record and entries."""
    document = _complete(document)
    (snapshot,) = document["snapshots"]
    metadata = folder / "metadata"
    metadata.mkdir(parents=True, exist_ok=True)
    specs = {spec["spec-id"]: spec for spec in document["partition-specs"]}
    records = []
    for index, (record, entries) in enumerate(manifests):
        spec = specs.get(record.get("partition_spec_id"), specs[document["default-spec-id"]])
        data = _manifest(document, spec, record, entries)
        path = metadata / f"{index}-m0.avro"
        path.write_bytes(data)
        records.append({**record, "manifest_path": str(path), "manifest_length": len(data)})
    listing = metadata / f"snap-{snapshot['snapshot-id']}.avro"
    listing.write_bytes(_listing(document, records))
    snapshot["manifest-list"] = str(listing)
    (metadata / "v1.metadata.json").write_text(json.dumps(document))
    (metadata / "version-hint.text").write_text("1")


def write_file_table(folder: Path, column: str, data: Path, position_deletes: Path) -> None:
    """Writes the metadata of a version 2 table of one LONG column, one data file and one position delete file."""
    schema = {"schema-id": 0, "type": "struct", "fields": [_column(1, column)]}
    snapshot = {"snapshot-id": 1, "sequence-number": 1, "timestamp-ms": 0, "summary": {"operation": "overwrite"}}
    document = {
        "format-version": 2,
        "location": str(folder),
        "schemas": [schema],
        "current-schema-id": 0,
        "snapshots": [{**snapshot, "schema-id": 0}],
        "current-snapshot-id": 1,
    }
    write_table(folder, document, [_added(0, data), _added(1, position_deletes)])


def _column(field_id: int, name: str) -> dict[str, Any]:
    return {"id": field_id, "name": name, "required": False, "type": "long"}


def _added(content: int, path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A manifest of one Parquet file that the first snapshot added."""
    count = pq.read_metadata(path).num_rows
    record = dict.fromkeys(_MANIFEST, 0) | {
        "content": content,
        "sequence_number": 1,
        "min_sequence_number": 1,
        "added_snapshot_id": 1,
        "added_files_count": 1,
        "added_rows_count": count,
    }
    file = {"content": content, "file_path": str(path), "file_format": "PARQUET", "record_count": count}
    return record, [{"status": 1, "data_file": file}]


def _complete(document: dict[str, Any]) -> dict[str, Any]:
    version = document["format-version"]
    specs = document.get("partition-specs", [{"spec-id": 0, "fields": []}])
    snapshots = [
        {**snapshot, **({"first-row-id": 0, "added-rows": 0} if version > 2 else {})}
        for snapshot in document["snapshots"]
    ]
    return {
        "table-uuid": UUID,
        "last-updated-ms": 0,
        "last-column-id": max(field["id"] for schema in document["schemas"] for field in schema["fields"]),
        "default-spec-id": 0,
        "last-partition-id": 1000,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "last-sequence-number": max(snapshot["sequence-number"] for snapshot in document["snapshots"]),
        "properties": {},
        **({"next-row-id": 1000} if version > 2 else {}),
        **document,
        "partition-specs": specs,
        "snapshots": snapshots,
    }


def _field(name: str, kind: Any, field_id: int) -> dict[str, Any]:
    default = {"default": None} if isinstance(kind, list) else {}
    return {"name": name, "type": kind, "field-id": field_id, **default}


def _manifest(
    document: dict[str, Any], spec: dict[str, Any], record: dict[str, Any], entries: list[dict[str, Any]]
) -> bytes:
    partitions = [entry["data_file"].get("partition") for entry in entries]
    file_fields = [
        _field("content", "int", 134),
        _field("file_path", "string", 100),
        _field("file_format", "string", 101),
        _field("partition", {"type": "record", "name": "r102", "fields": _partition_fields(spec, partitions)}, 102),
        _field("record_count", "long", 103),
        _field("file_size_in_bytes", "long", 104),
        _field("equality_ids", _OPTIONAL_IDS, 135),
        _field("referenced_data_file", ["null", "string"], 143),
        _field("content_offset", ["null", "long"], 144),
        _field("content_size_in_bytes", ["null", "long"], 145),
    ]
    fields = [
        _field("status", "int", 0),
        _field("snapshot_id", ["null", "long"], 1),
        _field("sequence_number", ["null", "long"], 3),
        _field("file_sequence_number", ["null", "long"], 4),
        _field("data_file", {"type": "record", "name": "r2", "fields": file_fields}, 2),
    ]
    schema = next(known for known in document["schemas"] if known["schema-id"] == document["current-schema-id"])
    extra = {
        "schema": json.dumps(schema),
        "schema-id": str(schema["schema-id"]),
        "partition-spec": json.dumps(spec.get("fields", [])),
        "partition-spec-id": str(spec["spec-id"]),
        "format-version": str(document["format-version"]),
        "content": "deletes" if record["content"] else "data",
    }
    return _avro("manifest_entry", fields, [_entry(document, entry, spec) for entry in entries], extra)


def _partition_fields(spec: dict[str, Any], partitions: list[dict[str, Any] | None]) -> list[dict[str, Any]]:
    """The partition's fields under the names and types of the values that are there, which may not be the spec's."""
    given = next((partition for partition in partitions if partition), None)
    names = list(given) if given else [part["name"] for part in spec.get("fields", [])]
    fields = []
    for name, part in zip(names, spec.get("fields", []), strict=False):
        kind = "double" if given and isinstance(given[name], float) else "string"
        fields.append(_field(name, ["null", kind], part["field-id"]))
    return fields


def _entry(document: dict[str, Any], entry: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    file = {"partition": dict.fromkeys(part["name"] for part in spec.get("fields", [])), **entry["data_file"]}
    size = _size(file["file_path"], document["location"])
    return {
        "snapshot_id": document["current-snapshot-id"],
        "sequence_number": None,
        "file_sequence_number": entry.get("sequence_number"),
        **entry,
        "data_file": {**file, "file_size_in_bytes": file["file_size_in_bytes"] if size is None else size},
    }


def _size(path: str, location: str) -> int | None:
    file = Path(path.removeprefix("file://"))
    return file.stat().st_size if path.startswith(location) and file.exists() else None


def _listing(document: dict[str, Any], records: list[dict[str, Any]]) -> bytes:
    fields = [
        # A missing value stays missing: its field becomes nullable.
        _field(name, ["null", kind] if any(record.get(name) is None for record in records) else kind, field_id)
        for name, (kind, field_id) in _MANIFEST.items()
    ]
    if document["format-version"] > 2:
        fields.append(_field("first_row_id", ["null", "long"], 520))
        records = [{**record, "first_row_id": None if record["content"] else 0} for record in records]
    return _avro("manifest_file", fields, records, {"format-version": str(document["format-version"])})


def _avro(name: str, fields: list[dict[str, Any]], records: list[dict[str, Any]], metadata: dict[str, str]) -> bytes:
    out = io.BytesIO()
    schema = {"type": "record", "name": name, "fields": fields}
    fastavro.writer(out, schema, records, codec="deflate", metadata=metadata)
    return out.getvalue()
