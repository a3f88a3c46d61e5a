"""`t.upsert()`: changes by key, without looking for the rows that they replace."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import (
    LAST_UPDATED,
    LINEAGE_VERSION,
    REQUIRED_HINT,
    ROW_ID,
    KeyWriter,
    Operation,
    Plan,
    Result,
    apply,
    bind_keys,
    check_frame,
    choose_scope,
    find_isolation,
    find_mode,
    summarise_key_deletes,
    translate_row_errors,
    with_translated_errors,
)
from rowdelta.encoding import FileContent
from rowdelta.iceberg import RowChange, stage_rows
from rowdelta.spark import in_few_files, kept, kept_once, quote
from rowdelta.verbs.change_batch import (
    DELETED,
    ChangeBatch,
    ChangeRules,
    bind_changes,
    check_present,
    find_unknown_columns,
)
from rowdelta.verbs.merge_by_join import MergeRun
from rowdelta.verbs.merge_clauses import MATCHED, NOT_MATCHED, Clause
from rowdelta.verbs.merge_condition import parse_on_condition
from rowdelta.verbs.schema_evolution import plan_growth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from rowdelta.change import KeyDeletes
    from rowdelta.choices import Encoding, Scope
    from rowdelta.iceberg import NewDelete, StagedFiles, TableHandle


# Writing is most of an upsert, so that it pays to spread it; a batch below this size is still one file.
_BYTES_PER_TASK: Final = 12 << 20


@dataclass(frozen=True)
class UpsertResult(Result):
    """What an upsert did.

    Nothing is looked up, so that `rows_inserted`, `rows_updated` and `rows_deleted` are not known, and None, unless
    `columns` is given: setting some columns reads the table, as a merge does.

    Attributes:
        rows_written: The rows that were written, new ones and those that replace others.
        keys: Distinct keys in the batch.
        keys_deleted: Keys whose last change was a delete.
        vectors: Delete files that are equality delete vectors.
        encodings: Delete files by encoding.
        reasons: Why each encoding was chosen.

    Examples:
        >>> result = t.upsert(changes, key="id", order_by="seq", delete_when="op = 'D'").execute()
        >>> result.keys, result.keys_deleted, result.rows_written, result.vectors
        (3, 1, 2, 1)
        >>> result.rows_inserted is None  # one of the two rows replaces another, but nothing has been looked up
        True
    """

    rows_written: int = 0
    keys: int = 0
    keys_deleted: int = 0
    vectors: int = 0
    encodings: dict[str, int] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


class Upsert(Operation[UpsertResult]):
    """Replaces, inserts and deletes rows by key. The cost is that of the changes, whatever the table's size."""

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
    ) -> None:
        check_frame(changes, "changes")
        handle.refresh()
        handle.check_locations()
        self._handle = handle
        self._changes = changes
        self._rules = rules.checked(handle)
        self._columns = None if columns is None else list(columns)
        self._scope = scope
        self._encoding = encoding
        self._merge_schema = merge_schema

    def plan(self) -> Plan:
        """Counts the keys and says how they would be written; writes nothing."""
        title = f"upsert into {self._handle.name}"
        if self._columns is not None:
            merge = self._merge(bind_changes(self._handle, self._changes, self._rules, self._partial()).last())
            reason = f"a merge: to set {', '.join(self._columns)} alone, the old rows must be read"
            with translate_row_errors(REQUIRED_HINT):
                return Plan(title, (("how", reason), *merge.plan().steps))
        steps = [("key", ", ".join(self._rules.key))]
        strangers = find_unknown_columns(self._handle, self._changes, self._rules) if self._merge_schema else []
        steps += [("new columns", ", ".join(strangers))] if strangers else []
        batch = bind_changes(self._handle, self._changes.drop(*strangers), self._rules)
        scope, why = choose_scope(self._handle, self._rules.key, self._scope)
        with translate_row_errors(REQUIRED_HINT), kept(batch.last()) as last:
            counted = last.agg(F.count("*"), F.count_if(DELETED)).head()
            assert counted is not None
            writer = self._writer(last, scope)
            choices = {choice.reason: choice for _, choice in writer.prepare().chosen}
        steps += [
            ("keys", f"{counted[0]:,}, of which {counted[1]:,} are deleted"),
            ("scope", f"{scope}: {why}"),
            ("scan", "none: the rows are not looked up"),
            *(
                ("encoding", f"{choice.encoding.shown(FileContent.EQUALITY)}: {choice.reason}")
                for choice in choices.values()
            ),
        ]
        if batch.missing:
            names = ", ".join(column.name for column in batch.missing)
            steps.append(("missing columns", f"{names} (their default, or null)"))
        return Plan(title, tuple(steps))

    def execute(self) -> UpsertResult:
        """Writes rows and deletes in one snapshot; an empty batch commits nothing."""
        return self.execute_after(lambda: None)

    @with_translated_errors
    def execute_after(self, check: Callable[[], None]) -> UpsertResult:
        """As `execute`, with a last look before anything is written: the changes have been computed by then."""
        started = time.monotonic()
        self._handle.refresh()
        self._handle.check_locations()
        if self._merge_schema:
            check = self._grown(check)
        if self._columns is not None:
            return self._merged(check, started)
        batch = bind_changes(self._handle, self._changes, self._rules)
        scope, _ = choose_scope(self._handle, self._rules.key, self._scope)
        with translate_row_errors(REQUIRED_HINT), kept_once(batch.changes, self._changes) as changes:
            writer = self._writer(changes, scope)
            prepared = writer.prepare()
            if any(keys is None for keys, _ in prepared.chosen):  # these keys are not collected: nothing has run yet
                changes.count()
            check()
            # Most batches have each key once, and need no shuffle of whole rows to know that.
            once = prepared.are_distinct and self._scope != "partition"
            with self._staged(batch, changes if once else batch.last(changes), changes) as rows:
                written = writer.write(prepared)
        return self._commit(rows, written, prepared, started)

    def _grown(self, check: Callable[[], None]) -> Callable[[], None]:
        """Changes the schema where it must be; returns the check, or none where it has been made.

        What is wrong with the changes must show before that: then the table stays as it is.
        """
        check_present(self._handle, self._changes, self._rules.key)
        growth = plan_growth(
            self._handle, self._changes, find_unknown_columns(self._handle, self._changes, self._rules)
        )
        if not growth.statements:
            return check
        self._rehearse(growth.rehearse_on(self._handle, self._changes))
        check()
        growth.apply(self._handle)
        return lambda: None

    def _rehearse(self, table: TableHandle) -> None:
        """Does all that comes before writing, on a table that is a draft of what this one becomes."""
        if self._columns is None:
            batch = bind_changes(table, self._changes, self._rules)
            rows, scope = batch.rows(batch.last(), []), choose_scope(table, self._rules.key, self._scope)[0]
            with translate_row_errors(REQUIRED_HINT):
                rows.write.format("noop").mode("overwrite").save()
                self._writer(batch.changes, scope, table).prepare()
            return
        some = [table.find_column(name).name for name in self._partial()]
        batch = bind_changes(table, self._changes, self._rules, some)
        with translate_row_errors(REQUIRED_HINT):
            batch.rows(batch.last(), [], some).write.format("noop").mode("overwrite").save()
            self._merge(batch.last(), table).plan()

    def _writer(self, last: DataFrame, scope: str, table: TableHandle | None = None) -> KeyWriter:
        table = table or self._handle
        return KeyWriter(table, bind_keys(table, last, self._rules.key, scope), self._encoding)

    @contextmanager
    def _staged(self, batch: ChangeBatch, last: DataFrame, basis: DataFrame) -> Iterator[StagedFiles]:
        lineage = [ROW_ID, LAST_UPDATED] if self._handle.metadata.format_version >= LINEAGE_VERSION else []
        staged = stage_rows(self._handle, in_few_files(batch.rows(last, lineage), basis, _BYTES_PER_TASK))
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
        change = RowChange(
            deletes=written, rows=rows if len(rows) else None, summary=summarise_key_deletes(self._handle, written)
        )
        snapshot = apply(self._handle, change)
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

    def _partial(self) -> list[str]:
        return list(dict.fromkeys([*self._rules.key, *(self._columns or [])]))

    def _merge(self, changes: DataFrame, table: TableHandle | None = None) -> MergeRun:
        """Some columns of a row keep their old values: the old row must be read."""
        assert self._columns is not None
        table = table or self._handle
        schema, rule = table.metadata.schema, table.name_rule
        key = [schema.find(name, rule).name for name in self._rules.key]
        wanted = [schema.find(name, rule).name for name in self._columns]
        values = {name: F.col(f"s.{quote(name)}") for name in wanted if name not in key}
        deleted = F.col(f"s.{quote(DELETED)}")
        new = {name: F.col(f"s.{quote(name)}") for name in dict.fromkeys([*key, *wanted])}
        clauses = (
            Clause(MATCHED, "delete", deleted),
            Clause(MATCHED, "update", None, values),
            Clause(NOT_MATCHED, "insert", ~deleted, new),
        )
        aliases = ("t", "s")
        on = parse_on_condition(table, key, changes, aliases)
        mode, why = find_mode(table, "merge", None)
        return MergeRun(table, changes, on, aliases, clauses, mode, why, find_isolation(table, "merge", None))

    def _merged(self, check: Callable[[], None], started: float) -> UpsertResult:
        batch = bind_changes(self._handle, self._changes, self._rules, self._partial())
        with translate_row_errors(REQUIRED_HINT), kept(batch.last()) as last:
            counted = last.agg(F.count("*"), F.count_if(DELETED)).head()
            assert counted is not None
            check()
            result = self._merge(last).execute()
        return replace(
            UpsertResult(**{**result.to_dict(), "seconds": time.monotonic() - started}),
            rows_written=(result.rows_inserted or 0) + (result.rows_updated or 0),
            keys=counted[0],
            keys_deleted=counted[1],
            reasons=("only some columns are set, so the old rows were read",),
        )
