"""DataFrames with every delete applied."""

from __future__ import annotations

from rowdelta.scan.checks import check_deletes
from rowdelta.scan.deletion_vectors import check_vectors, read_vectors
from rowdelta.scan.filters import PARTITION, SPEC
from rowdelta.scan.hashed_keys import check_type, hashed_integers, hashed_keys
from rowdelta.scan.integer_keys import INTEGER_TYPES, IntegerKeys, as_integers, integer_sql, is_integer
from rowdelta.scan.key_bits import KeyBits, key_bits
from rowdelta.scan.key_sets import block_and_bit, forget_keys, integer_keys, row_keys, unpack_words, vector_keys
from rowdelta.scan.matching import Match, matching, matching_pairs, may_hide
from rowdelta.scan.names import check_clashes, check_names
from rowdelta.scan.read import (
    MAX_BROADCAST_BYTES,
    LiveRows,
    filters_may_mislead,
    filters_mislead,
    live_rows,
    with_hidden_floats,
)
from rowdelta.scan.scopes import scope_of
from rowdelta.scan.time_travel import live_frame
from rowdelta.scan.views import create_view, refresh_views

__all__ = [
    "INTEGER_TYPES",
    "MAX_BROADCAST_BYTES",
    "PARTITION",
    "SPEC",
    "IntegerKeys",
    "KeyBits",
    "LiveRows",
    "Match",
    "as_integers",
    "block_and_bit",
    "check_clashes",
    "check_deletes",
    "check_names",
    "check_type",
    "check_vectors",
    "create_view",
    "filters_may_mislead",
    "filters_mislead",
    "forget_keys",
    "hashed_integers",
    "hashed_keys",
    "integer_keys",
    "integer_sql",
    "is_integer",
    "key_bits",
    "live_frame",
    "live_rows",
    "matching",
    "matching_pairs",
    "may_hide",
    "read_vectors",
    "refresh_views",
    "row_keys",
    "scope_of",
    "unpack_words",
    "vector_keys",
    "with_hidden_floats",
]
