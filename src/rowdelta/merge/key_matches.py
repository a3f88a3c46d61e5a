"""Finds the rows of a table that have given keys: where they are, their ids, and which change has their key."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import (
    POSITION,
    ROW_ID,
    ListedFilesLocator,
    read_target_rows,
)
from rowdelta.codec import sort_distinct
from rowdelta.iceberg import convert_filter
from rowdelta.merge.candidates import select_candidates
from rowdelta.merge.kept_matches import FileMatches, keep_matches
from rowdelta.merge.matches import FOUND, SOURCE, Matches, index_pairs
from rowdelta.merge.pairs import can_broadcast
from rowdelta.merge.wanted_keys import CHANGE, DELETED, TABLE
from rowdelta.read import find_matching_pairs
from rowdelta.spark import cache_frame, collect_arrow, plan_during_job, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt
    from pyspark.sql import Column, DataFrame, SparkSession

    from rowdelta.change import FilePositions, RowArrays, RowLocator, Target
    from rowdelta.iceberg import RowFilter
    from rowdelta.merge.candidates import Candidates
    from rowdelta.merge.wanted_keys import WantedKeys

# What a caller may want to know of a row: 1 if it is as new as the change of its key; 1 if it is a tombstone.
STALE: Final = "__rd_stale"
DEAD: Final = "__rd_dead"
_LIVE: Final = "__rd_live"


@dataclass(frozen=True)
class MatchCounts:
    """What changes by key do.

    Attributes:
        updated: Keys with a live row that a new row replaces.
        deleted: Live rows that go, except one for each updated key.
        ignored: Changes that are not newer than the row in the table.
        deletes_ignored: How many of them delete their key.
    """

    updated: int = 0
    deleted: int = 0
    ignored: int = 0
    deletes_ignored: int = 0


@dataclass(frozen=True)
class KeyMatches:
    """The rows of one snapshot that have the keys of changes.

    Attributes:
        target: The snapshot.
        condition: A filter that all rows with one of the keys meet: what Iceberg checks for conflicts.
        touched: Where the rows are that changes replace or delete.
        by_change: For changes with a row: its id, and whether they are ignored. None if no new row needs that.
        counts: What the changes do.
        by_file: The rows of each data file, if they were collected row by row.
    """

    target: Target
    condition: RowFilter
    touched: list[FilePositions]
    by_change: Matches | None
    counts: MatchCounts
    by_file: dict[str, FileMatches] | None = None

    def join_to(self, changes: DataFrame) -> DataFrame:
        """Adds the ids of old rows to changes, and drops changes that are ignored."""
        if self.by_change is None:
            return changes
        rows = self.by_change.join_to(changes, "left")
        return rows.where(F.coalesce(F.col(STALE), F.lit(0)) == 0) if STALE in rows.columns else rows

    def gives_same_rows(self, other: KeyMatches) -> bool:
        """Whether the new rows of two states of the table are the same."""
        if self.by_change is None and other.by_change is None:
            return True
        if self.by_file is None or other.by_file is None:
            return False
        one, two = (_sort_pairs(_concatenate(matches.by_file)) for matches in (self, other))
        return one.keys() == two.keys() and all(
            np.array_equal(one[name], two[name]) for name in one if name != POSITION
        )


@contextmanager
def find_key_matches(
    target: Target, wanted: WantedKeys, earlier: KeyMatches | None = None, rows: DataFrame | None = None
) -> Iterator[KeyMatches]:
    """Finds the rows with wanted keys in one scan of the key columns.

    Args:
        target: The snapshot to read.
        wanted: The keys.
        earlier: What an older snapshot had: only files that differ from it are read.
        rows: The live rows of the snapshot with their ids, if the caller has read them.
    """
    assert target.files is not None
    kept = None
    if earlier is not None and earlier.by_file is not None:
        kept = keep_matches(earlier.target, earlier.by_file, target)
    if kept is not None:
        rows = target.read_rows(only=kept.unread)
    candidates = select_candidates(target, rows or read_target_rows(target, with_ids=True), wanted.keys)
    locator, gateway = candidates.locator, target.handle.gateway
    if not (isinstance(locator, ListedFilesLocator) and locator.one_by_one):
        condition = convert_filter(target.handle, candidates.in_range)
        with cache_frame(_join_pairs(target, wanted, candidates)) as pairs:
            yield _aggregate_pairs(target, wanted, condition, pairs, locator)
        return
    nothing_to_read = kept is not None and not kept.unread
    by_file, condition = plan_during_job(
        gateway,
        lambda: {} if nothing_to_read else _collect_matches(target, wanted, candidates, locator),
        lambda: convert_filter(target.handle, candidates.in_range),
    )
    if kept is not None:
        by_file |= kept.by_file
    yield _group_pairs(target, wanted, condition, by_file)


def _collect_matches(
    target: Target, wanted: WantedKeys, candidates: Candidates, locator: ListedFilesLocator
) -> dict[str, FileMatches]:
    names = _name_columns(target, wanted)
    table = _collect_pairs(target, wanted, candidates).select([*locator.names, *names])
    return {file.path: FileMatches(file, arrays) for file, arrays in locator.group_rows(table, names)}


def _name_columns(target: Target, wanted: WantedKeys) -> list[str]:
    """Names what is collected of each row besides its position."""
    assert target.files is not None
    ids = target.updated_lineage if target.files.has_row_ids else []
    return [SOURCE, *ids, *wanted.details]


def _collect_pairs(target: Target, wanted: WantedKeys, candidates: Candidates) -> pa.Table:
    lookup, locator = candidates.lookup, candidates.locator
    if wanted.is_decided_by_lookup:
        assert lookup is not None
        ids = [name for name in _name_columns(target, wanted) if name not in {SOURCE, *wanted.details}]
        order = wanted.order
        if order is None:
            return lookup.find(locator.mark(candidates.rows, [*ids, lookup.key]))
        dead = [] if order.dead is None else [order.dead.alias(DEAD)]
        pairs = lookup.find(locator.mark(candidates.rows, [*ids, lookup.key, *order.of_row, *dead]))
        stale = order.find_stale(pairs, wanted.new_order)
        return order.drop_old(pairs).append_column(STALE, pa.array(stale, pa.int32()))
    return collect_arrow(_join_pairs(target, wanted, candidates))


def _join_pairs(target: Target, wanted: WantedKeys, candidates: Candidates) -> DataFrame:
    """Joins the rows with the keys. Paths of files are hashed after the join, for the rows that it finds."""
    joined = _join_keys(wanted, target, candidates, wanted.matching.source)
    deleted = [f"{CHANGE}.{DELETED}"] if wanted.deletes == "some" else []
    details = [value.alias(name) for name, value in wanted.details.items()]
    return candidates.locator.mark(joined, [SOURCE, *deleted, *target.updated_lineage, *details])


def _join_keys(wanted: WantedKeys, target: Target, candidates: Candidates, source: DataFrame) -> DataFrame:
    """Joins the rows with a source of keys: only the keys, and what is compared, travel with the join."""
    lineage = [name for name in target.updated_lineage if name not in target.columns]
    rows = candidates.rows.select(*map(quote, target.columns), *lineage, *candidates.locator.sources)
    right = source.alias(CHANGE)
    right = F.broadcast(right) if can_broadcast(source) else right

    def join(rows: DataFrame) -> DataFrame:
        return rows.alias(TABLE).join(right, wanted.matching.on.condition)

    return join(rows) if wanted.matching.on.is_complete else find_matching_pairs(target.handle, rows, join)


def _group_pairs(
    target: Target, wanted: WantedKeys, condition: RowFilter, by_file: dict[str, FileMatches]
) -> KeyMatches:
    """Makes the matches of rows that have been collected."""
    pairs = _concatenate(by_file)
    none = np.zeros(len(pairs[SOURCE]), np.int64)
    stale, dead = pairs.get(STALE, none), pairs.get(DEAD, none)
    ignored = np.unique(pairs[SOURCE][stale != 0])
    taken = ~np.isin(pairs[SOURCE], ignored) if len(ignored) else np.ones(len(none), bool)
    live = taken & (dead == 0)
    rows = int(np.count_nonzero(live))
    updated = 0 if wanted.deletes == "all" else _count_updated(pairs[SOURCE][live], wanted.deleted_numbers)
    deletes_ignored = int(np.count_nonzero(np.isin(ignored, wanted.deleted_numbers))) if len(ignored) else 0
    counts = MatchCounts(updated, rows - updated, len(ignored), deletes_ignored)
    touched = [matches.file for matches in by_file.values()]
    if len(ignored):
        touched = [matches.without(ignored) for matches in by_file.values()]
        touched = [file for file in touched if file.positions]
    by_change = _map_changes(target.handle.spark, pairs, taken, ignored)
    return KeyMatches(target, condition, touched, by_change, counts, by_file)


def _count_updated(replaced: npt.NDArray[np.int64], deleted: npt.NDArray[np.int64]) -> int:
    """Counts the changes that replace a row, given the number of the change for each of these rows."""
    different = sort_distinct(replaced)
    return int(np.count_nonzero(~np.isin(different, deleted))) if len(deleted) else len(different)


def _map_changes(
    spark: SparkSession, pairs: RowArrays, taken: npt.NDArray[np.bool_], ignored: npt.NDArray[np.int64]
) -> Matches | None:
    """Maps each change to the smallest id of its rows, and to whether it is ignored."""
    if ROW_ID not in pairs and not len(ignored):
        return None
    numbers = pairs[SOURCE][taken]
    ids = pairs[ROW_ID][taken] if ROW_ID in pairs else np.zeros(len(numbers), np.int64)
    order = np.argsort(numbers, kind="stable")
    if np.any(np.diff(numbers[order]) == 0):  # a key has several rows: the smallest id comes first
        order = np.lexsort((ids, numbers))
        order = order[np.append(True, np.diff(numbers[order]) != 0)]
    numbers, ids = numbers[order], ids[order]
    if not len(numbers) and not len(ignored):
        return None
    missing = pa.nulls(len(ignored), pa.int64())
    columns = {SOURCE: pa.array(np.concatenate([numbers, ignored]), pa.int64())}
    if ROW_ID in pairs:
        columns[ROW_ID] = pa.concat_arrays([pa.array(ids, pa.int64()), missing])
    if len(ignored):
        flags = np.concatenate([np.zeros(len(numbers), np.int32), np.ones(len(ignored), np.int32)])
        columns[STALE] = pa.array(flags, pa.int32())
    return index_pairs(spark, pa.table(columns), [], {})


def _concatenate(by_file: dict[str, FileMatches] | None) -> RowArrays:
    parts = [matches.rows for matches in (by_file or {}).values()]
    names = parts[0].keys() if parts else [SOURCE, POSITION]
    return {name: np.concatenate([part[name] for part in parts]) if parts else np.zeros(0, np.int64) for name in names}


def _sort_pairs(pairs: RowArrays) -> RowArrays:
    order = np.lexsort(tuple(pairs[name] for name in sorted(pairs, reverse=True)))
    return {name: values[order] for name, values in pairs.items()}


def _aggregate_pairs(
    target: Target, wanted: WantedKeys, condition: RowFilter, pairs: DataFrame, locator: RowLocator
) -> KeyMatches:
    """Makes the matches of a cached frame, for tables whose matching rows may be too many to collect."""
    names = pairs.columns
    deleted = {"none": F.lit(False), "all": F.lit(True), "some": F.bool_or(DELETED)}[wanted.deletes]
    by_change = pairs.groupBy(SOURCE).agg(
        (F.count_if(F.col(DEAD) == 0) if DEAD in names else F.count("*")).alias(_LIVE),
        (F.max(STALE) if STALE in names else F.lit(0)).alias(STALE),
        deleted.alias(DELETED),
        *([F.min(ROW_ID).alias(ROW_ID)] if ROW_ID in names else []),
    )
    taken, has_row = F.col(STALE) == 0, F.col(_LIVE) > 0
    counted = by_change.agg(
        F.count_if(taken & has_row & ~F.col(DELETED)).alias("updated"),
        F.coalesce(F.sum(F.when(taken, F.col(_LIVE))), F.lit(0)).alias("live"),
        F.count_if(~taken).alias("ignored"),
        F.count_if(~taken & F.col(DELETED)).alias("deletes_ignored"),
    ).collect()[0]
    updated = counted["updated"]
    counts = MatchCounts(updated, counted["live"] - updated, counted["ignored"], counted["deletes_ignored"])
    gone = pairs.join(by_change.where(~taken), SOURCE, "left_anti") if counts.ignored else pairs
    of_rows = [SOURCE, *([ROW_ID] if ROW_ID in names else []), *([STALE] if counts.ignored else [])]
    rows = by_change.select(*of_rows).withColumn(FOUND, F.lit(True))
    matches = Matches(rows, [], {}, twice=False) if len(of_rows) > 1 else None
    return KeyMatches(target, condition, locator.collect(gone), matches, counts)


def read_old_values(
    matches: KeyMatches, wanted: WantedKeys, which: Column, names: Sequence[str], alias: str
) -> DataFrame:
    """Reads values of the live rows that some changes replace, from the files that have such rows.

    Args:
        matches: Where the rows are.
        wanted: The keys.
        which: Tests for these changes.
        names: The columns of the table.
        alias: The name of the values, which are a struct.

    Returns:
        One row for each of these changes that replaces a row: `SOURCE`, and the values.
    """
    only = None if matches.by_file is None else frozenset(matches.by_file)
    candidates = select_candidates(matches.target, matches.target.read_rows(only=only), wanted.keys)
    source = wanted.matching.source.where(which)
    joined = _join_keys(wanted, matches.target, candidates, source)
    dead = wanted.details.get(DEAD)
    joined = joined if dead is None else joined.where(dead == 0)
    values = F.struct(*(F.col(f"{TABLE}.{quote(name)}").alias(name) for name in names))
    return joined.groupBy(SOURCE).agg(F.first(values).alias(alias))
