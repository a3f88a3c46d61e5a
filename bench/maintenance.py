"""Maintenance: what resolving costs beside a scan, what it saves readers and compaction, and the memory it takes."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from bench.data import SCALES, make_table, rows
from bench.equality import ENABLED, aggregate
from bench.measure import REPEATS, Measure, Timing, live_heap_mb, ratio, side_by_side, time_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

TABLE = "lake.bench.kept"
_numbers = count(1)
COMMITS = 50


def run(spark: SparkSession, scale: str) -> list[Measure]:
    size = SCALES[scale]
    make_table(spark, TABLE, size)
    sparse = "'write.delete.equality-vector.max-sparsity'='1000000'"
    spark.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('{ENABLED}'='true', {sparse})")
    return [*_against_a_scan(spark, size), *_many_commits(spark, size), *_growth(spark, size)]


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


def _fresh(
    spark: SparkSession, source: str, act: Callable[[rd.Table], object], times: int = REPEATS + 1
) -> Callable[[], object]:
    """Something to run on a new branch of a state each time; the branches are made before the clock starts."""
    tables = [_branch(spark, f"again_{next(_numbers)}", source) for _ in range(times)]
    return lambda: act(tables.pop())


def _against_a_scan(spark: SparkSession, size: int) -> list[Measure]:
    keys = size // 20
    found = []
    for encoding in ("deletion-vector", "full-row"):
        source = _branch(spark, f"keys_{encoding.replace('-', '_')}")
        source.delete_keys(_keys(spark, keys, size), key="id", encoding=encoding).execute()
        resolve, scan = side_by_side(
            _fresh(spark, source.branch, lambda table: table.resolve(verify=False).execute()),
            lambda: spark.table(TABLE).agg(F.sum("id")).collect(),
        )
        found.append(
            ratio(f"resolve {keys:,} keys, {encoding} / scan of the key column by Iceberg", resolve, scan, "<= 2.5")
        )
        if encoding == "deletion-vector":
            checked = time_of(
                _fresh(spark, source.branch, lambda table: table.resolve(verify=True).execute(), 2), repeats=1
            )
            found.append(ratio("resolve with verification / without", checked, Timing((resolve.best,)), ""))
    return found


def _many_commits(spark: SparkSession, size: int) -> list[Measure]:
    """Fifty commits of standard equality deletes with new rows between them, as a stream of changes leaves them."""
    keys, source = size // 5, _branch(spark, "stream")
    wanted = _keys(spark, keys, size).withColumn("part", F.expr(f"pmod(xxhash64(id, 7), {COMMITS})")).cache()
    wanted.count()
    for part in range(COMMITS):
        source.delete_keys(wanted.where(F.col("part") == part), key="id", encoding="full-row").execute()
        if part % 10 == 0:
            rows(spark, size + part, size + part + 1).coalesce(1).writeTo(f"{TABLE}.branch_stream").append()
    wanted.unpersist()
    held = live_heap_mb(spark, _fresh(spark, "stream", lambda table: table.resolve(verify=False).execute(), 1))
    found = [Measure(f"resolve {keys:,} keys in {COMMITS} commits: heap above the start", held, "<= 300", "MiB")]
    resolved = _branch(spark, "resolved", "stream")
    resolved.resolve(verify=False).execute()
    before, after = side_by_side(
        lambda: aggregate(_stock(spark, "stream")), lambda: aggregate(_stock(spark, "resolved")), repeats=2
    )
    found.append(
        ratio(f"aggregate by Iceberg, {COMMITS} commits of equality deletes: before / after", before, after, "")
    )
    stock, ours = _fresh(spark, "stream", partial(_rewrite, spark), 3), _fresh(spark, "stream", _compact, 3)
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


def _growth(spark: SparkSession, size: int) -> list[Measure]:
    """The table grows tenfold; the keys stay in the same files."""
    piece = size // 10
    grown, base = side_by_side(_resolve_first(spark, piece, 10), _resolve_first(spark, piece, 1))
    return [ratio(f"resolve of keys in {piece:,} rows: table of {size:,} rows / of {piece:,}", grown, base, "<= 1.5")]


def _resolve_first(spark: SparkSession, piece: int, pieces: int) -> Callable[[], None]:
    """Resolves keys of the first piece of a table, each time on another branch that was made before."""
    name, tables = f"{TABLE}_{pieces}", []
    make_table(spark, name, piece)
    for number in range(1, pieces):
        rows(spark, number * piece, (number + 1) * piece).writeTo(name).append()
    for number in range(REPEATS + 1):
        spark.sql(f"ALTER TABLE {name} CREATE BRANCH again_{number}")
        tables.append(rd.table(spark, name, branch=f"again_{number}"))
        tables[-1].delete_keys(spark.range(piece).where("pmod(xxhash64(id), 100) < 5"), key="id").execute()

    def resolve() -> None:
        assert tables.pop().resolve(verify=False).execute().files_scanned <= 16  # those of the first piece

    return resolve
