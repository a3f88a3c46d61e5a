"""The join of a table with the source of a matching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import FILE
from rowdelta.merge.matches import FOUND
from rowdelta.read import MAX_BROADCAST_BYTES, find_matching_pairs
from rowdelta.spark import estimate_size, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.change import RowLocator, Target
    from rowdelta.merge.candidates import Candidates
    from rowdelta.merge.matching import Matching


def can_broadcast(source: DataFrame) -> bool:
    """Whether every task can hold the whole source."""
    return estimate_size(source) <= MAX_BROADCAST_BYTES


def join_source(
    matching: Matching, target: Target, candidates: Candidates, source: DataFrame, *, broadcast: bool
) -> DataFrame:
    """Joins rows of the table with the rows of the source that match; these have `FOUND`.

    All rows of the table stay if rows that nothing matches are wanted.
    """
    right = source.withColumn(FOUND, F.lit(True)).alias(matching.aliases[1])
    if broadcast:
        right = F.broadcast(right)
    join_type = "left" if matching.keeps_all_rows else "inner"

    def join(rows: DataFrame) -> DataFrame:
        return rows.alias(matching.aliases[0]).join(right, matching.on.condition, join_type)

    rows = _mark_rows(target, candidates)
    return join(rows) if matching.on.is_complete else find_matching_pairs(matching.handle, rows, join)


def name_old_columns(matching: Matching, target: Target, locator: RowLocator) -> list[str]:
    """Lists the columns to keep from old rows, in SQL: their positions and ids."""
    return [f"{quote(matching.aliases[0])}.{name}" for name in (*locator.names, *target.updated_lineage)]


def _mark_rows(target: Target, candidates: Candidates) -> DataFrame:
    """Selects every column that conditions and values may use; Spark does not read the others."""
    locator = candidates.locator
    more = [name for name in (FILE, *target.lineage) if name not in locator.names]
    return locator.mark(candidates.rows, [*map(quote, target.columns), *more])
