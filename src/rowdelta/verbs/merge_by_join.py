"""How a merge is done: the join, what becomes of the rows that it finds, and the new rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import (
    FILE,
    REQUIRED_HINT,
    ListedFilesLocator,
    Plan,
    Result,
    Target,
    can_collect_rows,
    choose_locator,
    commit_rows,
    describe_mode,
    describe_without_deletes,
    estimate_scan,
    open_target,
    read_target_rows,
    replace_rows,
    rewrite_files,
    select_updated_rows,
    translate_row_errors,
    write_positions,
)
from rowdelta.errors import InputError
from rowdelta.iceberg import RowChange, build_row_filter, filter_of, is_read_as_it_is, stage_rows
from rowdelta.read import MAX_BROADCAST_BYTES, find_matching_pairs
from rowdelta.spark import beside, in_few_files, kept, kept_once, quote, size_in_bytes, sql_column, where_sql
from rowdelta.verbs.merge_by_bitmap import build_lookup, can_look_up, is_small
from rowdelta.verbs.merge_clauses import (
    ACTION,
    BY_SOURCE,
    MATCHED,
    NO_ACTION,
    NOT_MATCHED,
    Clause,
    choose_action,
    compute_insert,
    compute_updates,
    select_clauses,
)
from rowdelta.verbs.merge_condition import find_key_range
from rowdelta.verbs.merge_matches import FOUND, SOURCE, Matches, collect_matches, collect_replacements

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from rowdelta.change import FilePositions, RowLocator
    from rowdelta.iceberg import RowFilter, TableHandle, Validation
    from rowdelta.verbs.merge_by_bitmap import KeyLookup
    from rowdelta.verbs.merge_condition import OnCondition


@dataclass(frozen=True)
class MergeRun:
    """A merge whose clauses are complete.

    Attributes:
        handle: The table.
        source: The rows to merge.
        on: When a row of the source matches a row of the table.
        aliases: What conditions and values call the table and the source.
        clauses: What becomes of rows, in the order in which it is tried.
        mode: `merge-on-read` or `copy-on-write`.
        why: Why this mode.
        isolation: `serializable` or `snapshot`.
    """

    handle: TableHandle
    source: DataFrame
    on: OnCondition
    aliases: tuple[str, str]
    clauses: tuple[Clause, ...]
    mode: str
    why: str
    isolation: str

    def _of(self, *kinds: str) -> list[tuple[int, Clause]]:
        return select_clauses(self.clauses, *kinds)

    def plan(self) -> Plan:
        """Says what would be done, and which files it would read."""
        target = open_target(self.handle)
        title = f"merge into {self.handle.name}"
        steps = tuple(("when", str(clause)) for clause in self.clauses)
        if target.snapshot is None:
            return Plan(title, (*steps, ("scan", "none: the table is empty")))
        keys = None if self._of(BY_SOURCE) else find_key_range(self.handle, self.source, self.on.pairs)
        condition = build_row_filter(self.handle, None if keys is None else sql_column(keys))
        if self._of(MATCHED, BY_SOURCE):
            mode = describe_mode(self.handle, self.mode, self.why, self.isolation)
        else:
            mode = describe_without_deletes("append (no clause changes a row)", self.isolation)
        return Plan(title, (*steps, *mode, *estimate_scan(self.handle, target.snapshot.id, condition)))

    def execute(self) -> Result:
        """Merges in one snapshot; where no clause applies to any row there is none."""
        started = time.monotonic()
        target = open_target(self.handle)
        numbered = self.source.withColumn(SOURCE, F.monotonically_increasing_id())
        with translate_row_errors(REQUIRED_HINT), kept_once(numbered, self.source) as source:
            if target.files is None:
                return self._insert_only(target, source, started)
            by_place = self._replaces_rows and can_collect_rows(target)
            (lookup, keys), (rows, values) = beside(
                self.handle.gateway,
                lambda: self._source_keys(source),
                lambda: (read_target_rows(target, with_ids=True), self._source_values(source) if by_place else {}),
            )
            in_range = None if keys is None else where_sql(rows, keys)
            rows = rows if in_range is None else in_range
            rows = rows if lookup is None else rows.where(lookup.bits.hit())
            places = choose_locator(target, rows)
            if by_place:
                assert isinstance(places, ListedFilesLocator)
                ((number, _),) = self._all_updates
                found, condition = beside(
                    self.handle.gateway,
                    lambda: self._found(target, places, rows, source, lookup),
                    lambda: filter_of(self.handle, in_range),
                )
                matches = collect_replacements(self.handle.spark, found, places, number)
                new_rows = self._replacements(target, source, matches, values)
                return self._apply(target, source, matches, new_rows, condition=condition, started=started)
            broadcast = _is_broadcast(source)
            joined = self._joined(self._marked(target, places, rows), source, broadcast=broadcast)
            shuffles = not (broadcast and is_read_as_it_is(self.handle, target.files))  # live rows may come of a join
            with kept(self._pairs_frame(target, joined, places), adapts=shuffles) as pairs:
                matches, (updated, condition) = beside(
                    self.handle.gateway,
                    lambda: collect_matches(pairs, places),
                    lambda: (self._updates(target, pairs), filter_of(self.handle, in_range)),
                )
                updates = [in_few_files(updated, pairs)] if updated is not None and self._updated(matches) else []
                new_rows = _union([*updates, *self._inserts(target, source, matches)])
                return self._apply(target, source, matches, new_rows, condition=condition, started=started)

    @property
    def _replaces_rows(self) -> bool:
        """Whether matched rows are all replaced by those of the source, so that nothing of the old ones is needed."""
        matched = [clause for _, clause in self._of(MATCHED, BY_SOURCE)]
        return len(matched) == 1 and matched[0].action == "update" and matched[0].is_plain

    def _source_keys(self, source: DataFrame) -> tuple[KeyLookup | None, str | None]:
        """The keys of the source where a bitmap finds what may match, and a predicate that all of that meets."""
        if self._of(BY_SOURCE):
            return None, None
        wanted = can_look_up(self.handle, source, self.on)
        known = wanted and is_small(source)
        lookup = build_lookup(self.handle, source, self.on) if known else None
        if lookup is not None:
            return lookup, lookup.range
        keys = find_key_range(self.handle, source, self.on.pairs)
        if wanted and not known and is_small(source):  # which Spark knows since it has been computed
            lookup = build_lookup(self.handle, source, self.on)
        return lookup, keys

    def _found(
        self, target: Target, places: ListedFilesLocator, rows: DataFrame, source: DataFrame, lookup: KeyLookup | None
    ) -> pa.Table:
        """Where the rows that match are, their ids, and the number of what they match."""
        if lookup is not None and lookup.decides:
            return lookup.find(places.mark(rows, [*target.kept_lineage, lookup.key]))
        joined = self._joined(self._marked(target, places, rows), source, broadcast=_is_broadcast(source))
        return joined.select(*self._kept_names(target, places), SOURCE).toArrow()

    @staticmethod
    def _marked(target: Target, places: RowLocator, rows: DataFrame) -> DataFrame:
        """Rows with all that conditions and values may ask of them; what they do not ask for is not read."""
        known = [name for name in (FILE, *target.lineage) if name not in places.names]
        return places.mark(rows, [*map(quote, target.columns), *known])

    def _joined(self, rows: DataFrame, source: DataFrame, *, broadcast: bool) -> DataFrame:
        """Rows of the table with the rows of the source that match, and `FOUND`."""
        right = source.withColumn(FOUND, F.lit(True)).alias(self.aliases[1])
        if broadcast:
            right = F.broadcast(right)
        kind = "left" if self._of(BY_SOURCE) else "inner"

        def join(rows: DataFrame) -> DataFrame:
            return rows.alias(self.aliases[0]).join(right, self.on.condition, kind)

        return join(rows) if self.on.is_complete else find_matching_pairs(self.handle, rows, join)

    def _pairs_frame(self, target: Target, joined: DataFrame, places: RowLocator) -> DataFrame:
        """Rows of the table with what becomes of them: every matched row, and others that a clause applies to."""
        by_source = self._of(BY_SOURCE)
        found = f"coalesce({FOUND}, false)"
        action = choose_action(self._of(MATCHED))
        if by_source:
            action = F.when(sql_column(found), action).otherwise(choose_action(by_source))
        joined = where_sql(joined.withColumn(ACTION, action), f"{found} OR {ACTION} <> {NO_ACTION}")
        updates = self._all_updates
        values = compute_updates(self.handle, joined, updates, self.aliases, self.source.columns) if updates else []
        return joined.select(
            ACTION, sql_column(f"{found} AS {FOUND}"), SOURCE, *self._kept_names(target, places), *values
        )

    def _kept_names(self, target: Target, places: RowLocator) -> list[str]:
        """What is kept of the old rows: where they are, and their ids."""
        return [f"{quote(self.aliases[0])}.{name}" for name in (*places.names, *target.kept_lineage)]

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
        condition: RowFilter,
        started: float,
    ) -> Result:
        touched = matches.touched
        self._check_cardinality(matches)
        updated = self._updated(matches)
        deleted = sum(len(file.positions) for file in touched) - updated  # a lone delete may match a row more than once
        validation = target.validation(condition, self.isolation, [file.path for file in touched], updates=True)
        if not touched and new_rows is None:
            return Result(seconds=time.monotonic() - started)
        if self.mode == "copy-on-write" and touched:
            inserts = self._count_inserts(source, matches)  # first: where it fails, no file has been written
            change = rewrite_files(target, touched, new_rows, validation)
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
        return write_positions(self.handle, target.files, touched).change(validation)

    def _commit(self, change: RowChange, by_action: dict[str, int], inserts: int, started: float) -> Result:
        if not change.deletes and not change.removed_rows and not (change.rows is not None and len(change.rows)):
            return Result(seconds=time.monotonic() - started)
        deleted, updated = by_action["delete"], by_action["update"]
        return commit_rows(self.handle, change, started, deleted=deleted, inserted=inserts, updated=updated)

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

    def _updates(self, target: Target, pairs: DataFrame) -> DataFrame | None:
        """The rows that take the place of old ones."""
        numbers = [str(number) for number, _ in self._all_updates]
        if not numbers:
            return None
        changed = where_sql(pairs, f"{ACTION} IN ({', '.join(numbers)})")
        return select_updated_rows(target, changed, target.columns)

    def _source_values(self, source: DataFrame) -> dict[str, Column]:
        """The value of every column of a row that is that of the source."""
        rows, clause = source.alias(self.aliases[1]), Clause(MATCHED, "update")
        return compute_insert(self.handle, rows, clause, self.aliases[1], self.source.columns)

    def _replacements(
        self, target: Target, source: DataFrame, matches: Matches, values: dict[str, Column]
    ) -> DataFrame | None:
        """New rows where the source has the whole of each: the join with the table need not carry it.

        Where those that match nothing are inserted just so, both are rows of the source, with and without an old id.
        """
        inserts = [clause for _, clause in self._of(NOT_MATCHED)]
        both = len(inserts) == 1 and inserts[0].is_plain
        found = matches.join_to(source.alias(self.aliases[1]), "left" if both else "inner")
        rows = found.select(*(values[name].alias(name) for name in target.columns), *target.kept_lineage)
        replaced = [in_few_files(select_updated_rows(target, rows), source)]
        if both:
            return replaced[0]
        return _union([*(replaced if matches.touched else []), *self._inserts(target, source, matches)])

    def _count_inserts(self, source: DataFrame, matches: Matches) -> int:
        clauses = self._of(NOT_MATCHED)
        if not clauses:
            return 0
        rows = matches.unmatched(source).alias(self.aliases[1])
        return rows.where(choose_action(clauses) != NO_ACTION).count()

    def _inserts(self, target: Target, source: DataFrame, matches: Matches) -> list[DataFrame]:
        """New rows from rows of the source that match nothing."""
        if not self._of(NOT_MATCHED):
            return []
        return [in_few_files(self._inserted(target, matches.unmatched(source)), source)]

    def _inserted(self, target: Target, unmatched: DataFrame) -> DataFrame:
        """The rows that the clauses make of rows of the source; they have no lineage yet."""
        clauses = self._of(NOT_MATCHED)
        rows = unmatched.alias(self.aliases[1]).withColumn(ACTION, choose_action(clauses))
        rows = rows.where(F.col(ACTION) != NO_ACTION)
        frames = []
        for number, clause in clauses:
            mine = rows.where(F.col(ACTION) == number)
            values = compute_insert(self.handle, mine, clause, self.aliases[1], self.source.columns)
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
        staged = stage_rows(self.handle, self._inserted(target, source))
        condition = build_row_filter(self.handle, None)
        validation = target.validation(condition, self.isolation, [], updates=False)
        change = RowChange(rows=staged, validation=validation)
        return self._commit(change, {"update": 0, "delete": 0}, staged.record_count, started)


def _is_broadcast(source: DataFrame) -> bool:
    """Whether every task can have the whole source."""
    return size_in_bytes(source) <= MAX_BROADCAST_BYTES


def _union(frames: list[DataFrame]) -> DataFrame | None:
    return reduce(lambda one, other: one.unionByName(other), frames) if frames else None
