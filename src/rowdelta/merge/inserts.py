"""The rows that a merge inserts: those of the source that match nothing."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.merge.clauses import ACTION, NO_ACTION, NOT_MATCHED, choose_action, compute_insert
from rowdelta.spark import coalesce_by_size

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.change import Target
    from rowdelta.merge.matches import Matches
    from rowdelta.merge.spec import MergeSpec


def build_inserts(merge: MergeSpec, target: Target, source: DataFrame, matches: Matches) -> list[DataFrame]:
    """Builds the new rows, as a list of one frame; empty if no clause inserts."""
    if not merge.list_clauses(NOT_MATCHED):
        return []
    return [coalesce_by_size(apply_inserts(merge, target, matches.select_unmatched(source)), source)]


def apply_inserts(merge: MergeSpec, target: Target, select_unmatched: DataFrame) -> DataFrame:
    """Applies the clauses to rows of the source; the new rows have no lineage yet."""
    clauses = merge.list_clauses(NOT_MATCHED)
    rows = select_unmatched.alias(merge.aliases[1]).withColumn(ACTION, choose_action(clauses))
    rows = rows.where(F.col(ACTION) != NO_ACTION)
    frames = []
    for number, clause in clauses:
        of_clause = rows.where(F.col(ACTION) == number)
        values = compute_insert(merge.handle, of_clause, clause, merge.aliases[1], merge.source.columns)
        no_lineage = {name: F.lit(None).cast("bigint") for name in target.lineage}
        columns = {name: values[name] for name in target.columns} | no_lineage
        frames.append(of_clause.select(*(value.alias(name) for name, value in columns.items())))
    inserts = union_frames(frames)
    assert inserts is not None
    return inserts


def count_inserts(merge: MergeSpec, source: DataFrame, matches: Matches) -> int:
    """Counts the rows to insert."""
    clauses = merge.list_clauses(NOT_MATCHED)
    if not clauses:
        return 0
    rows = matches.select_unmatched(source).alias(merge.aliases[1])
    return rows.where(choose_action(clauses) != NO_ACTION).count()


def union_frames(frames: list[DataFrame]) -> DataFrame | None:
    """Puts frames together; None if there are none."""
    return reduce(lambda one, other: one.unionByName(other), frames) if frames else None
