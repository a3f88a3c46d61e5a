"""`t.merge()`: rows of a source update, delete and insert rows of the table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import InputError
from rowdelta.iceberg import RowChange, row_filter, size_in_bytes, stage_rows
from rowdelta.ops.changes import apply_rows
from rowdelta.ops.merge_clauses import (
    BY_SOURCE,
    MATCHED,
    NO_ACTION,
    NOT_MATCHED,
    Clause,
    action_of,
    inserted,
    new_values,
)
from rowdelta.ops.merge_keys import key_range, on_condition
from rowdelta.ops.operation import Operation, Plan, Result
from rowdelta.ops.position_files import write_positions
from rowdelta.ops.positions import FilePositions, collect_positions
from rowdelta.ops.refusals import REQUIRED_HINT, refusals
from rowdelta.ops.rewrite import rewrite_files
from rowdelta.ops.scan_estimate import estimate
from rowdelta.ops.target import FILE, POSITION, ROW_ID, Target, isolation_of, mode_of, open_target
from rowdelta.ops.update import in_few_files, kept, replace_rows, updated_rows
from rowdelta.scan import MAX_BROADCAST_BYTES, PARTITION, SPEC, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import TableHandle, Validation

ACTION: Final = "__rd_action"
SOURCE: Final = "__rd_source"
FOUND: Final = "__rd_found"


class Merge(Operation[Result]):
    """Merges a source into the table. Clauses are tried in the order in which they are added."""

    def __init__(
        self,
        handle: TableHandle,
        source: DataFrame,
        on: str | Column | Sequence[str],
        aliases: tuple[str, str],
        *,
        mode: str | None,
        isolation: str | None,
    ) -> None:
        self._handle = handle
        self._source = source
        self._aliases = aliases
        self._on, self._pairs = on_condition(handle, on, source, aliases)
        self._clauses: list[Clause] = []
        self._mode, self._why = mode_of(handle, "merge", mode)
        self._isolation = isolation_of(handle, "merge", isolation)

    def when_matched_update(self, values: Mapping[str, str | Column], condition: str | Column | None = None) -> Merge:
        """Sets columns of a row that the source matches."""
        return self._add(Clause(MATCHED, "update", condition, dict(values)))

    def when_matched_update_all(self, condition: str | Column | None = None) -> Merge:
        """Sets every column of a matched row from the source's column of the same name."""
        return self._add(Clause(MATCHED, "update", condition))

    def when_matched_delete(self, condition: str | Column | None = None) -> Merge:
        """Deletes a matched row."""
        return self._add(Clause(MATCHED, "delete", condition))

    def when_not_matched_insert(
        self, values: Mapping[str, str | Column], condition: str | Column | None = None
    ) -> Merge:
        """Inserts a row for a row of the source that matches none; columns that are not named become null."""
        return self._add(Clause(NOT_MATCHED, "insert", condition, dict(values)))

    def when_not_matched_insert_all(self, condition: str | Column | None = None) -> Merge:
        """Inserts a row of the source that matches none, column by column of the same name."""
        return self._add(Clause(NOT_MATCHED, "insert", condition))

    def when_not_matched_by_source_update(
        self, values: Mapping[str, str | Column], condition: str | Column | None = None
    ) -> Merge:
        """Sets columns of a row that no row of the source matches."""
        return self._add(Clause(BY_SOURCE, "update", condition, dict(values)))

    def when_not_matched_by_source_delete(self, condition: str | Column | None = None) -> Merge:
        """Deletes a row that no row of the source matches."""
        return self._add(Clause(BY_SOURCE, "delete", condition))

    def _add(self, clause: Clause) -> Merge:
        self._clauses.append(clause)
        return self

    def _of(self, *kinds: str) -> list[tuple[int, Clause]]:
        return [(number, clause) for number, clause in enumerate(self._clauses) if clause.when in kinds]

    def plan(self) -> Plan:
        """Says what would be done, and which files it would read."""
        self._check()
        target = open_target(self._handle)
        title = f"merge into {self._handle.name}"
        steps = tuple(("when", str(clause)) for clause in self._clauses)
        if target.snapshot is None:
            return Plan(title, (*steps, ("scan", "none: the table is empty")))
        keys = None if self._of(BY_SOURCE) else key_range(self._handle, self._source, self._pairs)
        condition = row_filter(self._handle, keys)
        mode = (("mode", f"{self._mode} ({self._why})"), ("isolation", self._isolation))
        return Plan(title, (*steps, *mode, *estimate(self._handle, target.snapshot.id, condition)))

    def execute(self) -> Result:
        """Merges in one snapshot; where no clause applies to any row there is none."""
        self._check()
        started = time.monotonic()
        target = open_target(self._handle)
        marked = self._source.withColumn(SOURCE, F.monotonically_increasing_id())
        with refusals(REQUIRED_HINT), kept(marked) as source:
            if target.snapshot is None:
                return self._insert_only(target, source, started)
            keys = None if self._of(BY_SOURCE) else key_range(self._handle, source, self._pairs)
            with kept(self._pairs_frame(target, source, keys)) as pairs:
                return self._apply(target, source, pairs, keys, started)

    def _check(self) -> None:
        if not self._clauses:
            raise InputError("the merge has no clause", hint="add one: .when_matched_update_all()")
        for kind in (MATCHED, NOT_MATCHED, BY_SOURCE):
            clauses = [clause for _, clause in self._of(kind)]
            early = [clause for clause in clauses[:-1] if clause.condition is None]
            if early:
                raise InputError(
                    f"the clause '{early[0]}' has no condition, so the clauses after it are never reached",
                    hint="give it a condition, or put it last",
                )

    def _pairs_frame(self, target: Target, source: DataFrame, keys: str | None) -> DataFrame:
        """Rows of the table with what becomes of them: every matched row, and others that a clause applies to."""
        target_alias, source_alias = self._aliases
        by_source = self._of(BY_SOURCE)
        rows = target.rows() if keys is None else target.rows().where(keys)
        named = quote(target_alias)
        right = source.withColumn(FOUND, F.lit(True)).alias(source_alias)
        if size_in_bytes(source) <= MAX_BROADCAST_BYTES:
            right = F.broadcast(right)
        joined = rows.alias(target_alias).join(right, self._on, "left" if by_source else "inner")
        found = F.coalesce(F.col(FOUND), F.lit(False))
        action = action_of(self._of(MATCHED))
        if by_source:
            action = F.when(found, action).otherwise(action_of(by_source))
        joined = joined.withColumn(ACTION, action).where(found | (F.col(ACTION) != NO_ACTION))
        updates = [(number, clause) for number, clause in self._of(MATCHED, BY_SOURCE) if clause.action == "update"]
        values = new_values(self._handle, joined, updates, self._aliases, self._source.columns) if updates else {}
        places = [FILE, POSITION, SPEC, *([PARTITION] if PARTITION in rows.columns else [])]
        places += [ROW_ID] if target.has_lineage else []
        return joined.select(
            ACTION,
            found.alias(FOUND),
            F.col(SOURCE),
            *(F.col(f"{named}.{name}") for name in places),
            *(value.alias(f"__rd_new_{name}") for name, value in values.items()),
        )

    def _apply(self, target: Target, source: DataFrame, pairs: DataFrame, keys: str | None, started: float) -> Result:
        counts = {(row[ACTION], row[FOUND]): row["count"] for row in pairs.groupBy(ACTION, FOUND).count().collect()}
        touched = collect_positions(self._handle, pairs.where(F.col(ACTION) != NO_ACTION))
        self._check_cardinality(pairs, touched, counts)
        by_action = {"update": 0, "delete": sum(len(file.positions) for file in touched)}
        for (number, _), count in counts.items():
            if number != NO_ACTION and self._clauses[number].action == "update":
                by_action["update"] += count
        by_action["delete"] -= by_action["update"]  # a lone delete may match a row more than once
        new_rows = self._new_rows(target, source, pairs, updates=by_action["update"] > 0)
        condition = row_filter(self._handle, keys)
        validation = target.validation(condition, self._isolation, [file.path for file in touched], updates=True)
        if not touched and new_rows is None:
            return Result(seconds=time.monotonic() - started)
        if self._mode == "copy-on-write" and touched:
            change = rewrite_files(target, touched, new_rows, validation)
            inserts = self._count_inserts(source, pairs)
        elif new_rows is None:
            change = self._only_deletes(target, touched, validation)
            inserts = 0
        else:
            change = replace_rows(target, touched, new_rows, validation)
            assert change.rows is not None
            inserts = change.rows.record_count - by_action["update"]
        return self._commit(change, by_action, inserts, started)

    def _only_deletes(self, target: Target, touched: list[FilePositions], validation: Validation) -> RowChange:
        assert target.files is not None
        new, old = write_positions(self._handle, target.files, touched)
        return RowChange(deletes=new, removed_deletes=old, validation=validation)

    def _commit(self, change: RowChange, by_action: dict[str, int], inserts: int, started: float) -> Result:
        if not change.deletes and not change.removed_rows and not (change.rows is not None and len(change.rows)):
            return Result(seconds=time.monotonic() - started)
        deleted, updated = by_action["delete"], by_action["update"]
        return apply_rows(self._handle, change, started, deleted=deleted, inserted=inserts, updated=updated)

    def _check_cardinality(
        self, pairs: DataFrame, touched: list[FilePositions], counts: dict[tuple[int, bool], int]
    ) -> None:
        """A row of the table that several rows of the source match has no single new value."""
        matched = [clause for _, clause in self._of(MATCHED)]
        if not matched or (len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None):
            return
        if counts.get((NO_ACTION, True), 0) == 0:
            twice = sum(file.rows - len(file.positions) for file in touched) > 0
        else:
            twice = not pairs.where(FOUND).groupBy(FILE, POSITION).count().where("count > 1").isEmpty()
        if twice:
            raise InputError(
                "a row of the table is matched by more than one row of the source",
                hint="reduce the source to one row per key first, for example to the newest",
            )

    def _new_rows(self, target: Target, source: DataFrame, pairs: DataFrame, *, updates: bool) -> DataFrame | None:
        frames = []
        if updates:
            numbers = [number for number, clause in self._of(MATCHED, BY_SOURCE) if clause.action == "update"]
            changed = pairs.where(F.col(ACTION).isin(numbers))
            renamed = {name: F.col(quote(f"__rd_new_{name}")) for name in target.columns}
            frames.append(in_few_files(updated_rows(target, changed.withColumns(renamed)), pairs))
        if self._of(NOT_MATCHED):
            frames.append(in_few_files(self._inserts(target, self._unmatched(source, pairs)), source))
        if not frames:
            return None
        return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])

    def _unmatched(self, source: DataFrame, pairs: DataFrame) -> DataFrame:
        return source.join(pairs.where(FOUND).select(SOURCE).distinct(), SOURCE, "left_anti")

    def _count_inserts(self, source: DataFrame, pairs: DataFrame) -> int:
        clauses = self._of(NOT_MATCHED)
        if not clauses:
            return 0
        rows = self._unmatched(source, pairs).alias(self._aliases[1])
        return rows.where(action_of(clauses) != NO_ACTION).count()

    def _inserts(self, target: Target, unmatched: DataFrame) -> DataFrame:
        """New rows from rows of the source that match nothing; they have no lineage yet."""
        clauses = self._of(NOT_MATCHED)
        rows = unmatched.alias(self._aliases[1]).withColumn(ACTION, action_of(clauses))
        rows = rows.where(F.col(ACTION) != NO_ACTION)
        frames = []
        for number, clause in clauses:
            mine = rows.where(F.col(ACTION) == number)
            values = inserted(self._handle, mine, clause, self._aliases[1], self._source.columns)
            nothing = {name: F.lit(None).cast("bigint") for name in target.lineage}
            columns = {name: values[name] for name in target.columns} | nothing
            frames.append(mine.select(*(value.alias(name) for name, value in columns.items())))
        result = frames[0]
        for frame in frames[1:]:
            result = result.unionByName(frame)
        return result

    def _insert_only(self, target: Target, source: DataFrame, started: float) -> Result:
        """An empty table: nothing can match."""
        if not self._of(NOT_MATCHED):
            return Result(seconds=time.monotonic() - started)
        staged = stage_rows(self._handle, self._inserts(target, source))
        condition = row_filter(self._handle, None)
        validation = target.validation(condition, self._isolation, [], updates=False)
        change = RowChange(rows=staged, validation=validation)
        return self._commit(change, {"update": 0, "delete": 0}, staged.record_count, started)
