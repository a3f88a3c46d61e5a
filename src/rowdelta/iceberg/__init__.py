"""An Iceberg table: its metadata, its files, its commits, through Iceberg's own Java library."""

from __future__ import annotations

from rowdelta.iceberg.avro_file import AvroFile
from rowdelta.iceberg.bounds import comparable
from rowdelta.iceberg.branches import check_fast_forward, create_branch, drop_branch, fast_forward
from rowdelta.iceberg.cache import LruCache
from rowdelta.iceberg.commit import commit_change, marked, show_to_spark
from rowdelta.iceberg.content_files import ContentFile
from rowdelta.iceberg.create_table import NewTable
from rowdelta.iceberg.delete_file_reader import column_path, delete_rows, position_rows
from rowdelta.iceberg.delete_files import encoding_of, list_delete_files, partition_text
from rowdelta.iceberg.delete_index import Inventory, inventory_of, later_deletes, scope, take_inventory
from rowdelta.iceberg.expire import expire_all, expire_own, expiry_between, own_files, plan_expiry
from rowdelta.iceberg.file_batches import held_deletes, held_paths
from rowdelta.iceberg.file_io import together
from rowdelta.iceberg.file_removal import delete_from_storage
from rowdelta.iceberg.live_files import ColumnMetrics, LiveData, LiveDelete
from rowdelta.iceberg.manifest_entries import DataEntry, DeleteEntry, may_be_live, read_spec_id
from rowdelta.iceberg.metadata import TableMetadata
from rowdelta.iceberg.new_columns import draft
from rowdelta.iceberg.orphans import find_orphans
from rowdelta.iceberg.parquet_footers import footer_files, read_parquet_footers
from rowdelta.iceberg.partition_specs import PartitionSpec, partition_names
from rowdelta.iceberg.procedures import call_procedure
from rowdelta.iceberg.puffin_footers import footer, only_blob
from rowdelta.iceberg.pushdown import (
    Named,
    columns_of,
    filter_names,
    has_null_partitions,
    hidden_struct,
    hides_floats,
    holds_hidden,
    join_names,
    select_stored,
    with_comment,
)
from rowdelta.iceberg.residuals import partition_residuals
from rowdelta.iceberg.row_change import NewDelete, RowChange, Uncommitted, Validation, parent_files
from rowdelta.iceberg.row_filter import RowFilter, build_row_filter, filter_of
from rowdelta.iceberg.scan_planning import scan_size, whole_files
from rowdelta.iceberg.schema import Field, Schema, ambiguous_name
from rowdelta.iceberg.skipping import build_skipping_filter, names_floats
from rowdelta.iceberg.snapshot_contents import SnapshotFiles, files_of, snapshot_files
from rowdelta.iceberg.snapshot_reader import is_read_as_it_is, shadow
from rowdelta.iceberg.snapshots import Snapshot
from rowdelta.iceberg.staged_files import StagedFiles, stage_key_files, stage_rows
from rowdelta.iceberg.table_handle import CommitMark, TableHandle
from rowdelta.iceberg.table_update import TableUpdate, update_table
from rowdelta.iceberg.whole_table_spec import unpartitioned_spec

__all__ = [
    "AvroFile",
    "ColumnMetrics",
    "CommitMark",
    "ContentFile",
    "DataEntry",
    "DeleteEntry",
    "Field",
    "Inventory",
    "LiveData",
    "LiveDelete",
    "LruCache",
    "Named",
    "NewDelete",
    "NewTable",
    "PartitionSpec",
    "RowChange",
    "RowFilter",
    "Schema",
    "Snapshot",
    "SnapshotFiles",
    "StagedFiles",
    "TableHandle",
    "TableMetadata",
    "TableUpdate",
    "Uncommitted",
    "Validation",
    "ambiguous_name",
    "build_row_filter",
    "build_skipping_filter",
    "call_procedure",
    "check_fast_forward",
    "column_path",
    "columns_of",
    "commit_change",
    "comparable",
    "create_branch",
    "delete_from_storage",
    "delete_rows",
    "draft",
    "drop_branch",
    "encoding_of",
    "expire_all",
    "expire_own",
    "expiry_between",
    "fast_forward",
    "files_of",
    "filter_names",
    "filter_of",
    "find_orphans",
    "footer",
    "footer_files",
    "has_null_partitions",
    "held_deletes",
    "held_paths",
    "hidden_struct",
    "hides_floats",
    "holds_hidden",
    "inventory_of",
    "is_read_as_it_is",
    "join_names",
    "later_deletes",
    "list_delete_files",
    "marked",
    "may_be_live",
    "names_floats",
    "only_blob",
    "own_files",
    "parent_files",
    "partition_names",
    "partition_residuals",
    "partition_text",
    "plan_expiry",
    "position_rows",
    "read_parquet_footers",
    "read_spec_id",
    "scan_size",
    "scope",
    "select_stored",
    "shadow",
    "show_to_spark",
    "snapshot_files",
    "stage_key_files",
    "stage_rows",
    "take_inventory",
    "together",
    "unpartitioned_spec",
    "update_table",
    "whole_files",
    "with_comment",
]
