"""The rows of a table that a merge touches: where they are, what becomes of them, and what matches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.iceberg import arrow_frame
from rowdelta.ops.merge_clauses import NO_ACTION
from rowdelta.ops.positions import KnownFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from rowdelta.ops.positions import FilePositions, Places

ACTION: Final = "__rd_action"
SOURCE: Final = "__rd_source"
FOUND: Final = "__rd_found"
_BROADCAST_AT_MOST: Final = 2_000_000


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

    @property
    def matched(self) -> DataFrame:
        """The numbers of the source's rows that match."""
        return self.rows.where(FOUND).select(SOURCE)


def look_at(pairs: DataFrame, places: Places) -> Matches:
    """Collects what became of pairs, which the caller keeps: they have `ACTION`, `FOUND` and the columns of places."""
    if isinstance(places, KnownFiles) and places.one_by_one:
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


def _looked_at(pairs: DataFrame, table: pa.Table, places: KnownFiles) -> Matches:
    grouped = table.group_by(ACTION).aggregate([([], "count_all")])
    counts = dict(zip(grouped[ACTION].to_pylist(), grouped["count_all"].to_pylist(), strict=True))
    touched = places.collected(table.filter(pc.field(ACTION) != NO_ACTION))
    found = places.collected(table.filter(pc.field(FOUND))) if NO_ACTION in counts else touched
    return Matches(pairs, touched, counts, _has_more_rows(found))


def look_once(joined: DataFrame, places: KnownFiles) -> Matches:
    """The same where every matched row is replaced by one of the source: only places and row ids need to be known."""
    table = joined.toArrow()
    touched = places.collected(table)
    rows = arrow_frame(joined.sparkSession, table.drop_columns(places.names)).withColumn(FOUND, F.lit(True))
    if table.num_rows <= _BROADCAST_AT_MOST:
        rows = F.broadcast(rows)
    return Matches(rows, touched, {0: table.num_rows} if table.num_rows else {}, _has_more_rows(touched))


def _has_more_rows(touched: Sequence[FilePositions]) -> bool:
    return any(file.rows > len(file.positions) for file in touched)
