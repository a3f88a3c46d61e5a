"""Measure times, ratios and memory. All benchmarks use these functions."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

REPEATS = 3
WARM_UPS = 4  # the JVM still compiles a complex action during its first runs


@dataclass(frozen=True)
class Timing:
    """The seconds of each repeat, without the warm-up runs."""

    seconds: tuple[float, ...]
    warm_ups: int = 1

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def worst(self) -> float:
        return max(self.seconds)


@dataclass
class Measure:
    """One line of a report: a number, the goal that it should meet, and the details behind it."""

    name: str
    value: float
    goal: str = ""
    unit: str = "ratio"
    detail: dict[str, Any] = field(default_factory=dict)


def time_of(action: Callable[[], Any], repeats: int = REPEATS) -> Timing:
    """Times the repeats of an action after one warm-up run."""
    action()
    return Timing(tuple(seconds_of(action) for _ in range(repeats)))


def side_by_side(
    *actions: Callable[[], Any], repeats: int = REPEATS, warm_ups: int = 1, spark: SparkSession | None = None
) -> list[Timing]:
    """Times several actions in turn, so that a slow moment of the machine affects all of them.

    Args:
        actions: The actions to time.
        repeats: The number of turns that are timed.
        warm_ups: The number of warm-up turns.
        spark: If given, its JVM collects garbage before each action, so that no action pays for the previous one.
    """

    def clean_seconds(action: Callable[[], Any]) -> float:
        if spark is not None and spark._jvm is not None:
            spark._jvm.System.gc()
        return seconds_of(action)

    turns = [[clean_seconds(action) for action in actions] for _ in range(warm_ups + repeats)]
    return after_warm_up(turns, warm_ups)


def after_warm_up(turns: Sequence[Sequence[float]], warm_ups: int = 1) -> list[Timing]:
    """Returns the timing of each action from the seconds of all turns, without the warm-up turns."""
    return [Timing(tuple(some), warm_ups) for some in zip(*turns[warm_ups:], strict=True)]


def seconds_of(action: Callable[[], Any]) -> float:
    """Runs an action and returns its seconds."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def ratio(name: str, above: Timing, below: Timing, goal: str = "") -> Measure:
    """Divides the best time of one action by the best time of another, and adds the range over the repeats."""
    pairs = [a / b for a, b in zip(above.seconds, below.seconds, strict=True)]
    detail = {
        "above_seconds": [round(s, 3) for s in above.seconds],
        "below_seconds": [round(s, 3) for s in below.seconds],
        "range": [round(min(pairs), 2), round(max(pairs), 2)],
        "warm_ups": min(above.warm_ups, below.warm_ups),
    }
    return Measure(name, round(above.best / below.best, 2), goal, detail=detail)


def live_heap_mb(spark: SparkSession, action: Callable[[], Any]) -> float:
    """Returns the peak of live heap while an action runs, in MiB above the start.

    Live heap is what remains after a garbage collection: the objects that the action really holds.
    """
    heap_left(spark)
    start = sum(int(pool.getUsage().getUsed()) for pool in _heap_pools(spark))
    return float(round((max(start, _peak(lambda: heap_left(spark), action, 0.15)) - start) / 2**20, 1))


def heap_left(spark: SparkSession) -> int:
    """Returns the bytes that remain in the heap after a garbage collection."""
    jvm: Any = spark._jvm
    jvm.System.gc()
    usages = [pool.getCollectionUsage() for pool in _heap_pools(spark)]
    return sum(int(usage.getUsed()) for usage in usages if usage is not None)


def _heap_pools(spark: SparkSession) -> list[Any]:
    jvm: Any = spark._jvm
    pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    return [pool for pool in pools if pool.getType().name() == "HEAP"]


def driver_peak_mb(action: Callable[[], Any]) -> float:
    """Returns the peak growth of this Python process while an action runs, in MiB."""
    start = _resident()
    return round((max(start, _peak(_resident, action, 0.02)) - start) / 2**20, 1)


def resident_mb() -> float:
    """Returns the resident memory of this Python process, in MiB."""
    return round(_resident() / 2**20, 2)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _peak(measure: Callable[[], int], action: Callable[[], Any], seconds: float) -> int:
    """Repeats a measurement at an interval of some seconds while an action runs, and returns the largest value."""
    most, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(seconds):
            most.append(measure())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        action()
    finally:
        done.set()
        watcher.join()
    return max(most)
