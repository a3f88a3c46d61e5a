"""Frames of a few rows that executors compute without Python, unlike those of `createDataFrame`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession


def make_frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]], schema: str) -> DataFrame:
    """Makes a frame of numbers and texts without quotes.

    Args:
        spark: The session.
        rows: At least one row.
        schema: The columns, such as `id bigint, v string`.
    """
    columns = [column.split() for column in schema.split(", ")]
    casts = ", ".join(f"CAST(col{number} AS {kind}) {name}" for number, (name, kind) in enumerate(columns, 1))
    return spark.sql(f"SELECT {casts} FROM VALUES {', '.join(map(_to_sql, rows))}")


def make_keys(spark: SparkSession, *keys: int) -> DataFrame:
    """Makes a frame of ids."""
    return make_frame(spark, [(key,) for key in keys], "id bigint")


def _to_sql(row: tuple[Any, ...]) -> str:
    values = [f"'{value}'" if isinstance(value, str) else str(value) for value in row]
    return f"({', '.join(values)})"
