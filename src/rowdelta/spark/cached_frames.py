"""Caches a frame while an operation uses it more than once, and coalesces its rows by size."""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from pyspark import StorageLevel

from rowdelta.spark.frames import estimate_size
from rowdelta.spark.gateway import read_session_id
from rowdelta.spark.generated_sql import where_sql
from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.spark.gateway import Gateway

_BYTES_PER_TASK: Final = 16 << 20
_MAX_TASKS: Final = 100_000
_COMPRESSION: Final = "spark.sql.inMemoryColumnarStorage.compressed"


def cache_frame_unless_source_cached(frame: DataFrame, source: DataFrame) -> AbstractContextManager[DataFrame]:
    """Caches a frame unless the caller has cached its source: then computing it again gives the same rows."""
    level = source.storageLevel
    return nullcontext(frame) if level.useMemory and level.useDisk else cache_frame(frame)


@contextmanager
def cache_frame(frame: DataFrame) -> Iterator[DataFrame]:
    """Caches a frame in memory or on disk while it is used more than once, so that the table is scanned once."""
    # Spark caches frames by their plans. If another operation cached the same plan, its end would drop this frame too.
    number = next(_frame_numbers)
    spark, frame = frame.sparkSession, where_sql(frame, f"{number} >= 0")
    # Compressing rows that are read once or twice costs more than it saves.
    with _turn_off(spark, _COMPRESSION):
        try:
            frame.persist(StorageLevel.MEMORY_AND_DISK)
            _cached.add(number)
            yield frame
        finally:
            with _lock:
                _cached.discard(number)
            frame.unpersist()


def has_other_cached_queries(gateway: Gateway) -> bool:
    """Whether Spark may cache other queries than the frames that operations of this process have cached."""
    with _lock:  # no frame of ours leaves the cache between both counts
        return SPARK.count_cached_queries(gateway.session.sharedState().cacheManager()) > len(_cached)


_frame_numbers = itertools.count()
_lock = threading.Lock()
_cached: set[int] = set()  # numbers of frames that are certainly cached
_users: Counter[tuple[str, str]] = Counter()
_original_values: dict[tuple[str, str], str] = {}


@contextmanager
def _turn_off(spark: SparkSession, name: str) -> Iterator[None]:
    """Turns off a setting of the session for a while.

    Operations may run side by side in one session: the last one restores the setting.
    """
    setting = read_session_id(spark), name
    with _lock:
        if not _users[setting]:
            _original_values[setting] = spark.conf.get(name) or "true"
            spark.conf.set(name, "false")
        _users[setting] += 1
    try:
        yield
    finally:
        with _lock:
            _users[setting] -= 1
            if not _users[setting]:
                spark.conf.set(name, _original_values.pop(setting))


def coalesce_by_size(rows: DataFrame, basis: DataFrame, bytes_per_task: int = _BYTES_PER_TASK) -> DataFrame:
    """Coalesces rows into as few tasks as their size needs, so that a small change does not write a file per task.

    Args:
        rows: The rows to write.
        basis: The cached frame that they come from; its size is known once it has been computed.
        bytes_per_task: The size in memory for one task.
    """
    tasks = max(1, math.ceil(estimate_size(basis) / bytes_per_task))
    return rows.coalesce(min(tasks, _MAX_TASKS))  # for a frame that was not computed, the estimate may be absurdly high
