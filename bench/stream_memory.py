"""Measure the memory of a driver in a long stream: after a warm-up, and again hundreds of micro-batches later.

The driver runs in a separate process, and the executor in another one. In local mode, both share a process, and the
result would include memory of the tasks: Iceberg's vectorized reader retains half a kilobyte for each file that it
opens.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rowdelta as rd
from bench.data import MERGE_ON_READ, OF_ID, VECTORS, make_table
from bench.measure import heap_left, resident_mb

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "lake.bench.streamed"
ROWS = 200_000
CHANGES = 1_000
RETAINED = 10
CLUSTER = "local-cluster[1,2,2048]"
SAMPLES = 3  # the result is the minimum of these samples
SETTLED = 5  # this many consecutive collections must free nothing


def measure_memory(warm_up: int, batches: int, rest: float) -> dict[str, list[float]]:
    """Samples the MiB of the Python process and of the driver's heap, after the warm-up and again some batches later.

    Args:
        warm_up: The number of warm-up batches.
        batches: The number of batches between the two groups of samples.
        rest: The seconds to wait before each sample, because Spark's pools end threads that are idle for a minute.
    """
    arguments = [str(warm_up), str(batches), str(rest)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.stream_memory", *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    samples: dict[str, list[float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.stream_memory", description=__doc__)
    parser.add_argument("warm_up", type=int)
    parser.add_argument("batches", type=int)
    parser.add_argument("rest", type=float)
    arguments = parser.parse_args()
    logging.getLogger("rowdelta").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="rowdelta-bench-", ignore_cleanup_errors=True) as folder:
        spark = rd.session(Path(folder) / "warehouse", config={"spark.master": CLUSTER})
        try:
            starts = (arguments.warm_up, arguments.warm_up + arguments.batches)
            sampled = {start + later * arguments.batches // 10 for start in starts for later in range(SAMPLES)}
            assert len(sampled) == 2 * SAMPLES, "too few batches"
            samples = _run_stream(spark, Path(folder) / "checkpoint", sampled, arguments.rest)
        finally:
            spark.stop()
    print(json.dumps({"python": [python for python, _ in samples], "heap": [heap for _, heap in samples]}))


def _run_stream(spark: SparkSession, checkpoint: Path, sampled: set[int], rest: float) -> list[tuple[float, float]]:
    """Runs a stream that resolves and expires, and samples the memory after the given batches."""
    expiry = {"max-snapshot-age-ms": 1, "min-snapshots-to-keep": RETAINED}
    properties = {f"history.expire.{key}": str(value) for key, value in expiry.items()}
    make_table(spark, TABLE, ROWS, properties=VECTORS | MERGE_ON_READ | properties)
    samples: list[tuple[float, float]] = []
    over = threading.Event()

    def take_sample(progress: rd.cdc.BatchProgress) -> None:
        if progress.batch_id in sampled:
            time.sleep(rest)
            samples.append(_settled_mb(spark))
        if progress.batch_id >= max(sampled):
            over.set()

    stream = rd.cdc.stream(
        _changes(spark),
        rd.table(spark, TABLE),
        "id",
        tie="any",
        resolve_every=10,
        expire_every=10,
        progress=take_sample,
    )
    running = stream.start(str(checkpoint))
    while not over.is_set() and not running.await_termination(1):
        pass
    running.stop()
    if len(samples) < len(sampled):
        raise RuntimeError(f"the stream ended after {len(samples)} of {len(sampled)} memory samples")
    return samples


def _changes(spark: SparkSession) -> DataFrame:
    """Returns the same changes for every batch. The source has no state; a file source would store every file name."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", CHANGES).option("numPartitions", 1)
    return source.load().selectExpr(f"(value % {CHANGES}) * {ROWS // CHANGES} id").selectExpr(*OF_ID)


def _settled_mb(spark: SparkSession) -> tuple[float, float]:
    """Measures this process and its heap. Collects garbage until further collections free nothing.

    Three collections are not enough and can leave 10 MiB too much: Spark and Java release some objects only after a
    collection has found them unused.
    """
    gc.collect()
    left = [heap_left(spark)]
    while len(left) <= SETTLED or min(left[-SETTLED:]) < min(left[:-SETTLED]):
        time.sleep(0.2)
        left.append(heap_left(spark))
    return resident_mb(), round(min(left) / 2**20, 2)


if __name__ == "__main__":
    main()
