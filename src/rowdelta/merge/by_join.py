"""A merge whose clauses read old values: each pair of the join determines what happens to its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import select_updated_rows
from rowdelta.iceberg import convert_filter
from rowdelta.merge.clauses import ACTION, BY_SOURCE, MATCHED, NO_ACTION, choose_action, compute_updates
from rowdelta.merge.commit import commit_matches, count_updates
from rowdelta.merge.inserts import build_inserts, union_frames
from rowdelta.merge.matches import FOUND, SOURCE, collect_matches
from rowdelta.merge.pairs import can_broadcast, join_source, name_old_columns
from rowdelta.spark import cache_frame, coalesce_by_size, parse_column, plan_during_job, where_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.change import Result, RowLocator, Target
    from rowdelta.merge.candidates import Candidates
    from rowdelta.merge.spec import MergeSpec


def merge_joined_rows(
    merge: MergeSpec, target: Target, source: DataFrame, candidates: Candidates, *, started: float
) -> Result:
    """Joins both sides, caches the pairs, applies the clauses, and commits."""
    broadcast = can_broadcast(source)
    joined = join_source(merge, target, candidates, source, broadcast=broadcast)
    pairs_frame = apply_clauses(merge, target, joined, candidates.locator)
    with cache_frame(pairs_frame) as pairs:
        matches, (updated_rows, condition) = plan_during_job(
            merge.handle.gateway,
            lambda: collect_matches(pairs, candidates.locator),
            lambda: (_select_updates(merge, target, pairs), convert_filter(merge.handle, candidates.in_range)),
        )
        has_updates = count_updates(merge, matches) > 0
        updates = [coalesce_by_size(updated_rows, pairs)] if updated_rows is not None and has_updates else []
        new_rows = union_frames([*updates, *build_inserts(merge, target, source, matches)])
        return commit_matches(merge, target, source, matches, new_rows, condition=condition, started=started)


def apply_clauses(merge: MergeSpec, target: Target, joined: DataFrame, locator: RowLocator) -> DataFrame:
    """Selects every matched row and every row that a clause applies to, with its `ACTION` and new values."""
    is_match = f"coalesce({FOUND}, false)"
    action = choose_action(merge.list_clauses(MATCHED))
    by_source = merge.list_clauses(BY_SOURCE)
    if by_source:
        action = F.when(parse_column(is_match), action).otherwise(choose_action(by_source))
    joined = where_sql(joined.withColumn(ACTION, action), f"{is_match} OR {ACTION} <> {NO_ACTION}")
    updates = merge.updates
    values = compute_updates(merge.handle, joined, updates, merge.aliases, merge.source.columns) if updates else []
    old = name_old_columns(merge, target, locator)
    return joined.select(ACTION, parse_column(f"{is_match} AS {FOUND}"), SOURCE, *old, *values)


def _select_updates(merge: MergeSpec, target: Target, pairs: DataFrame) -> DataFrame | None:
    """Selects the rows that replace old ones; None if no clause updates."""
    numbers = [str(number) for number, _ in merge.updates]
    if not numbers:
        return None
    changed = where_sql(pairs, f"{ACTION} IN ({', '.join(numbers)})")
    return select_updated_rows(target, changed, target.columns)
