"""`t.upsert()`: replaces, inserts and deletes rows by key.

One of two lanes does the work: the old rows are looked up and deleted by position (`resolving_upsert`), or their keys
are written down without a scan of the table, which happens here.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import (
    LAST_UPDATED,
    LINEAGE_VERSION,
    REQUIRED_HINT,
    ROW_ID,
    KeyWriter,
    Operation,
    Plan,
    bind_keys,
    check_frame,
    choose_scope,
    commit_and_refresh,
    describe_encodings,
    summarise_key_deletes,
    translate_row_errors,
    with_translated_errors,
)
from rowdelta.encoding import FileContent, choose_lane
from rowdelta.iceberg import RowChange, stage_rows
from rowdelta.merge import DELETED
from rowdelta.spark import cache_frame, cache_frame_unless_source_cached, coalesce_by_size
from rowdelta.verbs.change_batch import bind_changes, check_present, find_unknown_columns
from rowdelta.verbs.newest_rows import TOMBSTONE_COLUMN, check_whole_rows, read_newest_rows
from rowdelta.verbs.partial_upsert import PartialUpsert
from rowdelta.verbs.resolving_upsert import BYTES_PER_TASK, ResolvingUpsert
from rowdelta.verbs.schema_evolution import plan_growth
from rowdelta.verbs.upsert_result import UpsertResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from rowdelta.change import KeyDeletes
    from rowdelta.choices import Encoding, Scope, Tombstones
    from rowdelta.encoding import Lane
    from rowdelta.iceberg import NewDelete, StagedFiles, TableHandle
    from rowdelta.verbs.change_batch import ChangeBatch, ChangeRules


class Upsert(Operation[UpsertResult]):
    """Replaces, inserts and deletes rows by key."""

    def __init__(
        self,
        handle: TableHandle,
        changes: DataFrame,
        rules: ChangeRules,
        *,
        columns: Sequence[str] | None = None,
        scope: Scope = "auto",
        encoding: Encoding | None = None,
        merge_schema: bool = False,
        resolve: bool | None = None,
        keep_newer: bool = False,
        tombstones: Tombstones = "drop",
        tombstone_column: str = TOMBSTONE_COLUMN,
    ) -> None:
        check_frame(changes, "changes")
        check_whole_rows(columns, rules, keep_newer=keep_newer)
        self._handle = handle
        self._changes = changes
        self._rules = rules.check_expressions(handle)
        self._columns = None if columns is None else tuple(columns)
        self._scope = scope
        self._encoding = encoding
        self._merge_schema = merge_schema
        self._resolve = resolve
        self._keep_newer = keep_newer
        self._tombstones = tombstones
        self._tombstone_column = tombstone_column

    def plan(self) -> Plan:
        """Counts the keys and says how they would be written; writes nothing."""
        self._handle.refresh()
        self._handle.check_locations()
        title = f"upsert into {self._handle.name}"
        if self._columns is not None:
            return Plan(title, self._make_partial_upsert(self._handle, self._columns).plan_steps())
        new = find_unknown_columns(self._handle, self._changes, self._rules) if self._merge_schema else []
        resolving = self._make_resolving_upsert(self._handle, self._changes.drop(*new))
        if resolving is not None:
            new_columns = [("new columns", ", ".join(new))] if new else []
            return Plan(title, (*new_columns, *resolving.plan_steps()))
        batch = bind_changes(self._handle, self._changes.drop(*new), self._rules)
        scope, scope_reason = choose_scope(self._handle, self._rules.key, self._scope)
        with translate_row_errors(REQUIRED_HINT), cache_frame(batch.select_last()) as last:
            counts = last.agg(F.count("*"), F.count_if(DELETED)).head()
            assert counts is not None
            prepared = self._make_key_writer(self._handle, last, scope).prepare()
        missing = ", ".join(column.name for column in batch.missing)
        return Plan(
            title,
            (
                ("key", ", ".join(self._rules.key)),
                *([("new columns", ", ".join(new))] if new else []),
                ("keys", f"{counts[0]:,}, of which {counts[1]:,} are deleted"),
                ("scope", f"{scope}: {scope_reason}"),
                ("lane", f"keys ({self._choose_lane(self._handle).reason})"),
                ("scan", "none: the rows are not looked up"),
                *describe_encodings(prepared),
                *([("missing columns", f"{missing} (their default, or null)")] if missing else []),
            ),
        )

    def execute(self) -> UpsertResult:
        """Writes rows and deletes in one snapshot; an empty batch commits nothing."""
        return self.execute_after(lambda: None)

    @with_translated_errors
    def execute_after(self, check: Callable[[], None]) -> UpsertResult:
        """Executes, and calls `check` once the changes have been computed, before anything is written."""
        started = time.monotonic()
        self._handle.refresh()
        self._handle.check_locations()
        if self._merge_schema:
            check = self._grow_schema(check)
        if self._columns is not None:
            return self._make_partial_upsert(self._handle, self._columns).execute(check, started)
        resolving = self._make_resolving_upsert(self._handle, self._changes)
        if resolving is not None:
            return resolving.execute(check, started)

        batch = bind_changes(self._handle, self._changes, self._rules)
        scope, _ = choose_scope(self._handle, self._rules.key, self._scope)
        with (
            translate_row_errors(REQUIRED_HINT),
            cache_frame_unless_source_cached(batch.changes, self._changes) as changes,
        ):
            writer = self._make_key_writer(self._handle, changes, scope)
            prepared = writer.prepare()
            if not prepared.are_collected:  # nothing has run yet
                changes.count()
            check()
            # Most batches have each key once: then whole rows need no shuffle to find the last change.
            has_each_key_once = prepared.are_distinct and self._scope != "partition"
            last = changes if has_each_key_once else batch.select_last(changes)
            with self._stage_rows(batch, last, changes) as rows:
                written = writer.write(prepared)
        return self._commit(rows, written, prepared, started)

    def _make_partial_upsert(self, table: TableHandle, columns: tuple[str, ...]) -> PartialUpsert:
        return PartialUpsert(table, self._changes, self._rules, columns)

    def _choose_lane(self, table: TableHandle) -> Lane:
        needs_rows = "keep_newer=True" if self._keep_newer else None if self._rules.unsent is None else "unsent="
        return choose_lane(
            table.metadata.properties, resolve=self._resolve, encoding=self._encoding, needs_rows=needs_rows
        )

    def _make_resolving_upsert(self, table: TableHandle, changes: DataFrame) -> ResolvingUpsert | None:
        """Makes the upsert that looks rows up; None if keys are to be written instead."""
        newest = read_newest_rows(
            table,
            self._rules,
            keep_newer=self._keep_newer,
            tombstones=self._tombstones,
            tombstone_column=self._tombstone_column,
        )
        lane = self._choose_lane(table)
        return ResolvingUpsert(table, changes, self._rules, self._scope, lane, newest) if lane.resolves else None

    def _make_key_writer(self, table: TableHandle, changes: DataFrame, scope: str) -> KeyWriter:
        return KeyWriter(table, bind_keys(table, changes, self._rules.key, scope), self._encoding)

    @contextmanager
    def _stage_rows(self, batch: ChangeBatch, last: DataFrame, basis: DataFrame) -> Iterator[StagedFiles]:
        """Writes the new rows; removes them if what follows fails."""
        lineage = [ROW_ID, LAST_UPDATED] if self._handle.metadata.format_version >= LINEAGE_VERSION else []
        staged = stage_rows(self._handle, coalesce_by_size(batch.select_rows(last, lineage), basis, BYTES_PER_TASK))
        try:
            yield staged
        except BaseException:
            staged.remove()
            raise

    def _commit(
        self, rows: StagedFiles, written: list[NewDelete], prepared: KeyDeletes, started: float
    ) -> UpsertResult:
        if not written and not len(rows):
            return UpsertResult(seconds=time.monotonic() - started, reasons=("there are no changes",))
        summary = summarise_key_deletes(self._handle, written)
        change = RowChange(deletes=written, rows=rows if len(rows) else None, summary=summary)
        snapshot = commit_and_refresh(self._handle, change)
        keys = sum(new.file.record_count for new in written)
        return UpsertResult(
            snapshot_id=snapshot.id,
            rows_deleted=None,
            rows_inserted=None,
            rows_updated=None,
            rows_written=rows.record_count,
            data_files_added=len(rows),
            delete_files_added=len(written),
            bytes_added=change.size_in_bytes,
            seconds=time.monotonic() - started,
            keys=keys,
            keys_deleted=keys - rows.record_count,
            vectors=sum(new.file.file_format == "PUFFIN" for new in written),
            encodings=dict(Counter(new.encoding.shown(FileContent.EQUALITY) for new in written)),
            reasons=prepared.reasons,
        )

    def _grow_schema(self, check: Callable[[], None]) -> Callable[[], None]:
        """Adds and widens columns if the changes need it; returns the check, unless it has been called.

        Any error in the changes is raised first, so that the table stays unchanged.
        """
        check_present(self._handle, self._changes, self._rules.key)
        unknown = find_unknown_columns(self._handle, self._changes, self._rules)
        growth = plan_growth(self._handle, self._changes, unknown)
        if not growth.statements:
            return check
        self._rehearse(growth.draft_table(self._handle, self._changes))
        check()
        growth.apply(self._handle)
        return lambda: None

    def _rehearse(self, draft: TableHandle) -> None:
        """Does everything except writing, on a draft of the table with its new schema."""
        if self._columns is not None:
            self._make_partial_upsert(draft, self._columns).rehearse()
            return
        resolving = self._make_resolving_upsert(draft, self._changes)
        if resolving is not None:
            resolving.rehearse()
            return
        batch = bind_changes(draft, self._changes, self._rules)
        rows, (scope, _) = batch.select_rows(batch.select_last(), []), choose_scope(draft, self._rules.key, self._scope)
        with translate_row_errors(REQUIRED_HINT):
            rows.write.format("noop").mode("overwrite").save()
            self._make_key_writer(draft, batch.changes, scope).prepare()
