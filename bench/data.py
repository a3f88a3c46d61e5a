"""The table that the benchmarks share: eight columns of the usual kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCALES = {"small": 200_000, "medium": 2_000_000, "large": 20_000_000}
COLUMNS = "id bigint NOT NULL, a bigint, b double, c string, d int, e date, f timestamp, g decimal(12, 2)"


def rows(spark: SparkSession, start: int, end: int, step: int = 1) -> DataFrame:
    """Rows with ids of a range; every other column is as random as real data, but always the same for an id."""
    return spark.range(start, end, step, 16).selectExpr(
        "id",
        "pmod(xxhash64(id), 1000000007) a",
        "xxhash64(id, 1) / 1e18D b",
        "concat(hex(xxhash64(id, 2)), '-', hex(xxhash64(id, 3))) c",
        "cast(pmod(xxhash64(id, 4), 1000) as int) d",
        "date_add(date'2020-01-01', cast(pmod(xxhash64(id, 5), 1000) as int)) e",
        "timestamp_micros(1600000000000000 + pmod(xxhash64(id, 6), 31536000000000)) f",
        "cast(pmod(xxhash64(id, 7), 10000000) / 100 as decimal(12, 2)) g",
    )


def make_table(spark: SparkSession, name: str, count: int, version: int = 3, **properties: str) -> None:
    """A table of some rows in 16 files."""
    settings = {"format-version": str(version), **{key.replace("_", "."): value for key, value in properties.items()}}
    text = ", ".join(f"'{key}'='{value}'" for key, value in settings.items())
    spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING iceberg TBLPROPERTIES ({text})")
    rows(spark, 0, count).writeTo(name).append()
