"""A merge that replaces matched rows by whole rows of the source: it needs only positions and ids of the old rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change import ListedFilesLocator, select_updated_rows
from rowdelta.iceberg import convert_filter
from rowdelta.merge.clauses import MATCHED, NOT_MATCHED, Clause, compute_insert
from rowdelta.merge.commit import commit_matches
from rowdelta.merge.inserts import build_inserts, union_frames
from rowdelta.merge.matches import SOURCE, group_replacements
from rowdelta.merge.pairs import can_broadcast, join_source, name_old_columns
from rowdelta.spark import coalesce_by_size, collect_arrow, plan_during_job

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from rowdelta.change import Result, Target
    from rowdelta.merge.candidates import Candidates
    from rowdelta.merge.matches import Matches
    from rowdelta.merge.spec import MergeSpec


def map_source_values(merge: MergeSpec, source: DataFrame) -> dict[str, Column]:
    """Maps every column of the table to the value of the source's column."""
    rows, clause = source.alias(merge.aliases[1]), Clause(MATCHED, "update")
    return compute_insert(merge.handle, rows, clause, merge.aliases[1], merge.source.columns)


def replace_matched_rows(
    merge: MergeSpec,
    target: Target,
    source: DataFrame,
    candidates: Candidates,
    values: dict[str, Column],
    *,
    started: float,
) -> Result:
    """Collects where matched rows are, and commits rows of the source for them; `values` are its columns."""
    ((number, _),) = merge.updates
    assert isinstance(candidates.locator, ListedFilesLocator)
    pairs, condition = plan_during_job(
        merge.handle.gateway,
        lambda: _collect_pairs(merge, target, source, candidates),
        lambda: convert_filter(merge.handle, candidates.in_range),
    )
    matches = group_replacements(merge.handle.spark, pairs, candidates.locator, number)
    new_rows = _build_rows(merge, target, source, matches, values)
    return commit_matches(merge, target, source, matches, new_rows, condition=condition, started=started)


def _collect_pairs(merge: MergeSpec, target: Target, source: DataFrame, candidates: Candidates) -> pa.Table:
    """Collects where matched rows are, their ids, and the number of the source's row."""
    lookup, locator = candidates.lookup, candidates.locator
    if lookup is not None and lookup.decides:
        return lookup.find(locator.mark(candidates.rows, [*target.updated_lineage, lookup.key]))
    joined = join_source(merge, target, candidates, source, broadcast=can_broadcast(source))
    return collect_arrow(joined.select(*name_old_columns(merge, target, locator), SOURCE))


def _build_rows(
    merge: MergeSpec, target: Target, source: DataFrame, matches: Matches, values: dict[str, Column]
) -> DataFrame | None:
    """Builds the new rows from the source alone, so that the join with the table need not carry them.

    If one clause inserts all other rows unchanged, a single frame has both: rows with and without an old id.
    """
    inserts = [clause for _, clause in merge.list_clauses(NOT_MATCHED)]
    inserts_all = len(inserts) == 1 and inserts[0].is_plain
    joined = matches.join_to(source.alias(merge.aliases[1]), "left" if inserts_all else "inner")
    rows = joined.select(*(values[name].alias(name) for name in target.columns), *target.updated_lineage)
    replaced = coalesce_by_size(select_updated_rows(target, rows), source)
    if inserts_all:
        return replaced
    return union_frames([*([replaced] if matches.touched else []), *build_inserts(merge, target, source, matches)])
