"""Keeping tables healthy."""

from __future__ import annotations

from rowdelta.maintain.advice import Recommendation, TableAdvice, advise
from rowdelta.maintain.compact import Compact, CompactOptions, CompactResult
from rowdelta.maintain.cutoff import OlderThan
from rowdelta.maintain.dangling import RemoveDangling, RemoveDanglingResult
from rowdelta.maintain.debt import Debt, measure_debt
from rowdelta.maintain.debt_advice import Advice
from rowdelta.maintain.debt_costs import ReadCost
from rowdelta.maintain.expire import Expire, ExpireResult
from rowdelta.maintain.groups import DEFAULT_MEMORY
from rowdelta.maintain.orphans import OrphansResult, RemoveOrphans
from rowdelta.maintain.progress import OnProgress, Progress
from rowdelta.maintain.resolve import Resolve, ResolveResult
from rowdelta.maintain.rewrite_deletes import DEFAULT_MIN_INPUT_FILES, RewriteDeletes, RewriteDeletesResult

__all__ = [
    "DEFAULT_MEMORY",
    "DEFAULT_MIN_INPUT_FILES",
    "Advice",
    "Compact",
    "CompactOptions",
    "CompactResult",
    "Debt",
    "Expire",
    "ExpireResult",
    "OlderThan",
    "OnProgress",
    "OrphansResult",
    "Progress",
    "ReadCost",
    "Recommendation",
    "RemoveDangling",
    "RemoveDanglingResult",
    "RemoveOrphans",
    "Resolve",
    "ResolveResult",
    "RewriteDeletes",
    "RewriteDeletesResult",
    "TableAdvice",
    "advise",
    "measure_debt",
]
