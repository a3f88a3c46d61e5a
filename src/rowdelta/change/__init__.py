"""The kernel of every write: turns rows or keys into one commit."""

from __future__ import annotations

from rowdelta.change.apply_change import (
    commit_and_refresh,
    commit_rows,
    count_removed_files,
    make_empty_result,
    publish,
)
from rowdelta.change.assignments import Value, compute_assignments, find_default, name_new_value, to_column
from rowdelta.change.changed_files import ChangedFiles, find_changed_files
from rowdelta.change.existing_positions import read_existing_positions
from rowdelta.change.file_positions import (
    DroppedPartitionError,
    FilePositions,
    find_dropped_partition,
    select_positions,
)
from rowdelta.change.key_batches import NULL_KEY_HINT, HashedBatch, IntegerBatch, collect_integer_batches
from rowdelta.change.key_files import make_key_array, write_hashed, write_rows, write_vector
from rowdelta.change.key_input import KeyInput, bind_keys, write_partition_sql
from rowdelta.change.key_scope import choose_scope, find_sources_outside
from rowdelta.change.key_writer import KeyDeletes, KeyWriter, describe_encodings, summarise_key_deletes
from rowdelta.change.manifest_entries import partition_to_json, to_content_file
from rowdelta.change.merge_on_read import select_updated_rows
from rowdelta.change.operation import Operation, Plan, Result, ResultT, with_translated_errors
from rowdelta.change.plan_steps import describe_mode, describe_without_deletes, estimate_scan
from rowdelta.change.position_deletes import write_positions
from rowdelta.change.position_files import write_position_file
from rowdelta.change.read_back import check_parquet
from rowdelta.change.row_errors import REQUIRED_HINT, check_frame, make_row_error, refuse_null, translate_row_errors
from rowdelta.change.row_locators import ListedFilesLocator, RowArrays, RowLocator, collect_positions_in
from rowdelta.change.staging import stage_change
from rowdelta.change.stored_values import fits_unchanged, store_typed_value
from rowdelta.change.target_rows import can_collect_rows, choose_locator, read_target_rows
from rowdelta.change.target_snapshot import (
    FILE,
    LAST_UPDATED,
    LINEAGE_VERSION,
    POSITION,
    ROW_ID,
    Target,
    check_options,
    find_isolation,
    find_mode,
    open_target,
)
from rowdelta.change.vector_files import make_vector_blob, make_vector_delete

__all__ = [
    "FILE",
    "LAST_UPDATED",
    "LINEAGE_VERSION",
    "NULL_KEY_HINT",
    "POSITION",
    "REQUIRED_HINT",
    "ROW_ID",
    "ChangedFiles",
    "DroppedPartitionError",
    "FilePositions",
    "HashedBatch",
    "IntegerBatch",
    "KeyDeletes",
    "KeyInput",
    "KeyWriter",
    "ListedFilesLocator",
    "Operation",
    "Plan",
    "Result",
    "ResultT",
    "RowArrays",
    "RowLocator",
    "Target",
    "Value",
    "bind_keys",
    "can_collect_rows",
    "check_frame",
    "check_options",
    "check_parquet",
    "choose_locator",
    "choose_scope",
    "collect_integer_batches",
    "collect_positions_in",
    "commit_and_refresh",
    "commit_rows",
    "compute_assignments",
    "count_removed_files",
    "describe_encodings",
    "describe_mode",
    "describe_without_deletes",
    "estimate_scan",
    "find_changed_files",
    "find_default",
    "find_dropped_partition",
    "find_isolation",
    "find_mode",
    "find_sources_outside",
    "fits_unchanged",
    "make_empty_result",
    "make_key_array",
    "make_row_error",
    "make_vector_blob",
    "make_vector_delete",
    "name_new_value",
    "open_target",
    "partition_to_json",
    "publish",
    "read_existing_positions",
    "read_target_rows",
    "refuse_null",
    "select_positions",
    "select_updated_rows",
    "stage_change",
    "store_typed_value",
    "summarise_key_deletes",
    "to_column",
    "to_content_file",
    "translate_row_errors",
    "with_translated_errors",
    "write_hashed",
    "write_partition_sql",
    "write_position_file",
    "write_positions",
    "write_rows",
    "write_vector",
]
