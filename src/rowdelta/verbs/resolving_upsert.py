"""An upsert that looks up the rows it replaces, and deletes them by position in the snapshot that adds the new rows."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import REQUIRED_HINT, describe_mode, open_target, read_target_rows, translate_row_errors
from rowdelta.iceberg import stage_rows
from rowdelta.merge import DELETED, bind_wanted_keys, describe_lookup, number_rows, replace_by_key
from rowdelta.spark import (
    cache_frame,
    cache_frame_unless_source_cached,
    coalesce_by_size,
    count_computed_rows,
    plan_during_job,
)
from rowdelta.verbs.change_batch import bind_changes
from rowdelta.verbs.unsent_values import find_unsent
from rowdelta.verbs.upsert_result import UpsertResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from rowdelta.change import Target
    from rowdelta.choices import Scope
    from rowdelta.encoding import Lane
    from rowdelta.iceberg import StagedFiles, TableHandle
    from rowdelta.merge import KeyMatches, Replacement, WantedKeys
    from rowdelta.verbs.change_batch import ChangeBatch, ChangeRules
    from rowdelta.verbs.newest_rows import NewestRows

# Writing takes a good part of the time of an upsert, so it is worth spreading; a smaller batch is still one file.
BYTES_PER_TASK: Final = 12 << 20


@dataclass(frozen=True)
class ResolvingUpsert:
    """Replaces, inserts and deletes rows by key.

    Attributes:
        handle: The table, or a draft of it.
        changes: The changes.
        rules: How to read them.
        scope: With `partition`, a change replaces only rows in its own partition.
        lane: Why the rows are looked up.
        newest: How changes are compared with rows of the table, if they are.
    """

    handle: TableHandle
    changes: DataFrame
    rules: ChangeRules
    scope: Scope
    lane: Lane
    newest: NewestRows | None = None

    def plan_steps(self) -> tuple[tuple[str, str], ...]:
        """Counts the keys, and says which files would be read."""
        batch = self._bind()
        with (
            translate_row_errors(REQUIRED_HINT),
            cache_frame(self._number(batch, batch.select_last(keep_order=True))) as last,
        ):
            counts = last.agg(F.count("*"), F.count_if(DELETED)).head()
            assert counts is not None
            wanted = self._find_keys(batch, last)
        missing = ", ".join(column.name for column in batch.missing)
        return (
            ("key", ", ".join(self.rules.key)),
            ("keys", f"{counts[0]:,}, of which {counts[1]:,} are deleted"),
            ("lane", f"resolve: the old rows are looked up ({self.lane.reason})"),
            *describe_mode(self.handle, "merge-on-read", "rows are deleted by position", "serializable"),
            *describe_lookup(self.handle, wanted),
            *([("missing columns", f"{missing} (their default, or null)")] if missing else []),
        )

    def execute(self, check: Callable[[], None], started: float) -> UpsertResult:
        """Upserts in one snapshot; calls `check` once the changes have been computed, before anything is written.

        The caller has refreshed the table.
        """
        target = open_target(self.handle, refresh=False)
        batch = self._bind()
        with ExitStack() as caches:
            caches.enter_context(translate_row_errors(REQUIRED_HINT))
            numbered = self._number(batch, batch.changes)
            changes = caches.enter_context(cache_frame_unless_source_cached(numbered, self.changes))
            unsent = None if self.rules.unsent is None else find_unsent(batch, changes)
            wanted, table_rows = plan_during_job(
                self.handle.gateway,
                lambda: self._find_keys(batch, changes),
                lambda: None if target.files is None else read_target_rows(target, with_ids=True),
            )
            if not wanted.are_distinct():
                every = changes if unsent is None else unsent.take_from_earlier_changes(changes)
                changes = caches.enter_context(cache_frame(number_rows(batch.select_last(every, keep_order=True))))
                wanted = self._find_keys(batch, changes)
            computed = count_computed_rows(changes)
            keys = changes.count() if computed is None else computed
            check()

            def stage(current: Target, matches: KeyMatches | None) -> StagedFiles | None:
                rows = changes if matches is None else matches.join_to(changes)
                rows = rows if unsent is None else unsent.take_from_old_rows(rows, wanted, matches)
                return self._stage(batch, rows, changes, current)

            replacement = replace_by_key(target, wanted, stage, rows=table_rows, reads_old_values=unsent is not None)
        return self._make_result(replacement, wanted, keys, started)

    def rehearse(self) -> None:
        """Computes all rows without writing them, so that any error in the changes is raised."""
        batch = self._bind()
        last = batch.select_last(keep_order=True)
        with translate_row_errors(REQUIRED_HINT):
            batch.select_rows(last, []).write.format("noop").mode("overwrite").save()
            with cache_frame(self._number(batch, last)) as numbered:
                self._find_keys(batch, numbered)

    def _bind(self) -> ChangeBatch:
        changes = self.changes if self.newest is None else self.newest.add_tombstone_column(self.changes)
        return bind_changes(self.handle, changes, self.rules)

    def _number(self, batch: ChangeBatch, changes: DataFrame) -> DataFrame:
        """Numbers changes; with the order of each as the table stores it, if it is compared with that of a row."""
        return number_rows(changes if self.newest is None else self.newest.cast_order(batch, changes))

    def _find_keys(self, batch: ChangeBatch, changes: DataFrame) -> WantedKeys:
        details = {} if self.newest is None else self.newest.compare(batch)
        return bind_wanted_keys(
            self.handle,
            changes,
            self.rules.key,
            self.scope,
            deletes="none" if self.rules.delete_when is None else "some",
            details=details,
            order=None if self.newest is None else self.newest.compare_integers(batch),
            may_be_null=False,
        )

    def _stage(self, batch: ChangeBatch, rows: DataFrame, basis: DataFrame, target: Target) -> StagedFiles | None:
        """Writes new rows, with the ids of the rows that they replace."""
        rows = rows if self.newest is None else self.newest.bury(batch, rows)
        rows = batch.select_rows(rows, target.lineage)
        staged = stage_rows(self.handle, coalesce_by_size(rows, basis, BYTES_PER_TASK))
        return staged if len(staged) else None

    def _make_result(self, replacement: Replacement, wanted: WantedKeys, keys: int, started: float) -> UpsertResult:
        counts, change = replacement.counts, replacement.change
        written, deleted = replacement.rows_written, len(wanted.deleted_numbers)
        keeps_deleted = self.newest is not None and self.newest.tombstone is not None
        tombstones = deleted - counts.deletes_ignored if keeps_deleted else 0
        if replacement.snapshot is None:
            reason = "there are no changes" if keys == 0 else "no row is inserted, updated or deleted"
            return UpsertResult(
                seconds=time.monotonic() - started,
                keys=keys,
                keys_deleted=deleted,
                changes_ignored=counts.ignored,
                resolved=True,
                reasons=(reason,),
            )
        return UpsertResult(
            snapshot_id=replacement.snapshot.id,
            rows_deleted=counts.deleted,
            rows_inserted=written - counts.updated - tombstones,
            rows_updated=counts.updated,
            rows_written=written,
            data_files_added=0 if change.rows is None else len(change.rows),
            delete_files_added=len(change.deletes),
            delete_files_removed=len(change.removed_deletes),
            bytes_added=change.size_in_bytes,
            seconds=time.monotonic() - started,
            keys=keys,
            keys_deleted=deleted,
            changes_ignored=counts.ignored,
            resolved=True,
            reasons=(self.lane.reason,),
        )
