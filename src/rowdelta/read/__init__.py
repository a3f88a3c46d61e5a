"""DataFrames with every delete applied."""

from __future__ import annotations

from rowdelta.read.column_names import check_clashes, check_names
from rowdelta.read.delete_joins import PARTITION, SPEC, DeletedKeys
from rowdelta.read.deletion_vectors import check_vectors, read_vectors
from rowdelta.read.hashed_keys import check_type, load_hashed_integers, load_hashed_keys
from rowdelta.read.integer_keys import INTEGER_TYPES, IntegerKeys, is_integer, to_integers, write_integer_sql
from rowdelta.read.key_bitmap import KeyBits, make_key_bits
from rowdelta.read.key_loader import (
    forget_keys,
    load_integer_keys,
    locate_bit,
    read_row_keys,
    read_vector_keys,
    unpack_words,
)
from rowdelta.read.manifest_checks import check_deletes
from rowdelta.read.matching import (
    Match,
    find_matching_pairs,
    find_matching_rows,
    find_matching_rows_of_schema,
    may_hide,
)
from rowdelta.read.needed_deletes import find_needed_deletes
from rowdelta.read.partition_scope import find_scope
from rowdelta.read.position_joins import join_bitmaps, join_position_files
from rowdelta.read.snapshot_rows import (
    MAX_BROADCAST_BYTES,
    LiveRows,
    build_live_rows,
    find_deleted_rows,
    keep_hits,
)
from rowdelta.read.table_reader import filters_may_mislead, filters_mislead, hide_floats
from rowdelta.read.time_travel import find_snapshot_at, read_live_frame
from rowdelta.read.views import create_view, refresh_views

__all__ = [
    "INTEGER_TYPES",
    "MAX_BROADCAST_BYTES",
    "PARTITION",
    "SPEC",
    "DeletedKeys",
    "IntegerKeys",
    "KeyBits",
    "LiveRows",
    "Match",
    "build_live_rows",
    "check_clashes",
    "check_deletes",
    "check_names",
    "check_type",
    "check_vectors",
    "create_view",
    "filters_may_mislead",
    "filters_mislead",
    "find_deleted_rows",
    "find_matching_pairs",
    "find_matching_rows",
    "find_matching_rows_of_schema",
    "find_needed_deletes",
    "find_scope",
    "find_snapshot_at",
    "forget_keys",
    "hide_floats",
    "is_integer",
    "join_bitmaps",
    "join_position_files",
    "keep_hits",
    "load_hashed_integers",
    "load_hashed_keys",
    "load_integer_keys",
    "locate_bit",
    "make_key_bits",
    "may_hide",
    "read_live_frame",
    "read_row_keys",
    "read_vector_keys",
    "read_vectors",
    "refresh_views",
    "to_integers",
    "unpack_words",
    "write_integer_sql",
]
