"""Reads a snapshot without its equality deletes, with Iceberg's own reader.

Nothing is committed. In memory, the snapshot gets a manifest list without the manifests that hold equality deletes.
Push-down, pruning, position deletes, deletion vectors and metadata columns work as usual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.in_memory_table import make_static_table, pin_to_branch, read_java_table, read_spark_table
from rowdelta.iceberg.manifest_copies import copy_listing
from rowdelta.iceberg.metadata_document import MetadataDocument
from rowdelta.iceberg.partition_specs import list_partition_names
from rowdelta.iceberg.pushdown import add_unpartitioned_spec, has_null_partitions
from rowdelta.iceberg.snapshot_contents import SnapshotFiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from pyspark.sql import DataFrame

    from rowdelta.iceberg.metadata import TableMetadata
    from rowdelta.iceberg.schema import Field
    from rowdelta.iceberg.snapshots import Snapshot
    from rowdelta.iceberg.table_handle import TableHandle


@dataclass(frozen=True)
class SnapshotFrame:
    """A frame with every metadata column, and the name of each partition field in its `_partition`, by field id."""

    frame: DataFrame
    partition_names: dict[int, str]


def read_without_equality_deletes(
    handle: TableHandle,
    files: SnapshotFiles,
    schema_id: int,
    extra_fields: list[Field],
    only: AbstractSet[str] | None = None,
) -> SnapshotFrame:
    """Reads the snapshot without its equality deletes.

    Args:
        handle: The table.
        files: The snapshot.
        schema_id: The schema to read with.
        extra_fields: Dropped columns to add to the schema, under the names given. `_partition` then has the partition
            fields that are made from them.
        only: The data files to read; default: all.

    The frame has every metadata column. If there are equality deletes, it also has `_last_updated_sequence_number`: on
    a version 2 table, the data sequence number of the row's file.
    """
    state = handle.state
    nulls = has_null_partitions(state.metadata.specs, files.listing.records)
    if only is None and not extra_fields and _is_clean_head(handle.branch, state.metadata, files, schema_id):
        table = pin_to_branch(handle, add_unpartitioned_spec(handle, state.current) if nulls else state.current)
        return SnapshotFrame(read_spark_table(handle, table), list_partition_names(handle, table.table()))
    listing = copy_listing(handle, files, only)
    document = _describe_snapshot(handle, files.snapshot.id, schema_id, extra_fields)
    if nulls:
        document = document.add_unpartitioned_spec()
    table = make_static_table(handle, document, listing)
    return SnapshotFrame(read_java_table(handle, table), list_partition_names(handle, table))


def open_data_files(handle: TableHandle, snapshot: Snapshot) -> Any:
    """Opens a table in memory with the data files of a snapshot and none of its deletes, for planning a scan."""
    assert snapshot.manifest_list is not None
    listing = handle.manifests.read(snapshot.manifest_list)
    data = [manifest for manifest in listing.records if not manifest.get("content")]
    listing = copy_listing(handle, SnapshotFiles(snapshot, replace(listing, records=data), (), ()), None)
    return make_static_table(
        handle, _describe_snapshot(handle, snapshot.id, handle.metadata.current_schema_id), listing
    )


def is_read_from_table(handle: TableHandle, files: SnapshotFiles) -> bool:
    """Whether `read_without_equality_deletes` with the newest schema reads the table itself, not one made in memory."""
    metadata = handle.metadata
    return _is_clean_head(handle.branch, metadata, files, metadata.current_schema_id)


def _is_clean_head(branch: str, metadata: TableMetadata, files: SnapshotFiles, schema_id: int) -> bool:
    """Whether Iceberg can read the head of the branch as it is.

    It cannot if the snapshot has an older schema: Iceberg would resolve the columns of a filter in that schema.
    """
    head = metadata.head(branch)
    return (
        not files.equality_deletes
        and files.is_committed
        and head is not None
        and files.snapshot.id == head.id
        and schema_id == head.schema_id == metadata.current_schema_id
    )


def _describe_snapshot(
    handle: TableHandle, snapshot_id: int, schema_id: int, extra_fields: Sequence[Field] = ()
) -> MetadataDocument:
    """Builds the metadata of a table with only this snapshot, and with row ids, for sequence numbers."""
    document = MetadataDocument(handle.document).add_row_lineage().add_schema(schema_id, extra_fields)
    return document.keep_snapshot(handle.read_snapshot_document(snapshot_id))
