"""Upserts and streams of changes, beside `foreachBatch` and Iceberg's MERGE."""

from __future__ import annotations

import gc
import shutil
import time
from typing import TYPE_CHECKING

import rowdelta as rd
from bench.data import MERGE_ON_READ, SCALES, UPSERT, VECTORS, make_branch, make_table, rows
from bench.measure import REPEATS, WARM_UPS, Measure, after_warm_up, ratio, resident_mb, seconds_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

BIG, SMALL = "lake.bench.big", "lake.bench.little"
MERGE = UPSERT.format(target=f"{BIG}.branch_fresh", source="bench_changes")
MERGED_BATCHES = 5
NEIGHBOURS = 5
RETAINED = 10
MEMORY_BATCHES = {"small": (20, 40), "medium": (100, 200), "large": (200, 500)}


def run(spark: SparkSession, scale: str, folder: Path) -> list[Measure]:
    count = SCALES[scale]
    for name, some in ((BIG, count), (SMALL, count // 10)):
        make_table(spark, name, some, properties=VECTORS | MERGE_ON_READ)
    memory = _memory(spark, scale, folder)
    return [*_upserts(spark, count), _stream(spark, count, folder), memory]


def _fresh(spark: SparkSession, name: str) -> rd.Table:
    """A branch that starts at the table as it was made."""
    return make_branch(spark, name, "fresh")


def _upserts(spark: SparkSession, count: int) -> list[Measure]:
    """A hundredth of the keys, one in eleven of them new."""
    changes = rows(spark, 7, count + count // 10, 100 + 10).cache()
    number = changes.count()
    changes.createOrReplaceTempView("bench_changes")

    def upsert(table: rd.Table) -> float:
        return seconds_of(lambda: table.upsert(changes, "id").execute())

    turns = []
    for _ in range(WARM_UPS + REPEATS):
        ours = [upsert(_fresh(spark, name)) for name in (BIG, SMALL)]
        _fresh(spark, BIG)
        turns.append([*ours, seconds_of(lambda: spark.sql(MERGE))])
    changes.unpersist()
    big, little, merged = after_warm_up(turns, WARM_UPS)
    return [
        ratio(
            f"upsert of {number:,} keys into {count:,} rows: Iceberg MERGE / rowdelta",
            merged,
            big,
            ">= 10",
        ),
        ratio(f"upsert: into {count:,} rows / into {count // 10:,} rows", big, little, "<= 1.2"),
    ]


def _batch_files(spark: SparkSession, folder: Path, count: int, batches: int, size: int) -> str:
    """Files of changes, one a batch: keys all over the table."""
    step = max(1, count // size)
    for number in range(batches):
        rows(spark, number % step, count, step).limit(size).coalesce(1).write.parquet(
            str(folder / f"batch={number:04d}")
        )
    return str(folder)


def _source(spark: SparkSession, folder: str) -> DataFrame:
    schema = spark.read.parquet(f"{folder}/batch=0000").schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(f"{folder}/batch=*")


def _stream(spark: SparkSession, count: int, folder: Path) -> Measure:
    """Fifty micro-batches end to end; the peer is shown a few of them, because each takes it as long."""
    size, batches = max(1_000, count // 1_000), 50
    files = _batch_files(spark, folder / "changes", count, batches, size)
    table = _fresh(spark, BIG)
    warm = rd.cdc.stream(_source(spark, files), _fresh(spark, SMALL), "id", tie="any")
    warm.start(str(folder / "warm"), available_now=True).await_termination()
    started = time.perf_counter()
    stream = rd.cdc.stream(_source(spark, files), table, "id", tie="any")
    stream.start(str(folder / "ours"), available_now=True).await_termination()
    ours = batches * size / (time.perf_counter() - started)
    _fresh(spark, BIG)
    done: list[float] = []

    def merge(batch: DataFrame, number: int) -> None:
        if number >= MERGED_BATCHES:
            return
        batch.createOrReplaceTempView("bench_changes")
        batch.sparkSession.sql(MERGE)
        done.append(time.perf_counter())

    query = _source(spark, files).writeStream.foreachBatch(merge).option("checkpointLocation", str(folder / "theirs"))
    query.trigger(availableNow=True).start().awaitTermination()
    theirs = (MERGED_BATCHES - 1) * size / (done[-1] - done[0])
    detail = {"ours_rows_per_second": round(ours), "merge_rows_per_second": round(theirs)}
    name = f"{batches} micro-batches of {size:,} changes, rows per second: rowdelta / foreachBatch and Iceberg MERGE"
    return Measure(name, round(ours / theirs, 1), ">= 8", detail=detail)


def _memory(spark: SparkSession, scale: str, folder: Path) -> Measure:
    """What a driver keeps of micro-batches, in a stream that resolves and expires: after a warm-up, and at the end.

    What a collection leaves differs by tens of MiB from one batch to the next; the least of five in a row counts.
    """
    warm_up, batches = MEMORY_BATCHES[scale]
    files = _same_file(spark, folder / "small", warm_up + batches + NEIGHBOURS)
    for key, value in {"max-snapshot-age-ms": 1, "min-snapshots-to-keep": RETAINED}.items():
        spark.sql(f"ALTER TABLE {SMALL} SET TBLPROPERTIES ('history.expire.{key}' = '{value}')")
    kept: dict[bool, list[tuple[float, float]]] = {False: [], True: []}

    def look(progress: rd.cdc.BatchProgress) -> None:
        number = progress.batch_id
        if warm_up <= number < warm_up + NEIGHBOURS or number >= warm_up + batches:
            kept[number >= warm_up + batches].append(_kept_mb(spark))

    source, table = _source(spark, files), _fresh(spark, SMALL)
    stream = rd.cdc.stream(source, table, "id", tie="any", resolve_every=10, expire_every=10, on_progress=look)
    stream.start(str(folder / "kept"), available_now=True).await_termination()
    seen = [[min(some) for some in zip(*kept[late], strict=True)] for late in (False, True)]
    detail = {f"{name}_mb": [some[at] for some in seen] for at, name in enumerate(("python", "heap"))}
    growth = round(sum(seen[1]) - sum(seen[0]), 1)
    return Measure(f"driver memory growth over {batches} micro-batches after {warm_up}", growth, "none", "MiB", detail)


def _same_file(spark: SparkSession, folder: Path, batches: int) -> str:
    """The same thousand changes for every batch."""
    files = _batch_files(spark, folder, 20_000, 1, 1_000)
    (first,) = (folder / "batch=0000").glob("*.parquet")
    for number in range(1, batches):
        other = folder / f"batch={number:04d}"
        other.mkdir()
        shutil.copy(first, other / f"{number}.parquet")
    return files


def _kept_mb(spark: SparkSession) -> tuple[float, float]:
    """Memory of this process, and what a collection leaves in the heap."""
    gc.collect()
    jvm = spark._jvm
    assert jvm is not None
    for _ in range(3):
        jvm.System.gc()
        time.sleep(0.2)
    runtime = jvm.java.lang.Runtime.getRuntime()
    return resident_mb(), round((runtime.totalMemory() - runtime.freeMemory()) / 2**20, 1)
