"""Frames that are kept while an operation uses them more than once, and written in few files."""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from pyspark import StorageLevel
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.iceberg import size_in_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

BYTES_PER_TASK: Final = 16 << 20
_TASKS_AT_MOST: Final = 100_000
_COMPRESSED: Final = "spark.sql.inMemoryColumnarStorage.compressed"


def kept_once(frame: DataFrame, source: DataFrame) -> AbstractContextManager[DataFrame]:
    """As `kept`, for a frame over a source that the caller may keep already, so that it can be computed again alike."""
    level = source.storageLevel
    return nullcontext(frame) if level.useMemory and level.useDisk else kept(frame)


@contextmanager
def kept(frame: DataFrame) -> Iterator[DataFrame]:
    """Keeps a frame in memory or on disk while it is used more than once, so that the table is scanned once."""
    # Spark keeps frames by their plans: one that another operation keeps alike would be gone when that one ends.
    frame = frame.where(F.lit(next(_numbers)) >= F.lit(0))
    with _uncompressed(frame.sparkSession):
        frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield frame
        finally:
            frame.unpersist()


_numbers = itertools.count()
_lock = threading.Lock()
_users: Counter[int] = Counter()
_before: dict[int, str] = {}


@contextmanager
def _uncompressed(spark: SparkSession) -> Iterator[None]:
    """Frames are kept as they are meanwhile: to compress rows that are read once or twice costs more than it saves.

    Operations may run side by side in one session: the last to end gives the setting back.
    """
    session = int(spark._jsparkSession.hashCode())  # noqa: SLF001 - two Python objects may be one session
    with _lock:
        if not _users[session]:
            _before[session] = spark.conf.get(_COMPRESSED) or "true"
            spark.conf.set(_COMPRESSED, "false")
        _users[session] += 1
    try:
        yield
    finally:
        with _lock:
            _users[session] -= 1
            if not _users[session]:
                spark.conf.set(_COMPRESSED, _before.pop(session))


def in_few_files(rows: DataFrame, basis: DataFrame, bytes_per_task: int = BYTES_PER_TASK) -> DataFrame:
    """Rows in as few tasks as their size asks for, so that a small change does not leave a file for every task.

    Args:
        rows: The rows to write.
        basis: The kept frame that they come from; its size is known once it has been computed.
        bytes_per_task: The size in memory that is one task's work.
    """
    wanted = max(1, math.ceil(size_in_bytes(basis) / bytes_per_task))
    return rows.coalesce(min(wanted, _TASKS_AT_MOST))  # of a frame that was not computed, Spark may think the worst
