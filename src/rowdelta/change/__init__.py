"""The kernel of every write: from rows or keys to one commit."""

from __future__ import annotations

from rowdelta.change.apply_change import apply, change_nothing, commit_rows, files_removed, publish
from rowdelta.change.assignments import Value, compute_assignments, find_default, name_new_value, to_column
from rowdelta.change.file_positions import DroppedPartitionError, FilePositions, dropped_partition
from rowdelta.change.key_batches import (
    NULL_KEY_HINT,
    HashedBatch,
    IntegerBatch,
    collect_hashed_batches,
    collect_integer_batches,
    has_many_keys,
    measure_integer_keys,
)
from rowdelta.change.key_files import (
    estimate_full_size,
    key_values,
    stage_key_rows,
    write_hashed,
    write_rows,
    write_vector,
)
from rowdelta.change.key_input import KeyInput, bind_keys
from rowdelta.change.key_scope import choose_scope, sources_outside
from rowdelta.change.key_writer import KeyDeletes, KeyWriter, describe_encodings, summarise_key_deletes
from rowdelta.change.manifest_entries import as_content_file, stored_partition
from rowdelta.change.merge_on_read import select_updated_rows
from rowdelta.change.operation import Operation, Plan, Result, ResultT, with_translated_errors
from rowdelta.change.plan_steps import describe_mode, describe_without_deletes, estimate_scan
from rowdelta.change.position_deletes import write_positions
from rowdelta.change.position_files import write_position_file
from rowdelta.change.read_back import check_parquet
from rowdelta.change.row_errors import REQUIRED_HINT, check_frame, make_row_error, refuse_null, translate_row_errors
from rowdelta.change.row_locators import ListedFilesLocator, RowLocator, collect_positions_in
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
    find_isolation,
    find_mode,
    open_target,
)
from rowdelta.change.vector_files import DELETION_VECTOR, ROW_POSITION_ID

__all__ = [
    "DELETION_VECTOR",
    "FILE",
    "LAST_UPDATED",
    "LINEAGE_VERSION",
    "NULL_KEY_HINT",
    "POSITION",
    "REQUIRED_HINT",
    "ROW_ID",
    "ROW_POSITION_ID",
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
    "RowLocator",
    "Target",
    "Value",
    "apply",
    "as_content_file",
    "bind_keys",
    "can_collect_rows",
    "change_nothing",
    "check_frame",
    "check_parquet",
    "choose_locator",
    "choose_scope",
    "collect_hashed_batches",
    "collect_integer_batches",
    "collect_positions_in",
    "commit_rows",
    "compute_assignments",
    "describe_encodings",
    "describe_mode",
    "describe_without_deletes",
    "dropped_partition",
    "estimate_full_size",
    "estimate_scan",
    "files_removed",
    "find_default",
    "find_isolation",
    "find_mode",
    "fits_unchanged",
    "has_many_keys",
    "key_values",
    "make_row_error",
    "measure_integer_keys",
    "name_new_value",
    "open_target",
    "publish",
    "read_target_rows",
    "refuse_null",
    "select_updated_rows",
    "sources_outside",
    "stage_change",
    "stage_key_rows",
    "store_typed_value",
    "stored_partition",
    "summarise_key_deletes",
    "to_column",
    "translate_row_errors",
    "with_translated_errors",
    "write_hashed",
    "write_position_file",
    "write_positions",
    "write_rows",
    "write_vector",
]
