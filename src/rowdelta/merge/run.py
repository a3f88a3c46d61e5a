"""Runs a merge: reads the keys of its source, and takes the cheapest way to find the rows that match."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import (
    REQUIRED_HINT,
    Plan,
    can_collect_rows,
    describe_mode,
    describe_without_deletes,
    estimate_scan,
    open_target,
    read_target_rows,
    translate_row_errors,
)
from rowdelta.iceberg import build_row_filter
from rowdelta.merge.by_join import merge_joined_rows
from rowdelta.merge.by_replacement import map_source_values, replace_matched_rows
from rowdelta.merge.candidates import collect_source_keys, select_candidates
from rowdelta.merge.clauses import BY_SOURCE, MATCHED
from rowdelta.merge.commit import commit_first_rows
from rowdelta.merge.condition import find_key_range
from rowdelta.merge.matches import SOURCE
from rowdelta.spark import cache_frame_unless_source_cached, parse_column, plan_during_job

if TYPE_CHECKING:
    from rowdelta.change import Result
    from rowdelta.merge.spec import MergeSpec


def plan_merge(merge: MergeSpec) -> Plan:
    """Says what a merge would do, and which files it would read."""
    target = open_target(merge.handle)
    title = f"merge into {merge.handle.name}"
    steps = tuple(("when", str(clause)) for clause in merge.clauses)
    if target.snapshot is None:
        return Plan(title, (*steps, ("scan", "none: the table is empty")))
    keys = None if merge.list_clauses(BY_SOURCE) else find_key_range(merge.handle, merge.source, merge.on.pairs)
    condition = build_row_filter(merge.handle, None if keys is None else parse_column(keys))
    if merge.list_clauses(MATCHED, BY_SOURCE):
        mode = describe_mode(merge.handle, merge.mode, merge.mode_reason, merge.isolation)
    else:
        mode = describe_without_deletes("append (no clause changes a row)", merge.isolation)
    return Plan(title, (*steps, *mode, *estimate_scan(merge.handle, target.snapshot.id, condition)))


def execute_merge(merge: MergeSpec) -> Result:
    """Merges in one snapshot; commits nothing if no clause applies to a row."""
    started = time.monotonic()
    target = open_target(merge.handle)
    numbered = merge.source.withColumn(SOURCE, F.monotonically_increasing_id())
    with translate_row_errors(REQUIRED_HINT), cache_frame_unless_source_cached(numbered, merge.source) as source:
        if target.files is None:
            return commit_first_rows(merge, target, source, started)
        replaces = merge.replaces_rows and can_collect_rows(target)
        keys, (rows, values) = plan_during_job(
            merge.handle.gateway,
            lambda: collect_source_keys(merge, source),
            lambda: (read_target_rows(target, with_ids=True), map_source_values(merge, source) if replaces else {}),
        )
        candidates = select_candidates(target, rows, keys)
        if replaces:
            return replace_matched_rows(merge, target, source, candidates, values, started=started)
        return merge_joined_rows(merge, target, source, candidates, started=started)
