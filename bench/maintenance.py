"""Maintenance: what resolving costs beside a scan, what it saves readers and compaction, and the memory it takes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from bench.data import SCALES, make_table, rows
from bench.equality import ENABLED, aggregate
from bench.measure import Measure, Timing, live_heap_mb, ratio, side_by_side, time_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

TABLE = "lake.bench.kept"
COMMITS = 50


def run(spark: SparkSession, scale: str) -> list[Measure]:
    count = SCALES[scale]
    make_table(spark, TABLE, count)
    sparse = "'write.delete.equality-vector.max-sparsity'='1000000'"
    spark.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('{ENABLED}'='true', {sparse})")
    return [*_against_a_scan(spark, count), *_many_commits(spark, count), *_growth(spark, count)]


def _keys(spark: SparkSession, count: int, of: int) -> DataFrame:
    return spark.range(of).where(f"pmod(xxhash64(id), {of}) < {count}")


def _branch(spark: SparkSession, name: str, of: str = "main") -> rd.Table:
    spark.sql(f"ALTER TABLE {TABLE} CREATE OR REPLACE BRANCH {name} AS OF VERSION {_head(spark, of)}")
    return rd.table(spark, TABLE, branch=name)


def _head(spark: SparkSession, branch: str) -> int:
    found = rd.table(spark, TABLE, branch=branch).metadata.head(branch)
    assert found is not None
    return found.id


def _stock(spark: SparkSession, branch: str) -> DataFrame:
    return spark.sql(f"SELECT * FROM {TABLE} VERSION AS OF '{branch}'")


def _fresh(spark: SparkSession, source: str, act: Callable[[rd.Table], object]) -> None:
    """Runs something on a new branch of a state, so that every repeat finds the same."""
    act(_branch(spark, "again", source))


def _against_a_scan(spark: SparkSession, count: int) -> list[Measure]:
    keys = count // 20
    found = []
    for encoding in ("deletion-vector", "full-row"):
        source = _branch(spark, f"keys_{encoding.replace('-', '_')}")
        source.delete_keys(_keys(spark, keys, count), key="id", encoding=encoding).execute()
        resolve, scan = side_by_side(
            partial(_fresh, spark, source.branch, lambda table: table.resolve(verify=False).execute()),
            lambda: spark.table(TABLE).agg(F.sum("id")).collect(),
        )
        found.append(
            ratio(f"resolve {keys:,} keys, {encoding} / scan of the key column by Iceberg", resolve, scan, "<= 2.5")
        )
        if encoding == "deletion-vector":
            checked = time_of(
                partial(_fresh, spark, source.branch, lambda table: table.resolve(verify=True).execute()), repeats=1
            )
            found.append(ratio("resolve with verification / without", checked, Timing((resolve.best,)), ""))
    return found


def _many_commits(spark: SparkSession, count: int) -> list[Measure]:
    """Fifty commits of standard equality deletes with new rows between them, as a stream of changes leaves them."""
    keys, source = count // 5, _branch(spark, "stream")
    wanted = _keys(spark, keys, count).withColumn("part", F.expr(f"pmod(xxhash64(id, 7), {COMMITS})")).cache()
    wanted.count()
    for part in range(COMMITS):
        source.delete_keys(wanted.where(F.col("part") == part), key="id", encoding="full-row").execute()
        if part % 10 == 0:
            rows(spark, count + part, count + part + 1).coalesce(1).writeTo(f"{TABLE}.branch_stream").append()
    wanted.unpersist()
    held = live_heap_mb(spark, partial(_fresh, spark, "stream", lambda table: table.resolve(verify=False).execute()))
    found = [Measure(f"resolve {keys:,} keys in {COMMITS} commits: heap above the start", held, "<= 300", "MiB")]
    resolved = _branch(spark, "resolved", "stream")
    resolved.resolve(verify=False).execute()
    before, after = side_by_side(
        lambda: aggregate(_stock(spark, "stream")), lambda: aggregate(_stock(spark, "resolved")), repeats=2
    )
    found.append(
        ratio(f"aggregate by Iceberg, {COMMITS} commits of equality deletes: before / after", before, after, "")
    )
    stock, ours = partial(_fresh, spark, "stream", partial(_rewrite, spark)), partial(_fresh, spark, "stream", _compact)
    alone, after_resolve = side_by_side(stock, ours, repeats=1)
    measure = ratio("Iceberg rewrite_data_files alone / compact", alone, after_resolve, ">= 2")
    measure.detail["iceberg_heap_mb"] = live_heap_mb(spark, stock)
    measure.detail["compact_heap_mb"] = live_heap_mb(spark, ours)
    return [*found, measure]


def _rewrite(spark: SparkSession, table: rd.Table) -> None:
    arguments = f"table => '{TABLE}', branch => '{table.branch}', options => map('rewrite-all', 'true')"
    spark.sql(f"CALL lake.system.rewrite_data_files({arguments})").collect()


def _compact(table: rd.Table) -> None:
    table.compact(options={"rewrite-all": "true"}, verify=False).execute()


def _growth(spark: SparkSession, count: int) -> list[Measure]:
    """The table grows tenfold; the keys stay in the same files."""
    small, large = f"{TABLE}_small", f"{TABLE}_large"
    piece, times = count // 10, []
    for name, pieces in ((small, 1), (large, 10)):
        make_table(spark, name, piece)
        for number in range(1, pieces):
            rows(spark, number * piece, (number + 1) * piece).writeTo(name).append()
        keys = spark.range(piece).where("pmod(xxhash64(id), 100) < 5")

        def resolve(name: str = name, keys: DataFrame = keys) -> None:
            spark.sql(f"ALTER TABLE {name} CREATE OR REPLACE BRANCH again")
            table = rd.table(spark, name, branch="again")
            table.delete_keys(keys, key="id").execute()
            result = table.resolve(verify=False).execute()
            assert result.files_scanned <= 16  # those of the first piece

        times.append(resolve)
    grown, base = side_by_side(times[1], times[0])
    return [ratio(f"resolve of keys in {piece:,} rows: table of {count:,} rows / of {piece:,}", grown, base, "<= 1.5")]
