"""Measure upserts and streams of changes against Iceberg's MERGE, alone and in `foreachBatch`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import rowdelta as rd
from bench.data import MERGE_ON_READ, SCALES, UPSERT, VECTORS, make_branch, make_table, rows
from bench.measure import REPEATS, WARM_UPS, Measure, after_warm_up, ratio, seconds_of
from bench.stream_memory import SAMPLES, measure_memory

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

BIG, SMALL = "lake.bench.big", "lake.bench.little"
MERGE = UPSERT.format(target=f"{BIG}.branch_fresh", source="bench_changes")
MERGED_BATCHES = 5
# The number of warm-up batches, the number of measured batches, and the seconds to wait before each memory sample.
# Spark caches a hundred generated classes, and each expiry has new plans, so this cache is full only after 400 batches.
# The memory that Python's allocator holds is stable after a thousand batches.
MEMORY_BATCHES = {"small": (20, 40, 0.0), "medium": (100, 200, 65.0), "large": (1000, 500, 65.0)}


def run(spark: SparkSession, scale: str, folder: Path) -> list[Measure]:
    count = SCALES[scale]
    for name, some in ((BIG, count), (SMALL, count // 10)):
        make_table(spark, name, some, properties=VECTORS | MERGE_ON_READ)
    return [*_measure_upserts(spark, count), _measure_stream(spark, count, folder), _measure_memory(scale)]


def _new_branch(spark: SparkSession, name: str) -> rd.Table:
    """Creates a branch that starts at the original state of the table."""
    return make_branch(spark, name, "fresh")


def _measure_upserts(spark: SparkSession, count: int) -> list[Measure]:
    """Upserts a hundredth of the keys; one in eleven of them is new."""
    changes = rows(spark, 7, count + count // 10, 100 + 10).cache()
    number = changes.count()
    changes.createOrReplaceTempView("bench_changes")

    def upsert(table: rd.Table) -> float:
        return seconds_of(lambda: table.upsert(changes, "id").execute())

    turns = []
    for _ in range(WARM_UPS + REPEATS):
        ours = [upsert(_new_branch(spark, name)) for name in (BIG, SMALL)]
        _new_branch(spark, BIG)
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


def _write_batches(spark: SparkSession, folder: Path, count: int, batches: int, size: int) -> str:
    """Writes one file of changes for each batch, with keys from the whole table."""
    step = max(1, count // size)
    for number in range(batches):
        rows(spark, number % step, count, step).limit(size).coalesce(1).write.parquet(
            str(folder / f"batch={number:04d}")
        )
    return str(folder)


def _stream_batches(spark: SparkSession, folder: str) -> DataFrame:
    schema = spark.read.parquet(f"{folder}/batch=0000").schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(f"{folder}/batch=*")


def _measure_stream(spark: SparkSession, count: int, folder: Path) -> Measure:
    """Measures fifty micro-batches. MERGE runs only a few of them, because each one takes the same time."""
    size, batches = max(1_000, count // 1_000), 50
    files = _write_batches(spark, folder / "changes", count, batches, size)
    table = _new_branch(spark, BIG)
    warm = rd.cdc.stream(_stream_batches(spark, files), _new_branch(spark, SMALL), "id", tie="any")
    warm.start(str(folder / "warm"), available_now=True).await_termination()
    started = time.perf_counter()
    stream = rd.cdc.stream(_stream_batches(spark, files), table, "id", tie="any")
    stream.start(str(folder / "ours"), available_now=True).await_termination()
    ours = batches * size / (time.perf_counter() - started)
    _new_branch(spark, BIG)
    done: list[float] = []

    def merge(batch: DataFrame, number: int) -> None:
        if number >= MERGED_BATCHES:
            return
        batch.createOrReplaceTempView("bench_changes")
        batch.sparkSession.sql(MERGE)
        done.append(time.perf_counter())

    query = (
        _stream_batches(spark, files)
        .writeStream.foreachBatch(merge)
        .option("checkpointLocation", str(folder / "theirs"))
    )
    query.trigger(availableNow=True).start().awaitTermination()
    theirs = (MERGED_BATCHES - 1) * size / (done[-1] - done[0])
    detail = {"ours_rows_per_second": round(ours), "merge_rows_per_second": round(theirs)}
    name = f"{batches} micro-batches of {size:,} changes, rows per second: rowdelta / foreachBatch and Iceberg MERGE"
    return Measure(name, round(ours / theirs, 1), ">= 8", detail=detail)


def _measure_memory(scale: str) -> Measure:
    """Measures how much the driver's memory grows after the warm-up, in a stream with regular resolve and expire."""
    warm_up, batches, rest = MEMORY_BATCHES[scale]
    samples = measure_memory(warm_up, batches, rest)
    growth = round(sum(min(mb[SAMPLES:]) - min(mb[:SAMPLES]) for mb in samples.values()), 1) + 0.0  # never -0.0
    detail = {f"{name}_mb": mb for name, mb in samples.items()}
    return Measure(f"driver memory growth over {batches} micro-batches after {warm_up}", growth, "none", "MiB", detail)
