"""The driver of a long stream: what it keeps after a warm-up, and some hundred micro-batches later.

It runs in a process of its own, with the executor in another one. In a local Spark both are the same, and what tasks
leave behind would count: Iceberg's vectorized reader keeps half a kilobyte of every file that it has ever opened.
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
LOOKS = 3  # the least of them is what is kept
SETTLED = 5  # so many collections in a row must free nothing


def measured(warm_up: int, batches: int, rest: float) -> dict[str, list[float]]:
    """MiB of Python's process and of the driver's heap: three looks after the warm-up, and as many some batches later.

    Args:
        warm_up: How many batches come first.
        batches: How many come between a look and its counterpart.
        rest: Seconds to wait before each look: Spark's pools end threads that had nothing to do for a minute.
    """
    arguments = [str(warm_up), str(batches), str(rest)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.stream_memory", *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, list[float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


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
            looks = {start + later * arguments.batches // 10 for start in starts for later in range(LOOKS)}
            assert len(looks) == 2 * LOOKS, "too few batches"
            kept = _stream(spark, Path(folder) / "checkpoint", looks, arguments.rest)
        finally:
            spark.stop()
    print(json.dumps({"python": [one for one, _ in kept], "heap": [other for _, other in kept]}))


def _stream(spark: SparkSession, checkpoint: Path, looks: set[int], rest: float) -> list[tuple[float, float]]:
    """Runs a stream that resolves and expires, and looks at the memory after some of its batches."""
    expiry = {"max-snapshot-age-ms": 1, "min-snapshots-to-keep": RETAINED}
    properties = {f"history.expire.{key}": str(value) for key, value in expiry.items()}
    make_table(spark, TABLE, ROWS, properties=VECTORS | MERGE_ON_READ | properties)
    kept: list[tuple[float, float]] = []
    over = threading.Event()

    def look(progress: rd.cdc.BatchProgress) -> None:
        if progress.batch_id in looks:
            time.sleep(rest)
            kept.append(_kept_mb(spark))
        if progress.batch_id >= max(looks):
            over.set()

    stream = rd.cdc.stream(
        _changes(spark), rd.table(spark, TABLE), "id", tie="any", resolve_every=10, expire_every=10, on_progress=look
    )
    running = stream.start(str(checkpoint))
    while not over.is_set() and not running.await_termination(1):
        pass
    running.stop()
    if len(kept) < len(looks):
        raise RuntimeError(f"the stream ended after {len(kept)} of {len(looks)} looks at its memory")
    return kept


def _changes(spark: SparkSession) -> DataFrame:
    """The same changes for every batch, from a source that remembers nothing: one of files keeps the name of each."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", CHANGES).option("numPartitions", 1)
    return source.load().selectExpr(f"(value % {CHANGES}) * {ROWS // CHANGES} id").selectExpr(*OF_ID)


def _kept_mb(spark: SparkSession) -> tuple[float, float]:
    """Memory of this process, and what collections leave in the heap once one more of them frees nothing.

    Three of them can leave 10 MiB too much: Spark and Java let go of some things only after they were found unused.
    """
    gc.collect()
    left = [heap_left(spark)]
    while len(left) <= SETTLED or min(left[-SETTLED:]) < min(left[:-SETTLED]):
        time.sleep(0.2)
        left.append(heap_left(spark))
    return resident_mb(), round(min(left) / 2**20, 2)


if __name__ == "__main__":
    main()
