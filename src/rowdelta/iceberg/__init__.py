"""An Iceberg table: its metadata, files and commits, mostly through Iceberg's own Java library."""

from __future__ import annotations

from rowdelta.iceberg.avro_file import AvroFile
from rowdelta.iceberg.bounds import decode_bound
from rowdelta.iceberg.branches import check_fast_forward, create_branch, drop_branch, fast_forward
from rowdelta.iceberg.cache import LruCache
from rowdelta.iceberg.commit import commit_change, mark_commits, refresh_spark_cache
from rowdelta.iceberg.content_files import ContentFile
from rowdelta.iceberg.create_table import NewTable
from rowdelta.iceberg.delete_file_reader import find_column_path, read_delete_keys, read_positions
from rowdelta.iceberg.delete_files import format_partition, list_delete_files, read_encoding
from rowdelta.iceberg.delete_index import (
    DeleteFileIndex,
    build_delete_index,
    find_later_deletes,
    index_manifest_list,
    make_partition_key,
    match_deletes,
)
from rowdelta.iceberg.expire import compare_documents, expire_all, expire_own, plan_expiry, select_own_files
from rowdelta.iceberg.file_batches import find_live_deletes, find_live_paths
from rowdelta.iceberg.file_io import run_in_parallel
from rowdelta.iceberg.file_removal import delete_from_storage
from rowdelta.iceberg.live_files import ColumnMetrics, LiveData, LiveDelete
from rowdelta.iceberg.manifest_entries import DataEntry, DeleteEntry, may_be_live, read_spec_id
from rowdelta.iceberg.metadata import TableMetadata
from rowdelta.iceberg.new_columns import open_with_new_columns
from rowdelta.iceberg.orphans import find_orphans
from rowdelta.iceberg.parquet_footers import read_footer_metrics, read_parquet_footers
from rowdelta.iceberg.partition_specs import PartitionSpec, list_partition_names
from rowdelta.iceberg.procedures import call_procedure
from rowdelta.iceberg.puffin_footers import read_footer, read_only_blob_metadata
from rowdelta.iceberg.pushdown import (
    NamedColumns,
    add_comment,
    find_columns,
    find_filter_columns,
    find_join_columns,
    has_floats,
    has_hidden_field,
    has_null_partitions,
    hide_struct_fields,
    select_stored,
)
from rowdelta.iceberg.residuals import evaluate_partitions
from rowdelta.iceberg.row_change import NewDelete, RowChange, UncommittedSnapshot, Validation, read_parent_files
from rowdelta.iceberg.row_filter import RowFilter, build_row_filter, convert_filter
from rowdelta.iceberg.scan_planning import find_whole_files, measure_scan
from rowdelta.iceberg.schema import Field, Schema, make_ambiguous_name_error
from rowdelta.iceberg.skipping import build_skipping_filter, names_floats
from rowdelta.iceberg.snapshot_contents import SnapshotFiles, read_listed_files, read_snapshot_files
from rowdelta.iceberg.snapshot_reader import is_read_from_table, read_without_equality_deletes
from rowdelta.iceberg.snapshots import SAME_ROWS, Snapshot
from rowdelta.iceberg.staged_files import StagedFiles, stage_key_files, stage_rows
from rowdelta.iceberg.table_handle import CommitMark, TableHandle
from rowdelta.iceberg.table_update import TableUpdate, update_table
from rowdelta.iceberg.whole_table_spec import ensure_unpartitioned_spec

__all__ = [
    "SAME_ROWS",
    "AvroFile",
    "ColumnMetrics",
    "CommitMark",
    "ContentFile",
    "DataEntry",
    "DeleteEntry",
    "DeleteFileIndex",
    "Field",
    "LiveData",
    "LiveDelete",
    "LruCache",
    "NamedColumns",
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
    "UncommittedSnapshot",
    "Validation",
    "add_comment",
    "build_delete_index",
    "build_row_filter",
    "build_skipping_filter",
    "call_procedure",
    "check_fast_forward",
    "commit_change",
    "compare_documents",
    "convert_filter",
    "create_branch",
    "decode_bound",
    "delete_from_storage",
    "drop_branch",
    "ensure_unpartitioned_spec",
    "evaluate_partitions",
    "expire_all",
    "expire_own",
    "fast_forward",
    "find_column_path",
    "find_columns",
    "find_filter_columns",
    "find_join_columns",
    "find_later_deletes",
    "find_live_deletes",
    "find_live_paths",
    "find_orphans",
    "find_whole_files",
    "format_partition",
    "has_floats",
    "has_hidden_field",
    "has_null_partitions",
    "hide_struct_fields",
    "index_manifest_list",
    "is_read_from_table",
    "list_delete_files",
    "list_partition_names",
    "make_ambiguous_name_error",
    "make_partition_key",
    "mark_commits",
    "match_deletes",
    "may_be_live",
    "measure_scan",
    "names_floats",
    "open_with_new_columns",
    "plan_expiry",
    "read_delete_keys",
    "read_encoding",
    "read_footer",
    "read_footer_metrics",
    "read_listed_files",
    "read_only_blob_metadata",
    "read_parent_files",
    "read_parquet_footers",
    "read_positions",
    "read_snapshot_files",
    "read_spec_id",
    "read_without_equality_deletes",
    "refresh_spark_cache",
    "run_in_parallel",
    "select_own_files",
    "select_stored",
    "stage_key_files",
    "stage_rows",
    "update_table",
]
