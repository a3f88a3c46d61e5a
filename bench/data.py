"""Create the tables, keys and branches that the benchmarks share, and read them."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from bench.measure import REPEATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

SCALES = {"small": 200_000, "medium": 2_000_000, "large": 20_000_000}
VALUES = tuple("abcdefg")
COLUMNS = "id bigint NOT NULL, a bigint, b double, c string, d int, e date, f timestamp, g decimal(12, 2)"
VECTORS = {"write.delete.equality-vector.enabled": "true"}
# A few keys that are spread over a table are sparse. Without this setting, they would become files, not vectors.
ALWAYS_VECTORS = {**VECTORS, "write.delete.equality-vector.max-sparsity": "1000000"}
MERGE_ON_READ = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
UPSERT = (
    "MERGE INTO {target} t USING {source} s ON t.id = s.id "
    f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{name} = s.{name}' for name in VALUES)} "
    f"WHEN NOT MATCHED THEN INSERT (id, {', '.join(VALUES)}) VALUES (s.id, {', '.join(f's.{name}' for name in VALUES)})"
)
OF_ID = (
    "id",
    "pmod(xxhash64(id), 1000000007) a",
    "xxhash64(id, 1) / 1e18D b",
    "concat(hex(xxhash64(id, 2)), '-', hex(xxhash64(id, 3))) c",
    "cast(pmod(xxhash64(id, 4), 1000) as int) d",
    "date_add(date'2020-01-01', cast(pmod(xxhash64(id, 5), 1000) as int)) e",
    "timestamp_micros(1600000000000000 + pmod(xxhash64(id, 6), 31536000000000)) f",
    "cast(pmod(xxhash64(id, 7), 10000000) / 100 as decimal(12, 2)) g",
)
_numbers = count(1)


def rows(spark: SparkSession, start: int, end: int, step: int = 1) -> DataFrame:
    """Rows with the ids of a range. The other columns look random, like real data, but depend only on the id."""
    return spark.range(start, end, step, 16).selectExpr(*OF_ID)


def random_keys(spark: SparkSession, number: int, of: int) -> DataFrame:
    """Random ids. A hash of the id selects them, so that they are evenly spread and the same in every run."""
    return spark.range(of).where(f"pmod(xxhash64(id), {of}) < {number}")


def make_table(
    spark: SparkSession, name: str, number: int, version: int = 3, properties: Mapping[str, str] | None = None
) -> None:
    """Creates a table with some rows in 16 files."""
    settings = {"format-version": str(version), **(properties or {})}
    text = ", ".join(f"'{key}'='{value}'" for key, value in settings.items())
    spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING iceberg TBLPROPERTIES ({text})")
    if number:
        rows(spark, 0, number).writeTo(name).append()


def make_branch(spark: SparkSession, table: str, name: str, of: str = "main") -> rd.Table:
    """Creates a branch that starts at the head of another branch."""
    head = rd.table(spark, table, branch=of).metadata.head(of)
    assert head is not None
    spark.sql(f"ALTER TABLE {table} CREATE OR REPLACE BRANCH {name} AS OF VERSION {head.id}")
    return rd.table(spark, table, branch=name)


def on_new_branches(
    spark: SparkSession, table: str, of: str, act: Callable[[rd.Table], Any], times: int = REPEATS + 1
) -> Callable[[], Any]:
    """Returns an action that runs on a new branch each time. The branches are created before the measurement."""
    tables = [make_branch(spark, table, f"again_{next(_numbers)}", of) for _ in range(times)]
    return lambda: act(tables.pop())


def read_by_iceberg(spark: SparkSession, table: str, branch: str) -> DataFrame:
    """Reads a branch with Iceberg's own reader."""
    return spark.sql(f"SELECT * FROM {table} VERSION AS OF '{branch}'")


def aggregate(frame: DataFrame) -> tuple[Any, ...]:
    """Returns the sums of the key and of two columns."""
    (sums,) = frame.agg(F.sum("id"), F.sum("a"), F.sum("b")).collect()
    return tuple(sums)
