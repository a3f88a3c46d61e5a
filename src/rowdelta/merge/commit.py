"""Commits the matches of a merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change import commit_rows, make_empty_result, stage_change
from rowdelta.errors import InputError
from rowdelta.iceberg import RowChange, build_row_filter, stage_rows
from rowdelta.merge.clauses import MATCHED, NOT_MATCHED
from rowdelta.merge.inserts import apply_inserts, count_inserts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.change import Result, Target
    from rowdelta.iceberg import RowFilter
    from rowdelta.merge.matches import Matches
    from rowdelta.merge.spec import MergeSpec


def commit_matches(
    merge: MergeSpec,
    target: Target,
    source: DataFrame,
    matches: Matches,
    new_rows: DataFrame | None,
    *,
    condition: RowFilter,
    started: float,
) -> Result:
    """Stages and commits the changes of matched rows, and the new rows."""
    _check_cardinality(merge, matches)
    touched = matches.touched
    if not touched and new_rows is None:
        return make_empty_result(started)
    updated = count_updates(merge, matches)
    deleted = sum(len(file.positions) for file in touched) - updated  # a lone delete may match a row more than once
    rewrites = merge.mode == "copy-on-write" and bool(touched)
    inserted = count_inserts(merge, source, matches) if rewrites else 0  # if this fails, no file has been written
    validation = target.build_validation(condition, merge.isolation, [file.path for file in touched], updates=True)
    change = stage_change(target, merge.mode, touched, new_rows, validation)
    if not rewrites and change.rows is not None:
        inserted = change.rows.record_count - updated
    return _commit(merge, change, started, deleted=deleted, inserted=inserted, updated=updated)


def commit_first_rows(merge: MergeSpec, target: Target, source: DataFrame, started: float) -> Result:
    """Inserts into an empty table, where nothing can match."""
    if not merge.list_clauses(NOT_MATCHED):
        return make_empty_result(started)
    staged = stage_rows(merge.handle, apply_inserts(merge, target, source))
    validation = target.build_validation(build_row_filter(merge.handle, None), merge.isolation, [], updates=False)
    change = RowChange(rows=staged, validation=validation)
    return _commit(merge, change, started, deleted=0, inserted=staged.record_count, updated=0)


def count_updates(merge: MergeSpec, matches: Matches) -> int:
    """Counts the rows that clauses update."""
    return sum(matches.counts.get(number, 0) for number, _ in merge.updates)


def _check_cardinality(merge: MergeSpec, matches: Matches) -> None:
    """Refuses several matches for one row of the table, which has no single new value then."""
    matched = [clause for _, clause in merge.list_clauses(MATCHED)]
    if not matched or (len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None):
        return
    if matches.twice:
        raise InputError(
            "a row of the table is matched by more than one row of the source",
            hint="reduce the source to one row per key first, for example to the newest",
        )


def _commit(
    merge: MergeSpec, change: RowChange, started: float, *, deleted: int, inserted: int, updated: int
) -> Result:
    if not change.deletes and not change.removed_rows and not (change.rows is not None and len(change.rows)):
        return make_empty_result(started)
    return commit_rows(merge.handle, change, started, deleted=deleted, inserted=inserted, updated=updated)
