"""The kernel of every write: from rows or keys to one commit."""

from __future__ import annotations

from rowdelta.change.apply_change import apply, apply_rows, files_removed, publish
from rowdelta.change.assignments import Value, as_column, assigned, default_of, new_name
from rowdelta.change.copy_on_write import rewrite_files
from rowdelta.change.key_batches import (
    NULL_KEY_HINT,
    HashedBatch,
    IntegerBatch,
    are_many,
    hashed_batches,
    integer_batches,
    integer_statistics,
)
from rowdelta.change.key_files import (
    estimated_full_size,
    key_values,
    stage_rows,
    write_hashed,
    write_rows,
    write_vector,
)
from rowdelta.change.key_input import KeyInput, check_keys
from rowdelta.change.key_scope import scope_of_key, sources_outside
from rowdelta.change.key_writer import KeyDeletes, KeyWriter, summary_of
from rowdelta.change.merge_on_read import replace_rows, updated_rows
from rowdelta.change.operation import Operation, Plan, Result, ResultT, in_our_words
from rowdelta.change.plan_steps import estimate, how, how_without_deletes
from rowdelta.change.position_files import (
    DELETION_VECTOR,
    ROW_POSITION_ID,
    as_content_file,
    stored_partition,
    write_position_file,
    write_positions,
)
from rowdelta.change.read_back import check_parquet
from rowdelta.change.row_errors import REQUIRED_HINT, check_frame, not_null, refusal, refusals
from rowdelta.change.row_positions import (
    DroppedPartitionError,
    FilePositions,
    KnownFiles,
    Places,
    are_collected,
    collect_positions_in,
    dropped_partition,
    places_of,
    rows_to_find,
)
from rowdelta.change.stored_values import fits, stored_as
from rowdelta.change.target_snapshot import (
    FILE,
    LAST_UPDATED,
    LINEAGE_VERSION,
    POSITION,
    ROW_ID,
    Target,
    isolation_of,
    mode_of,
    open_target,
)

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
    "KnownFiles",
    "Operation",
    "Places",
    "Plan",
    "Result",
    "ResultT",
    "Target",
    "Value",
    "apply",
    "apply_rows",
    "are_collected",
    "are_many",
    "as_column",
    "as_content_file",
    "assigned",
    "check_frame",
    "check_keys",
    "check_parquet",
    "collect_positions_in",
    "default_of",
    "dropped_partition",
    "estimate",
    "estimated_full_size",
    "files_removed",
    "fits",
    "hashed_batches",
    "how",
    "how_without_deletes",
    "in_our_words",
    "integer_batches",
    "integer_statistics",
    "isolation_of",
    "key_values",
    "mode_of",
    "new_name",
    "not_null",
    "open_target",
    "places_of",
    "publish",
    "refusal",
    "refusals",
    "replace_rows",
    "rewrite_files",
    "rows_to_find",
    "scope_of_key",
    "sources_outside",
    "stage_rows",
    "stored_as",
    "stored_partition",
    "summary_of",
    "updated_rows",
    "write_hashed",
    "write_position_file",
    "write_positions",
    "write_rows",
    "write_vector",
]
