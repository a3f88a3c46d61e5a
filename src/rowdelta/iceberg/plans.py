"""What Spark expects of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def size_in_bytes(frame: DataFrame) -> int:
    """Spark's estimate of a frame's size; exact for one that is kept in memory and has been computed."""
    java: Any = frame._jdf
    # py4j may hand a BigInt over as a number or as an object
    return int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes()))
