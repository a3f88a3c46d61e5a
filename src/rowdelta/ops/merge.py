"""`t.merge()`: rows of a source update, delete and insert rows of the table."""

from __future__ import annotations

import time
from functools import reduce
from typing import TYPE_CHECKING

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
from rowdelta.ops.merge_matches import ACTION, FOUND, SOURCE, Matches, look_at, look_once
from rowdelta.ops.operation import Operation, Plan, Result
from rowdelta.ops.position_files import write_positions
from rowdelta.ops.positions import KnownFiles, places_of
from rowdelta.ops.refusals import REQUIRED_HINT, refusals
from rowdelta.ops.rewrite import rewrite_files
from rowdelta.ops.scan_estimate import estimate
from rowdelta.ops.target import Target, isolation_of, mode_of, open_target
from rowdelta.ops.update import in_few_files, kept, kept_once, replace_rows, updated_rows
from rowdelta.scan import MAX_BROADCAST_BYTES, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import TableHandle, Validation
    from rowdelta.ops.positions import FilePositions, Places


class Merge(Operation[Result]):
    """Merges a source into the table. Clauses are tried in the order in which they are added.

    Examples:
        >>> last = changes.where("seq > 1")  # one change of each key
        >>> merge = t.merge(last, on="id").when_matched_delete("s.op = 'D'").when_matched_update_all()
        >>> print(merge.plan())
        merge into lake.db.orders
          when       matched and s.op = 'D': delete
          when       matched: update all
          mode       merge-on-read (write.merge.mode is not set, and writing deletes costs least)
          isolation  serializable
          filter     (ref(name="id") >= 1 and ref(name="id") <= 7)
          files      1 to scan, 0 pruned
          rows       4 in these files
          bytes      ...
    """

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
        """Sets columns of a row that the source matches.

        Examples:
            >>> merge = t.merge(changes.where("seq = 2"), on="id")
            >>> merge.when_matched_update({"amount": "t.amount + s.amount"}).execute().rows_updated
            1
        """
        return self._add(Clause(MATCHED, "update", condition, dict(values)))

    def when_matched_update_all(self, condition: str | Column | None = None) -> Merge:
        """Sets every column of a matched row from the source's column of the same name.

        Examples:
            >>> merge = t.merge(changes.where("op = 'U'").where("seq = 2"), on="id")
            >>> merge.when_matched_update_all("t.status <> s.status").execute().rows_updated
            1
        """
        return self._add(Clause(MATCHED, "update", condition))

    def when_matched_delete(self, condition: str | Column | None = None) -> Merge:
        """Deletes a matched row.

        Examples:
            >>> t.merge(changes, on="id").when_matched_delete().execute().rows_deleted
            2
        """
        return self._add(Clause(MATCHED, "delete", condition))

    def when_not_matched_insert(
        self, values: Mapping[str, str | Column], condition: str | Column | None = None
    ) -> Merge:
        """Inserts a row for a row of the source that matches none; columns not named get their default, or null.

        Examples:
            >>> merge = t.merge(changes, on="id").when_not_matched_insert({"id": "s.id", "status": "'late'"})
            >>> _ = merge.execute()
            >>> t.read("id = 7").first()
            Row(id=7, status='late', amount=None)
        """
        return self._add(Clause(NOT_MATCHED, "insert", condition, dict(values)))

    def when_not_matched_insert_all(self, condition: str | Column | None = None) -> Merge:
        """Inserts a row of the source that matches none, column by column of the same name.

        Examples:
            >>> t.merge(changes, on="id").when_not_matched_insert_all("s.op <> 'D'").execute().rows_inserted
            1
        """
        return self._add(Clause(NOT_MATCHED, "insert", condition))

    def when_not_matched_by_source_update(
        self, values: Mapping[str, str | Column], condition: str | Column | None = None
    ) -> Merge:
        """Sets columns of a row that no row of the source matches.

        Examples:
            >>> merge = t.merge(changes, on="id")
            >>> merge.when_not_matched_by_source_update({"amount": "0"}, "t.status = 'void'").execute().rows_updated
            1
        """
        return self._add(Clause(BY_SOURCE, "update", condition, dict(values)))

    def when_not_matched_by_source_delete(self, condition: str | Column | None = None) -> Merge:
        """Deletes a row that no row of the source matches.

        Examples:
            >>> t.merge(changes, on="id").when_not_matched_by_source_delete().execute().rows_deleted
            2
        """
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
        numbered = self._source.withColumn(SOURCE, F.monotonically_increasing_id())
        with refusals(REQUIRED_HINT), kept_once(numbered, self._source) as source:
            if target.snapshot is None:
                return self._insert_only(target, source, started)
            keys = None if self._of(BY_SOURCE) else key_range(self._handle, source, self._pairs)
            rows = target.rows() if keys is None else target.rows().where(keys)
            places = places_of(target, rows)
            joined = self._joined(places.mark(rows), source)
            if self._replaces_rows and isinstance(places, KnownFiles) and places.one_by_one:
                matches = look_once(joined.select(*self._kept_names(target, places), SOURCE), places)
                new_rows = self._replacements(target, source, matches)
                return self._apply(target, source, matches, new_rows, keys=keys, started=started)
            with kept(self._pairs_frame(target, joined, places)) as pairs:
                matches = look_at(pairs, places)
                updates = self._updates(target, pairs) if self._updated(matches) else []
                new_rows = _union([*updates, *self._inserts(target, source, matches)])
                return self._apply(target, source, matches, new_rows, keys=keys, started=started)

    @property
    def _replaces_rows(self) -> bool:
        """Whether matched rows are all replaced by those of the source, so that nothing of the old ones is needed."""
        matched = [clause for _, clause in self._of(MATCHED, BY_SOURCE)]
        return len(matched) == 1 and matched[0].action == "update" and matched[0].is_plain

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

    def _joined(self, rows: DataFrame, source: DataFrame) -> DataFrame:
        """Rows of the table with the rows of the source that match, and `FOUND`."""
        right = source.withColumn(FOUND, F.lit(True)).alias(self._aliases[1])
        if size_in_bytes(source) <= MAX_BROADCAST_BYTES:
            right = F.broadcast(right)
        return rows.alias(self._aliases[0]).join(right, self._on, "left" if self._of(BY_SOURCE) else "inner")

    def _pairs_frame(self, target: Target, joined: DataFrame, places: Places) -> DataFrame:
        """Rows of the table with what becomes of them: every matched row, and others that a clause applies to."""
        by_source = self._of(BY_SOURCE)
        found = F.coalesce(F.col(FOUND), F.lit(False))
        action = action_of(self._of(MATCHED))
        if by_source:
            action = F.when(found, action).otherwise(action_of(by_source))
        joined = joined.withColumn(ACTION, action).where(found | (F.col(ACTION) != NO_ACTION))
        updates = self._all_updates
        values = new_values(self._handle, joined, updates, self._aliases, self._source.columns) if updates else {}
        return joined.select(
            ACTION,
            found.alias(FOUND),
            F.col(SOURCE),
            *self._kept_names(target, places),
            *(value.alias(f"__rd_new_{name}") for name, value in values.items()),
        )

    def _kept_names(self, target: Target, places: Places) -> list[Column]:
        """What is kept of the old rows: where they are, and their ids."""
        names = [*places.names, *target.kept_lineage]
        return [F.col(f"{quote(self._aliases[0])}.{name}") for name in names]

    @property
    def _all_updates(self) -> list[tuple[int, Clause]]:
        return [(number, clause) for number, clause in self._of(MATCHED, BY_SOURCE) if clause.action == "update"]

    def _apply(
        self,
        target: Target,
        source: DataFrame,
        matches: Matches,
        new_rows: DataFrame | None,
        *,
        keys: str | None,
        started: float,
    ) -> Result:
        touched = matches.touched
        self._check_cardinality(matches)
        updated = self._updated(matches)
        deleted = sum(len(file.positions) for file in touched) - updated  # a lone delete may match a row more than once
        condition = row_filter(self._handle, keys)
        validation = target.validation(condition, self._isolation, [file.path for file in touched], updates=True)
        if not touched and new_rows is None:
            return Result(seconds=time.monotonic() - started)
        if self._mode == "copy-on-write" and touched:
            change = rewrite_files(target, touched, new_rows, validation)
            inserts = self._count_inserts(source, matches)
        elif new_rows is None:
            change = self._only_deletes(target, touched, validation)
            inserts = 0
        else:
            change = replace_rows(target, touched, new_rows, validation)
            assert change.rows is not None
            inserts = change.rows.record_count - updated
        return self._commit(change, {"update": updated, "delete": deleted}, inserts, started)

    def _only_deletes(self, target: Target, touched: list[FilePositions], validation: Validation) -> RowChange:
        assert target.files is not None
        new, old = write_positions(self._handle, target.files, touched)
        return RowChange(deletes=new, removed_deletes=old, validation=validation)

    def _commit(self, change: RowChange, by_action: dict[str, int], inserts: int, started: float) -> Result:
        if not change.deletes and not change.removed_rows and not (change.rows is not None and len(change.rows)):
            return Result(seconds=time.monotonic() - started)
        deleted, updated = by_action["delete"], by_action["update"]
        return apply_rows(self._handle, change, started, deleted=deleted, inserted=inserts, updated=updated)

    def _check_cardinality(self, matches: Matches) -> None:
        """A row of the table that several rows of the source match has no single new value."""
        matched = [clause for _, clause in self._of(MATCHED)]
        if not matched or (len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None):
            return
        if matches.twice:
            raise InputError(
                "a row of the table is matched by more than one row of the source",
                hint="reduce the source to one row per key first, for example to the newest",
            )

    def _updated(self, matches: Matches) -> int:
        return sum(matches.counts.get(number, 0) for number, _ in self._all_updates)

    def _updates(self, target: Target, pairs: DataFrame) -> list[DataFrame]:
        """The rows that take the place of old ones."""
        numbers = [number for number, _ in self._all_updates]
        changed = pairs.where(F.col(ACTION).isin(numbers))
        renamed = {name: F.col(quote(f"__rd_new_{name}")) for name in target.columns}
        return [in_few_files(updated_rows(target, changed.withColumns(renamed)), pairs)]

    def _replacements(self, target: Target, source: DataFrame, matches: Matches) -> DataFrame | None:
        """New rows where the source has the whole of each: the join with the table need not carry it.

        Where those that match nothing are inserted just so, both are rows of the source, with and without an old id.
        """
        inserts = [clause for _, clause in self._of(NOT_MATCHED)]
        both = len(inserts) == 1 and inserts[0].is_plain
        found = source.alias(self._aliases[1]).join(matches.rows.drop(FOUND), SOURCE, "left" if both else "inner")
        values = inserted(self._handle, found, Clause(MATCHED, "update"), self._aliases[1], self._source.columns)
        rows = found.select(*(values[name].alias(name) for name in target.columns), *target.kept_lineage)
        replaced = [in_few_files(updated_rows(target, rows), source)]
        if both:
            return replaced[0]
        return _union([*(replaced if matches.touched else []), *self._inserts(target, source, matches)])

    def _count_inserts(self, source: DataFrame, matches: Matches) -> int:
        clauses = self._of(NOT_MATCHED)
        if not clauses:
            return 0
        rows = _unmatched(source, matches).alias(self._aliases[1])
        return rows.where(action_of(clauses) != NO_ACTION).count()

    def _inserts(self, target: Target, source: DataFrame, matches: Matches) -> list[DataFrame]:
        """New rows from rows of the source that match nothing."""
        if not self._of(NOT_MATCHED):
            return []
        return [in_few_files(self._inserted(target, _unmatched(source, matches)), source)]

    def _inserted(self, target: Target, unmatched: DataFrame) -> DataFrame:
        """The rows that the clauses make of rows of the source; they have no lineage yet."""
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
        result = _union(frames)
        assert result is not None
        return result

    def _insert_only(self, target: Target, source: DataFrame, started: float) -> Result:
        """An empty table: nothing can match."""
        if not self._of(NOT_MATCHED):
            return Result(seconds=time.monotonic() - started)
        staged = stage_rows(self._handle, self._inserted(target, source))
        condition = row_filter(self._handle, None)
        validation = target.validation(condition, self._isolation, [], updates=False)
        change = RowChange(rows=staged, validation=validation)
        return self._commit(change, {"update": 0, "delete": 0}, staged.record_count, started)


def _unmatched(source: DataFrame, matches: Matches) -> DataFrame:
    return source.join(matches.matched, SOURCE, "left_anti")


def _union(frames: list[DataFrame]) -> DataFrame | None:
    return reduce(lambda one, other: one.unionByName(other), frames) if frames else None
