"""The engine of MERGE, which a partial upsert uses, too: its condition, its clauses, and ways to find matching rows."""

from __future__ import annotations

from rowdelta.merge.clauses import BY_SOURCE, MATCHED, NOT_MATCHED, Clause, select_clauses
from rowdelta.merge.condition import parse_on_condition
from rowdelta.merge.run import execute_merge, plan_merge
from rowdelta.merge.spec import MergeSpec

__all__ = [
    "BY_SOURCE",
    "MATCHED",
    "NOT_MATCHED",
    "Clause",
    "MergeSpec",
    "execute_merge",
    "parse_on_condition",
    "plan_merge",
    "select_clauses",
]
