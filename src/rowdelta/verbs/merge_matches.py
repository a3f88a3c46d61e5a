"""The rows of a table that a merge touches: where they are, what becomes of them, and what matches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import ListedFilesLocator
from rowdelta.codec import sorted_distinct
from rowdelta.spark import arrow_frame, sql_column, where_sql
from rowdelta.verbs.merge_clauses import ACTION, NO_ACTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.change import FilePositions, RowLocator

SOURCE: Final = "__rd_source"
FOUND: Final = "__rd_found"
_BROADCAST_AT_MOST: Final = 2_000_000
_SPARSE: Final = 8
_FEW_BLOCKS: Final = 64
_BLOCK: Final = "__rd_block"
_ARRAY: Final = "__rd_array_"
# Of a row's number, the place in its block. Not more: where Spark does not generate code, a join copies the array.
_INDEX_BITS: Final = 10
_INDEX_MASK: Final = (1 << _INDEX_BITS) - 1
_INDEX: Final = f"cast({SOURCE} & {_INDEX_MASK}L as int)"


@dataclass(frozen=True)
class Matches:
    """What the join of a table with a source found.

    Attributes:
        rows: A row for each pair: `SOURCE`, the number of the source's row, and what the new row is made of; also rows
            of the table that a clause for unmatched rows applies to.
        touched: Where the rows are that a clause applies to.
        counts: How many pairs there are, by the number of the clause that applies, or `NO_ACTION`.
        twice: Whether several rows of the source match one row of the table.
    """

    rows: DataFrame
    touched: list[FilePositions]
    counts: dict[int, int]
    twice: bool

    def join_to(self, source: DataFrame, how: str) -> DataFrame:
        """Rows of the source with what is kept of the rows that they match; `how` is `inner` or `left`."""
        return source.join(self.rows.drop(FOUND), SOURCE, how)

    def unmatched(self, source: DataFrame) -> DataFrame:
        """Rows of the source that match nothing."""
        return source.join(self.rows.where(FOUND).select(SOURCE), SOURCE, "left_anti")


class IndexedMatches(Matches):
    """Matches of rows of the source that match one row each; `rows` has arrays, one row for a block of the source.

    Spark numbers the rows of a partition one after the other. So a row finds what it matches at its own place in the
    array of its block, and no table of hashes is made of all matches.
    """

    def join_to(self, source: DataFrame, how: str) -> DataFrame:
        """Each row looks itself up."""
        rows = self._looked_up(source)
        rows = rows.where(FOUND) if how == "inner" else rows
        kept = {name: sql_column(f"get({_ARRAY}{name}, {_INDEX})") for name in self._kept}
        return rows.withColumns(kept).drop(*self.rows.columns)

    def unmatched(self, source: DataFrame) -> DataFrame:
        """Rows that find nothing at their place."""
        return where_sql(self._looked_up(source), f"NOT coalesce({FOUND}, false)").drop(FOUND, *self.rows.columns)

    @property
    def _kept(self) -> list[str]:
        arrays = [name.removeprefix(_ARRAY) for name in self.rows.columns if name.startswith(_ARRAY)]
        return [name for name in arrays if name != FOUND]

    def _looked_up(self, source: DataFrame) -> DataFrame:
        same = sql_column(f"shiftright({SOURCE}, {_INDEX_BITS}) = {_BLOCK}")
        found = sql_column(f"get({_ARRAY}{FOUND}, {_INDEX})")
        return source.join(F.broadcast(self.rows), same, "left").withColumn(FOUND, found)


def collect_matches(pairs: DataFrame, places: RowLocator) -> Matches:
    """Collects what became of pairs, which the caller keeps: they have `ACTION`, `FOUND` and the columns of places."""
    if isinstance(places, ListedFilesLocator) and places.one_by_one:
        return _looked_at(pairs, pairs.select(ACTION, FOUND, *places.names).toArrow(), places)
    counted = {(row[ACTION], row[FOUND]): row["count"] for row in pairs.groupBy(ACTION, FOUND).count().collect()}
    touched = places.collect(pairs.where(F.col(ACTION) != NO_ACTION))
    if (NO_ACTION, True) in counted:
        again = pairs.where(FOUND).groupBy(*places.names[:2]).count().where("count > 1")
        twice = not again.isEmpty()
    else:
        twice = _has_more_rows(touched)
    counts: dict[int, int] = {}
    for (number, _), count in counted.items():
        counts[number] = counts.get(number, 0) + count
    return Matches(pairs, touched, counts, twice)


def _looked_at(pairs: DataFrame, table: pa.Table, places: ListedFilesLocator) -> Matches:
    grouped = table.group_by(ACTION).aggregate([([], "count_all")])
    counts = dict(zip(grouped[ACTION].to_pylist(), grouped["count_all"].to_pylist(), strict=True))
    touched = places.collected(table.filter(pc.field(ACTION) != NO_ACTION))
    found = places.collected(table.filter(pc.field(FOUND))) if NO_ACTION in counts else touched
    return Matches(pairs, touched, counts, _has_more_rows(found))


def collect_replacements(spark: SparkSession, table: pa.Table, places: ListedFilesLocator, clause: int) -> Matches:
    """The same where one clause replaces every matched row by that of the source: places and row ids are enough."""
    touched = places.collected(table)
    counts = {clause: table.num_rows} if table.num_rows else {}
    twice = _has_more_rows(touched)
    pairs = table.drop_columns(places.names)
    arrays = _as_arrays(pairs)
    if arrays is not None:
        return IndexedMatches(arrow_frame(spark, arrays), touched, counts, twice)
    rows = arrow_frame(spark, pairs).withColumn(FOUND, F.lit(True))
    rows = F.broadcast(rows) if table.num_rows <= _BROADCAST_AT_MOST else rows
    return Matches(rows, touched, counts, twice)


def _as_arrays(pairs: pa.Table) -> pa.Table | None:
    """What `IndexedMatches` needs; None where a row of the source matches twice, or arrays would be mostly empty."""
    numbers = pairs[SOURCE].to_numpy()
    block_of = numbers >> _INDEX_BITS
    blocks = sorted_distinct(block_of)
    length = 1 << _INDEX_BITS
    sparse = len(blocks) * length > _SPARSE * len(numbers) and len(blocks) > _FEW_BLOCKS
    if sparse or len(numbers) > _BROADCAST_AT_MOST:
        return None
    places = np.searchsorted(blocks, block_of) * length + (numbers & _INDEX_MASK)
    found = np.zeros(len(blocks) * length, bool)
    found[places] = True
    if np.count_nonzero(found) < len(numbers):
        return None
    row_of = np.zeros(len(found), np.int64)
    row_of[places] = np.arange(len(numbers))
    taken = pa.array(row_of, mask=~found)
    values = {FOUND: pa.array(found)}
    values |= {name: pairs[name].combine_chunks().take(taken) for name in pairs.column_names if name != SOURCE}
    starts = np.arange(0, len(found) + 1, length)
    lists = {f"{_ARRAY}{name}": pa.ListArray.from_arrays(starts, array) for name, array in values.items()}
    return pa.table({_BLOCK: pa.array(blocks, pa.int64()), **lists})


def _has_more_rows(touched: Sequence[FilePositions]) -> bool:
    return any(file.rows > len(file.positions) for file in touched)
