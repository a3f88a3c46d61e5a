"""Frames that are kept while an operation uses them more than once, and written in few files."""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from pyspark import StorageLevel

from rowdelta.spark.frames import size_in_bytes
from rowdelta.spark.gateway import session_id
from rowdelta.spark.generated_sql import where_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

BYTES_PER_TASK: Final = 16 << 20
_TASKS_AT_MOST: Final = 100_000
_COMPRESSED: Final = "spark.sql.inMemoryColumnarStorage.compressed"
_ADAPTS: Final = "spark.sql.adaptive.enabled"


def kept_once(frame: DataFrame, source: DataFrame) -> AbstractContextManager[DataFrame]:
    """As `kept`, for a frame over a source that the caller may keep already, so that it can be computed again alike."""
    level = source.storageLevel
    return nullcontext(frame) if level.useMemory and level.useDisk else kept(frame)


@contextmanager
def kept(frame: DataFrame, *, adapts: bool = True) -> Iterator[DataFrame]:
    """Keeps a frame in memory or on disk while it is used more than once, so that the table is scanned once.

    Args:
        frame: The frame.
        adapts: Whether Spark may change its plan while it runs. That takes a job of its own, which a frame without a
            shuffle gains nothing from. What else is planned in the session at this moment does not adapt either.
    """
    # Spark keeps frames by their plans: one that another operation keeps alike would be gone when that one ends.
    spark, frame = frame.sparkSession, where_sql(frame, f"{next(_numbers)} >= 0")
    # To compress rows that are read once or twice costs more than it saves.
    with _off(spark, _COMPRESSED):
        try:
            with _planning, nullcontext() if adapts else _off(spark, _ADAPTS):
                frame.persist(StorageLevel.MEMORY_AND_DISK)
            yield frame
        finally:
            frame.unpersist()


_numbers = itertools.count()
_planning = threading.Lock()  # a frame that adapts must not be planned while that is off for another
_lock = threading.Lock()
_users: Counter[tuple[str, str]] = Counter()
_before: dict[tuple[str, str], str] = {}


@contextmanager
def _off(spark: SparkSession, name: str) -> Iterator[None]:
    """Turns off a setting of the session for a while.

    Operations may run side by side in one session: the last to end gives the setting back.
    """
    setting = session_id(spark), name
    with _lock:
        if not _users[setting]:
            _before[setting] = spark.conf.get(name) or "true"
            spark.conf.set(name, "false")
        _users[setting] += 1
    try:
        yield
    finally:
        with _lock:
            _users[setting] -= 1
            if not _users[setting]:
                spark.conf.set(name, _before.pop(setting))


def in_few_files(rows: DataFrame, basis: DataFrame, bytes_per_task: int = BYTES_PER_TASK) -> DataFrame:
    """Rows in as few tasks as their size asks for, so that a small change does not leave a file for every task.

    Args:
        rows: The rows to write.
        basis: The kept frame that they come from; its size is known once it has been computed.
        bytes_per_task: The size in memory that is one task's work.
    """
    wanted = max(1, math.ceil(size_in_bytes(basis) / bytes_per_task))
    return rows.coalesce(min(wanted, _TASKS_AT_MOST))  # of a frame that was not computed, Spark may think the worst
