"""Compares the rows that were deleted with those that were inserted: removes unchanged rows, and pairs updates.

Rows of a rewritten file are in both sets. Rows with the same id are compared first, then whole rows as multisets. What
is left is paired by key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.spark import parse_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

STEP: Final = "__rd_step"
SIGN: Final = "__rd_sign"  # 1 for an inserted row, -1 for a deleted one
ID: Final = "__rd_id"
CHANGE: Final = "__rd_change"
_PAIR: Final = "__rd_pair"
_PLACE: Final = "__rd_place"
_DELETED: Final = "__rd_deleted"
_INSERTED: Final = "__rd_inserted"


def name_single(rows: DataFrame) -> DataFrame:
    """Names the changes of rows that were only inserted, or only deleted."""
    return rows.withColumn(CHANGE, parse_column(f"if({SIGN} > 0, 'insert', 'delete')"))


def pair_rows(
    rows: DataFrame, columns: Sequence[str], compared: Sequence[str], key: Sequence[Column], *, with_ids: bool
) -> DataFrame:
    """Removes unchanged rows, and pairs the updates, within each step.

    Args:
        rows: The rows, with `STEP`, `SIGN` and `ID`.
        columns: Their columns of the table.
        compared: The columns to compare: those of `columns`, or comparable forms of them.
        key: The key of a row; empty if it has none.
        with_ids: Whether some rows have ids.
    """
    rows = rows.withColumn(_PAIR, F.lit(None).cast("bigint"))
    if with_ids:
        rows = _spread(rows, [F.coalesce(F.col(ID), F.xxhash64(*compared))])
        rows = _count_sides(_cancel(rows, columns, [*compared, ID]), [F.col(ID)])
        rows = rows.withColumn(_PAIR, parse_column(f"if({_DELETED} = 1 AND {_INSERTED} = 1, {ID}, NULL)"))
    rows = _cancel(_spread(rows, [_PAIR, *(key or [F.xxhash64(*compared)])]), columns, [*compared, _PAIR])
    rows = rows.withColumn("__rd_copies", parse_column(f"explode(array_repeat(0, cast(abs({SIGN}) as int)))"))
    is_pair = f"{_PAIR} IS NOT NULL"
    if key:
        rows = _count_sides(rows, [F.col(_PAIR), *key])
        is_pair += f" OR ({_DELETED} = 1 AND {_INSERTED} = 1)"
    return rows.withColumn(
        CHANGE,
        parse_column(
            f"CASE WHEN {is_pair} THEN if({SIGN} > 0, 'update_postimage', 'update_preimage') "
            f"WHEN {SIGN} > 0 THEN 'insert' ELSE 'delete' END"
        ),
    )


def _spread(rows: DataFrame, by: Sequence[str | Column]) -> DataFrame:
    """Shuffles rows once for all comparisons that follow: rows that may cancel or pair get the same place."""
    return rows.withColumn(_PLACE, F.xxhash64(*by)).repartition(STEP, _PLACE)


def _cancel(rows: DataFrame, columns: Sequence[str], compared: Sequence[str]) -> DataFrame:
    """Removes rows that are deleted as often as they are inserted; `SIGN` becomes the difference."""
    others = [name for name in columns if name not in compared]
    sums = rows.groupBy(STEP, _PLACE, *compared).agg(
        F.sum(SIGN).alias(SIGN), *(F.first(name).alias(name) for name in others)
    )
    return sums.where(parse_column(f"{SIGN} <> 0"))


def _count_sides(rows: DataFrame, by: Sequence[Column]) -> DataFrame:
    """Counts the deleted and the inserted rows that share a key."""
    same = Window.partitionBy(STEP, _PLACE, *by)
    return rows.withColumns(
        {
            _DELETED: F.sum(parse_column(f"greatest(-{SIGN}, 0L)")).over(same),
            _INSERTED: F.sum(parse_column(f"greatest({SIGN}, 0L)")).over(same),
        }
    )
