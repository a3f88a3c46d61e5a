"""The matches of a merge: where matched rows are, what happens to them, and which source rows match them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import ListedFilesLocator
from rowdelta.codec import sort_distinct
from rowdelta.merge.clauses import ACTION, NO_ACTION
from rowdelta.spark import collect_arrow, make_frame_from_arrow, parse_column, where_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.change import FilePositions, RowLocator

SOURCE: Final = "__rd_source"
FOUND: Final = "__rd_found"
_MOST_ROWS_BROADCAST: Final = 2_000_000
_SPARSE: Final = 8
_FEW_BLOCKS: Final = 64
_BLOCK: Final = "__rd_block"
_ARRAY: Final = "__rd_array_"
# The bits of a row's number that are its index in the block. Not more: without generated code, a join copies the array.
_INDEX_BITS: Final = 10
_INDEX_MASK: Final = (1 << _INDEX_BITS) - 1
_INDEX: Final = f"cast({SOURCE} & {_INDEX_MASK}L as int)"


@dataclass(frozen=True)
class Matches:
    """Pairs of a row of the table and a row of the source.

    Attributes:
        rows: A row for each pair: `SOURCE`, which is the number of the source's row, and what the new row needs. Also
            rows of the table without a match that a clause applies to.
        touched: Where the rows are that a clause applies to.
        counts: The number of pairs by the number of the clause that applies, or `NO_ACTION`.
        twice: Whether several rows of the source match one row of the table.
    """

    rows: DataFrame
    touched: list[FilePositions]
    counts: dict[int, int]
    twice: bool

    def join_to(self, source: DataFrame, join_type: str) -> DataFrame:
        """Joins the source with the columns kept from its matches; `join_type` is `inner` or `left`."""
        return source.join(self.rows.drop(FOUND), SOURCE, join_type)

    def select_unmatched(self, source: DataFrame) -> DataFrame:
        """Selects the rows of the source that match nothing."""
        return source.join(self.rows.where(FOUND).select(SOURCE), SOURCE, "left_anti")


class IndexedMatches(Matches):
    """Matches in arrays, for a source whose rows match one row each; `rows` has one row for each block of the source.

    Spark numbers the rows of a partition consecutively. So a row finds its match at its own index in the array of its
    block, and no hash table of all matches is needed.
    """

    def join_to(self, source: DataFrame, join_type: str) -> DataFrame:
        """Looks each row up in the array of its block."""
        rows = self._look_up(source)
        rows = rows.where(FOUND) if join_type == "inner" else rows
        values = {name: parse_column(f"get({_ARRAY}{name}, {_INDEX})") for name in self._array_names}
        return rows.withColumns(values).drop(*self.rows.columns)

    def select_unmatched(self, source: DataFrame) -> DataFrame:
        """Selects the rows without a match at their index."""
        return where_sql(self._look_up(source), f"NOT coalesce({FOUND}, false)").drop(FOUND, *self.rows.columns)

    @property
    def _array_names(self) -> list[str]:
        arrays = [name.removeprefix(_ARRAY) for name in self.rows.columns if name.startswith(_ARRAY)]
        return [name for name in arrays if name != FOUND]

    def _look_up(self, source: DataFrame) -> DataFrame:
        same = parse_column(f"shiftright({SOURCE}, {_INDEX_BITS}) = {_BLOCK}")
        is_match = parse_column(f"get({_ARRAY}{FOUND}, {_INDEX})")
        return source.join(F.broadcast(self.rows), same, "left").withColumn(FOUND, is_match)


def collect_matches(pairs: DataFrame, locator: RowLocator) -> Matches:
    """Collects what happens to pairs, a cached frame with `ACTION`, `FOUND` and the columns of the locator."""
    if isinstance(locator, ListedFilesLocator) and locator.one_by_one:
        return _group_matches(pairs, collect_arrow(pairs.select(ACTION, FOUND, *locator.names)), locator)
    counted = {(row[ACTION], row[FOUND]): row["count"] for row in pairs.groupBy(ACTION, FOUND).count().collect()}
    touched = locator.collect(pairs.where(F.col(ACTION) != NO_ACTION))
    if (NO_ACTION, True) in counted:
        again = pairs.where(FOUND).groupBy(*locator.names[:2]).count().where("count > 1")
        twice = not again.isEmpty()
    else:
        twice = _has_more_rows(touched)
    counts: dict[int, int] = {}
    for (number, _), count in counted.items():
        counts[number] = counts.get(number, 0) + count
    return Matches(pairs, touched, counts, twice)


def _group_matches(pairs: DataFrame, table: pa.Table, locator: ListedFilesLocator) -> Matches:
    grouped = table.group_by(ACTION).aggregate([([], "count_all")])
    counts = dict(zip(grouped[ACTION].to_pylist(), grouped["count_all"].to_pylist(), strict=True))
    touched = locator.group_positions(table.filter(pc.field(ACTION) != NO_ACTION))
    matched = locator.group_positions(table.filter(pc.field(FOUND))) if NO_ACTION in counts else touched
    return Matches(pairs, touched, counts, _has_more_rows(matched))


def group_replacements(spark: SparkSession, table: pa.Table, locator: ListedFilesLocator, clause: int) -> Matches:
    """Groups the pairs of a merge whose only clause replaces matched rows: positions and row ids are enough."""
    touched = locator.group_positions(table)
    counts = {clause: table.num_rows} if table.num_rows else {}
    twice = _has_more_rows(touched)
    return index_pairs(spark, table.drop_columns(locator.names), touched, counts, twice=twice)


def index_pairs(
    spark: SparkSession, pairs: pa.Table, touched: list[FilePositions], counts: dict[int, int], *, twice: bool = False
) -> Matches:
    """Makes matches of collected pairs, given as `SOURCE` and what the new rows need."""
    arrays = _build_arrays(pairs)
    if arrays is not None:
        return IndexedMatches(make_frame_from_arrow(spark, arrays), touched, counts, twice)
    rows = make_frame_from_arrow(spark, pairs).withColumn(FOUND, F.lit(True))
    rows = F.broadcast(rows) if pairs.num_rows <= _MOST_ROWS_BROADCAST else rows
    return Matches(rows, touched, counts, twice)


def _build_arrays(pairs: pa.Table) -> pa.Table | None:
    """Makes the rows of `IndexedMatches`; None if a row of the source matches twice, or arrays would be sparse."""
    numbers = pairs[SOURCE].to_numpy()
    block_of = numbers >> _INDEX_BITS
    blocks = sort_distinct(block_of)
    length = 1 << _INDEX_BITS
    sparse = len(blocks) * length > _SPARSE * len(numbers) and len(blocks) > _FEW_BLOCKS
    if sparse or len(numbers) > _MOST_ROWS_BROADCAST:
        return None
    indexes = np.searchsorted(blocks, block_of) * length + (numbers & _INDEX_MASK)
    is_match = np.zeros(len(blocks) * length, bool)
    is_match[indexes] = True
    if np.count_nonzero(is_match) < len(numbers):
        return None
    row_of = np.zeros(len(is_match), np.int64)
    row_of[indexes] = np.arange(len(numbers))
    taken = pa.array(row_of, mask=~is_match)
    values = {FOUND: pa.array(is_match)}
    values |= {name: pairs[name].combine_chunks().take(taken) for name in pairs.column_names if name != SOURCE}
    starts = np.arange(0, len(is_match) + 1, length)
    lists = {f"{_ARRAY}{name}": pa.ListArray.from_arrays(starts, array) for name, array in values.items()}
    return pa.table({_BLOCK: pa.array(blocks, pa.int64()), **lists})


def _has_more_rows(touched: Sequence[FilePositions]) -> bool:
    return any(file.rows > len(file.positions) for file in touched)
