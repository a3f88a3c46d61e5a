"""The shadow of a snapshot: the same table without its equality deletes, read by Iceberg's own reader.

Nothing is committed. In memory, the snapshot has a manifest list without the manifests that hold equality deletes.
Push-down, pruning, position deletes, deletion vectors and metadata columns all work as ever.
"""

from __future__ import annotations

import copy
import json
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from rowdelta.encoding import FileContent
from rowdelta.iceberg.manifests import DELETED, EQUALITY, EXISTING, AvroFile, DataEntry, DeleteEntry
from rowdelta.iceberg.partitions import partition_names
from rowdelta.iceberg.pushdown import has_null_partitions, with_unpartitioned_spec
from rowdelta.iceberg.scratch_files import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rowdelta.iceberg.metadata import Field, Snapshot, TableMetadata
    from rowdelta.iceberg.table_handle import TableHandle

ROW_LINEAGE_VERSION: Final = 3
_FIRST_ROW_ID: Final = {"name": "first_row_id", "type": ["null", "long"], "default": None, "field-id": 520}
_FIRST_ROW_ID_OF_FILE: Final = {**_FIRST_ROW_ID, "field-id": 142}


@dataclass(frozen=True)
class SnapshotFiles:
    """The manifests of a snapshot, and its deletes. `is_committed` says that they are those of its own list."""

    snapshot: Snapshot
    listing: AvroFile
    position_deletes: tuple[DeleteEntry, ...]
    equality_deletes: tuple[DeleteEntry, ...]
    is_committed: bool = False

    @property
    def has_row_ids(self) -> bool:
        """Whether rows have ids of their own; not on version 2, nor after an upgrade until the next commit."""
        data = [manifest for manifest in self.listing.records if not manifest.get("content")]
        return all(manifest.get("first_row_id") is not None for manifest in data)

    def count(self, what: str) -> int | None:
        """How many live data `files` or `rows` there are, deleted ones too; None where a manifest does not say."""
        manifests = [manifest for manifest in self.listing.records if not manifest.get("content")]
        counts = [manifest.get(f"{kind}_{what}_count") for manifest in manifests for kind in ("added", "existing")]
        known = [int(count) for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def young_files(self, handle: TableHandle) -> list[DataEntry]:
        """The data files that are not older than every equality delete: only for these does the age of a row matter."""
        oldest = min(entry.sequence_number for entry in self.equality_deletes)
        young = [
            manifest
            for manifest in self.listing.records
            if not manifest.get("content") and (manifest.get("sequence_number") or 0) >= oldest
        ]
        handle.manifests.fetch(young, parsed=True)
        entries = [entry for manifest in young for entry in handle.manifests.data(manifest)]
        return [entry for entry in entries if entry.sequence_number >= oldest]


@dataclass(frozen=True)
class Shadow:
    """A frame with every metadata column, and the name of each partition field in its `_partition`, by field id."""

    frame: DataFrame
    partition_names: dict[int, str]


def snapshot_files(handle: TableHandle, snapshot: Snapshot) -> SnapshotFiles | None:
    """What a snapshot holds; None for an old one of format version 1, which has no manifest list and no deletes."""
    if snapshot.manifest_list is None:
        return None
    return replace(files_of(handle, snapshot, handle.manifests.read(snapshot.manifest_list)), is_committed=True)


def files_of(handle: TableHandle, snapshot: Snapshot, listing: AvroFile) -> SnapshotFiles:
    """A snapshot with this manifest list, which need not be the one that it was committed with."""
    manifests = [manifest for manifest in listing.records if manifest.get("content")]
    handle.manifests.fetch(manifests, parsed=True)
    deletes = [entry for manifest in manifests for entry in handle.manifests.deletes(manifest)]
    positions = tuple(entry for entry in deletes if entry.content is FileContent.POSITION)
    equality = tuple(entry for entry in deletes if entry.content is FileContent.EQUALITY)
    return SnapshotFiles(snapshot, listing, positions, equality)


def shadow(
    handle: TableHandle,
    files: SnapshotFiles,
    schema_id: int,
    extra_fields: list[Field],
    only: AbstractSet[str] | None = None,
) -> Shadow:
    """The snapshot without its equality deletes.

    Args:
        handle: The table.
        files: The snapshot.
        schema_id: The schema to read with.
        extra_fields: Dropped columns that the schema has as well, under the names given. Partition fields that are made
            of them are in `_partition`.
        only: The data files to read; all of them when left out.

    Every metadata column is there. Where there are equality deletes, `_last_updated_sequence_number` is, too, also on a
    version 2 table, where it is the data sequence number of the row's file.
    """
    state = handle.state
    nulls = has_null_partitions(state.metadata.specs, files.listing.records)
    if only is None and not extra_fields and _is_newest_and_clean(handle.branch, state.metadata, files, schema_id):
        table = _pinned(handle, with_unpartitioned_spec(handle, state.current) if nulls else state.current)
        return Shadow(_frame(handle, table), partition_names(handle, table.table()))
    listing = _listing(handle, files, only)
    document = _document(handle, files.snapshot.id, schema_id, extra_fields)
    if nulls:
        _add_unpartitioned_spec(document)
    table = static_table(handle, document, listing)
    return Shadow(as_frame(handle, table), partition_names(handle, table))


def data_alone(handle: TableHandle, snapshot: Snapshot) -> Any:
    """A table in memory with the data files of a snapshot and none of its deletes, to plan a scan of."""
    assert snapshot.manifest_list is not None
    listing = handle.manifests.read(snapshot.manifest_list)
    data = [manifest for manifest in listing.records if not manifest.get("content")]
    listing = _listing(handle, SnapshotFiles(snapshot, replace(listing, records=data), (), ()), None)
    return static_table(handle, _document(handle, snapshot.id, handle.metadata.current_schema_id, []), listing)


def is_read_as_it_is(handle: TableHandle, files: SnapshotFiles) -> bool:
    """Whether the shadow of a snapshot, read with the newest schema, is the table itself: nothing of it is made up."""
    metadata = handle.metadata
    return _is_newest_and_clean(handle.branch, metadata, files, metadata.current_schema_id)


def _is_newest_and_clean(branch: str, metadata: TableMetadata, files: SnapshotFiles, schema_id: int) -> bool:
    """Whether Iceberg reads just this at the head of the branch: nothing need be made up then.

    Not where the snapshot has an older schema: Iceberg takes the columns of a filter for those of that one.
    """
    head = metadata.head(branch)
    return (
        not files.equality_deletes
        and files.is_committed
        and head is not None
        and files.snapshot.id == head.id
        and schema_id == head.schema_id == metadata.current_schema_id
    )


def _pinned(handle: TableHandle, metadata: Any) -> Any:
    """The branch as it was, whoever refreshes the table meanwhile.

    The branch is named even if it is main: else Spark's setting `spark.wap.branch` would choose another.
    """
    iceberg, table = handle.gateway.iceberg, handle.java_table
    operations = iceberg.StaticTableOperations(metadata, table.io())
    return iceberg.spark.source.SparkTable(iceberg.BaseTable(operations, table.name())).copyWithBranch(handle.branch)


def _listing(handle: TableHandle, files: SnapshotFiles, only: AbstractSet[str] | None) -> AvroFile:
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


def _document(handle: TableHandle, snapshot_id: int, schema_id: int, extra_fields: list[Field]) -> dict[str, Any]:
    document = dict(handle.document)
    schema = copy.deepcopy(next(s for s in document["schemas"] if s["schema-id"] == schema_id))
    schema["schema-id"] = max(s["schema-id"] for s in document["schemas"]) + 1
    schema["fields"] += [{"id": f.id, "name": f.name, "required": False, "type": f.type} for f in extra_fields]
    schema.pop("identifier-field-ids", None)
    document |= {
        "format-version": max(document["format-version"], ROW_LINEAGE_VERSION),
        "next-row-id": document.get("next-row-id", 0),
        "schemas": [*document["schemas"], schema],
        "current-schema-id": schema["schema-id"],
        "snapshots": [handle.snapshot_document(snapshot_id)],
        "current-snapshot-id": snapshot_id,
        "refs": {"main": {"type": "branch", "snapshot-id": snapshot_id}},
        "snapshot-log": [],
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
    }
    return document


def _add_unpartitioned_spec(document: dict[str, Any]) -> None:
    """What `with_unpartitioned_spec` does, in JSON."""
    specs = document["partition-specs"]
    if all(spec["fields"] for spec in specs):
        document["partition-specs"] = [*specs, {"spec-id": max(spec["spec-id"] for spec in specs) + 1, "fields": []}]


def static_table(handle: TableHandle, document: dict[str, Any], listing: AvroFile) -> Any:
    """A table that exists in memory alone, from the JSON of its metadata and the manifest list of its only snapshot."""
    iceberg, table = handle.gateway.iceberg, handle.java_table
    location = f"rowdelta-{uuid.uuid4()}.avro"
    (snapshot,) = document["snapshots"]
    document = document | {"snapshots": [{**snapshot, "manifest-list": location}]}
    metadata = iceberg.TableMetadataParser.fromJson(json.dumps(document))
    operations = iceberg.StaticTableOperations(metadata, table.io())
    made = iceberg.BaseTable(operations, table.name())
    files = iceberg.inmemory.InMemoryFileIO()
    try:
        files.addFile(location, listing.to_bytes())
        # Iceberg keeps what it has read of a list, and does not ask for it again.
        made.currentSnapshot().dataManifests(files)
        made.currentSnapshot().deleteManifests(files)
    finally:
        files.deleteFile(location)  # all objects of the class have the same files
    return made


def as_frame(handle: TableHandle, table: Any) -> DataFrame:
    """A DataFrame over any of Iceberg's table objects, committed or not."""
    return _frame(handle, handle.gateway.iceberg.spark.source.SparkTable(table))


def _frame(handle: TableHandle, spark_table: Any) -> DataFrame:
    gateway = handle.gateway
    spark_sql = gateway.jvm.org.apache.spark.sql
    v2 = spark_sql.execution.datasources.v2
    none = gateway.scala_object(gateway.jvm.scala, "None")
    relation = gateway.scala_object(v2, "DataSourceV2Relation").create(
        spark_table,
        none,
        none,
        spark_sql.util.CaseInsensitiveStringMap.empty(),
        none,
    )
    return DataFrame(spark_sql.classic.Dataset.ofRows(gateway.session, relation), handle.spark)
