"""The engine of verbs that look rows up: MERGE, with its condition and clauses, and upserts and deletes by key."""

from __future__ import annotations

from rowdelta.merge.clauses import BY_SOURCE, MATCHED, NOT_MATCHED, Clause, select_clauses
from rowdelta.merge.condition import parse_on_condition
from rowdelta.merge.integer_order import IntegerOrder
from rowdelta.merge.key_deletion import KeyDeletion
from rowdelta.merge.key_matches import DEAD, STALE, KeyMatches, read_old_values
from rowdelta.merge.key_replacement import Replacement, replace_by_key
from rowdelta.merge.matches import SOURCE
from rowdelta.merge.run import execute_merge, plan_merge
from rowdelta.merge.spec import MergeSpec
from rowdelta.merge.wanted_keys import (
    CHANGE,
    DELETED,
    TABLE,
    WantedKeys,
    bind_wanted_keys,
    describe_lookup,
    number_rows,
)

__all__ = [
    "BY_SOURCE",
    "CHANGE",
    "DEAD",
    "DELETED",
    "MATCHED",
    "NOT_MATCHED",
    "SOURCE",
    "STALE",
    "TABLE",
    "Clause",
    "IntegerOrder",
    "KeyDeletion",
    "KeyMatches",
    "MergeSpec",
    "Replacement",
    "WantedKeys",
    "bind_wanted_keys",
    "describe_lookup",
    "execute_merge",
    "number_rows",
    "parse_on_condition",
    "plan_merge",
    "read_old_values",
    "replace_by_key",
    "select_clauses",
]
