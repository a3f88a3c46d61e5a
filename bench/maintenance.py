"""Measure maintenance: the time of a resolve against a scan, its memory, and what it saves readers and compaction."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from bench.data import (
    ALWAYS_VECTORS,
    SCALES,
    aggregate,
    make_branch,
    make_table,
    on_new_branches,
    random_keys,
    read_by_iceberg,
    rows,
)
from bench.debt import debt_of_many_files
from bench.measure import REPEATS, WARM_UPS, Measure, Timing, live_heap_mb, ratio, side_by_side, time_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

TABLE = "lake.bench.kept"
COMMITS = 50


def run(spark: SparkSession, scale: str) -> list[Measure]:
    size = SCALES[scale]
    make_table(spark, TABLE, size, properties=ALWAYS_VECTORS)
    measures = [*_compare_with_scan(spark, size), *_measure_many_commits(spark, size), *_measure_growth(spark, size)]
    return [*measures, debt_of_many_files(spark)]


def _compare_with_scan(spark: SparkSession, size: int) -> list[Measure]:
    keys = size // 20
    measures = []
    for encoding in ("deletion-vector", "full-row"):
        source = make_branch(spark, TABLE, f"keys_{encoding.replace('-', '_')}")
        source.delete_keys(random_keys(spark, keys, size), key="id", encoding=encoding).execute()
        resolve, scan = side_by_side(
            on_new_branches(
                spark, TABLE, source.branch, lambda table: table.resolve(verify=False).execute(), WARM_UPS + REPEATS
            ),
            lambda: spark.table(TABLE).agg(F.sum("id")).collect(),
            warm_ups=WARM_UPS,
        )
        measures.append(
            ratio(f"resolve {keys:,} keys, {encoding} / scan of the key column by Iceberg", resolve, scan, "<= 2.5")
        )
        if encoding == "deletion-vector":
            checked = time_of(
                on_new_branches(spark, TABLE, source.branch, lambda table: table.resolve(verify=True).execute(), 2),
                repeats=1,
            )
            measures.append(ratio("resolve with verification / without", checked, Timing((resolve.best,)), ""))
    return measures


def _measure_many_commits(spark: SparkSession, size: int) -> list[Measure]:
    """Measures fifty commits of standard equality deletes, with new rows in between, as in a stream of changes."""
    keys, source = size // 5, make_branch(spark, TABLE, "stream")
    wanted = random_keys(spark, keys, size).withColumn("part", F.expr(f"pmod(xxhash64(id, 7), {COMMITS})")).cache()
    wanted.count()
    for part in range(COMMITS):
        source.delete_keys(wanted.where(F.col("part") == part), key="id", encoding="full-row").execute()
        if part % 10 == 0:
            rows(spark, size + part, size + part + 1).coalesce(1).writeTo(f"{TABLE}.branch_stream").append()
    wanted.unpersist()
    held = live_heap_mb(
        spark, on_new_branches(spark, TABLE, "stream", lambda table: table.resolve(verify=False).execute(), 1)
    )
    measures = [Measure(f"resolve {keys:,} keys in {COMMITS} commits: heap above the start", held, "<= 300", "MiB")]
    resolved = make_branch(spark, TABLE, "resolved", "stream")
    resolved.resolve(verify=False).execute()
    before, after = side_by_side(
        lambda: aggregate(read_by_iceberg(spark, TABLE, "stream")),
        lambda: aggregate(read_by_iceberg(spark, TABLE, "resolved")),
        repeats=2,
    )
    measures.append(
        ratio(f"aggregate by Iceberg, {COMMITS} commits of equality deletes: before / after", before, after, "")
    )
    theirs, ours = (
        on_new_branches(spark, TABLE, "stream", partial(_rewrite, spark), 3),
        on_new_branches(spark, TABLE, "stream", _compact, 3),
    )
    alone, after_resolve = side_by_side(theirs, ours, repeats=1)
    measure = ratio("Iceberg rewrite_data_files alone / compact", alone, after_resolve, ">= 2")
    measure.detail["iceberg_heap_mb"] = live_heap_mb(spark, theirs)
    measure.detail["compact_heap_mb"] = live_heap_mb(spark, ours)
    return [*measures, measure]


def _rewrite(spark: SparkSession, table: rd.Table) -> None:
    arguments = f"table => '{TABLE}', branch => '{table.branch}', options => map('rewrite-all', 'true')"
    spark.sql(f"CALL lake.system.rewrite_data_files({arguments})").collect()


def _compact(table: rd.Table) -> None:
    table.compact(options={"rewrite-all": "true"}, verify=False).execute()


def _measure_growth(spark: SparkSession, size: int) -> list[Measure]:
    """Measures a resolve on a small table and on one ten times as large. The keys span the same number of files."""
    piece = size // 10
    grown, base = side_by_side(_resolve_first(spark, piece, 10), _resolve_first(spark, piece, 1))
    return [ratio(f"resolve of keys in {piece:,} rows: table of {size:,} rows / of {piece:,}", grown, base, "<= 1.5")]


def _resolve_first(spark: SparkSession, piece: int, pieces: int) -> Callable[[], None]:
    """Returns an action that resolves keys of the first piece of a table, on another prepared branch each time."""
    name, tables = f"{TABLE}_{pieces}", []
    make_table(spark, name, piece)
    for number in range(1, pieces):
        rows(spark, number * piece, (number + 1) * piece).writeTo(name).append()
    for number in range(REPEATS + 1):
        spark.sql(f"ALTER TABLE {name} CREATE BRANCH again_{number}")
        tables.append(rd.table(spark, name, branch=f"again_{number}"))
        tables[-1].delete_keys(spark.range(piece).where("pmod(xxhash64(id), 100) < 5"), key="id").execute()

    def resolve() -> None:
        assert tables.pop().resolve(verify=False).execute().files_scanned <= 16  # only files of the first piece

    return resolve
