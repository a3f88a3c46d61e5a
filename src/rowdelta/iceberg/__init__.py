"""The gateway to Iceberg's own Java library: the only folder that touches the JVM."""

from __future__ import annotations

from rowdelta.iceberg.arrow import arrow_frame, plain_values, rows_to_show
from rowdelta.iceberg.bounds import comparable
from rowdelta.iceberg.commit import (
    NewDelete,
    RowChange,
    Uncommitted,
    Validation,
    commit,
    marked,
    parent_files,
    show_to_spark,
)
from rowdelta.iceberg.content_files import ContentFile
from rowdelta.iceberg.data_footers import footer_files, parquet_footers
from rowdelta.iceberg.delete_files import encoding_of, list_delete_files, partition_text
from rowdelta.iceberg.delete_rows import column_path, delete_rows, position_rows
from rowdelta.iceberg.delta_log import DeltaLog, DeltaSnapshot, LogFile, hadoop_reads
from rowdelta.iceberg.drafts import draft
from rowdelta.iceberg.expiry import (
    ExpiredFiles,
    Expiry,
    expire_all,
    expire_own,
    expiry_between,
    own_files,
    plan_expiry,
)
from rowdelta.iceberg.expressions import (
    RowFilter,
    ScanSize,
    WholeFiles,
    filter_of,
    row_filter,
    scan_size,
    whole_files,
)
from rowdelta.iceberg.file_batches import held_deletes, held_paths
from rowdelta.iceberg.file_io import together
from rowdelta.iceberg.gateway import session_id
from rowdelta.iceberg.generated_sql import (
    quote,
    run_sql,
    select_sql,
    sql_column,
    sql_columns,
    string_literal,
    where_sql,
)
from rowdelta.iceberg.handle import CommitMark, TableHandle
from rowdelta.iceberg.interrupts import end_work, interruptible, stop_if_interrupted
from rowdelta.iceberg.inventory import (
    ColumnMetrics,
    Inventory,
    LiveData,
    LiveDelete,
    inventory_of,
    later_deletes,
    scope,
    take_inventory,
)
from rowdelta.iceberg.manifests import AvroFile, DataEntry, DeleteEntry, may_be_live
from rowdelta.iceberg.metadata import (
    Field,
    PartitionField,
    PartitionSpec,
    Reference,
    Schema,
    Snapshot,
    TableMetadata,
    ambiguous_name,
)
from rowdelta.iceberg.name_rule import ANY_CASE, NameRule, name_rule
from rowdelta.iceberg.names import TemporaryView
from rowdelta.iceberg.new_tables import NewTable
from rowdelta.iceberg.orphans import find_orphans
from rowdelta.iceberg.partitions import partition_names
from rowdelta.iceberg.plans import columns_used, computed_rows, in_session, size_in_bytes
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
from rowdelta.iceberg.references import check_fast_forward, create_branch, drop_branch, fast_forward
from rowdelta.iceberg.removal import delete_files
from rowdelta.iceberg.residuals import partition_residuals
from rowdelta.iceberg.shadow import SnapshotFiles, files_of, is_read_as_it_is, shadow, snapshot_files
from rowdelta.iceberg.single_values import json_values
from rowdelta.iceberg.skipping import names_floats, skipping
from rowdelta.iceberg.spark_errors import check_running, quiet_tasks, spark_errors
from rowdelta.iceberg.specs import unpartitioned_spec
from rowdelta.iceberg.sql_expression import check_expression, check_value
from rowdelta.iceberg.staged import StagedFiles, stage_key_files, stage_rows
from rowdelta.iceberg.table_update import TableUpdate, update_table
from rowdelta.iceberg.types import ansi_cast, can_store, sql_type
from rowdelta.iceberg.versions import DELTA_PACKAGE, ICEBERG_PACKAGE

__all__ = [
    "ANY_CASE",
    "DELTA_PACKAGE",
    "ICEBERG_PACKAGE",
    "AvroFile",
    "ColumnMetrics",
    "CommitMark",
    "ContentFile",
    "DataEntry",
    "DeleteEntry",
    "DeltaLog",
    "DeltaSnapshot",
    "ExpiredFiles",
    "Expiry",
    "Field",
    "Inventory",
    "LiveData",
    "LiveDelete",
    "LogFile",
    "NameRule",
    "Named",
    "NewDelete",
    "NewTable",
    "PartitionField",
    "PartitionSpec",
    "Reference",
    "RowChange",
    "RowFilter",
    "ScanSize",
    "Schema",
    "Snapshot",
    "SnapshotFiles",
    "StagedFiles",
    "TableHandle",
    "TableMetadata",
    "TableUpdate",
    "TemporaryView",
    "Uncommitted",
    "Validation",
    "WholeFiles",
    "ambiguous_name",
    "ansi_cast",
    "arrow_frame",
    "call_procedure",
    "can_store",
    "check_expression",
    "check_fast_forward",
    "check_running",
    "check_value",
    "column_path",
    "columns_of",
    "columns_used",
    "commit",
    "comparable",
    "computed_rows",
    "create_branch",
    "delete_files",
    "delete_rows",
    "draft",
    "drop_branch",
    "encoding_of",
    "end_work",
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
    "hadoop_reads",
    "has_null_partitions",
    "held_deletes",
    "held_paths",
    "hidden_struct",
    "hides_floats",
    "holds_hidden",
    "in_session",
    "interruptible",
    "inventory_of",
    "is_read_as_it_is",
    "join_names",
    "json_values",
    "later_deletes",
    "list_delete_files",
    "marked",
    "may_be_live",
    "name_rule",
    "names_floats",
    "only_blob",
    "own_files",
    "parent_files",
    "parquet_footers",
    "partition_names",
    "partition_residuals",
    "partition_text",
    "plain_values",
    "plan_expiry",
    "position_rows",
    "quiet_tasks",
    "quote",
    "row_filter",
    "rows_to_show",
    "run_sql",
    "scan_size",
    "scope",
    "select_sql",
    "select_stored",
    "session_id",
    "shadow",
    "show_to_spark",
    "size_in_bytes",
    "skipping",
    "snapshot_files",
    "spark_errors",
    "sql_column",
    "sql_columns",
    "sql_type",
    "stage_key_files",
    "stage_rows",
    "stop_if_interrupted",
    "string_literal",
    "take_inventory",
    "together",
    "unpartitioned_spec",
    "update_table",
    "where_sql",
    "whole_files",
    "with_comment",
]
