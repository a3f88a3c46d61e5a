"""Reports the progress of Spark jobs that rowdelta did not start itself, such as those of Iceberg's procedures."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark import SparkContext

_PAUSE_SECONDS: Final = 0.5


@contextmanager
def watch_jobs(context: SparkContext, report: Callable[[float], None], pause: float = _PAUSE_SECONDS) -> Iterator[None]:
    """Reports at intervals which share of the tasks submitted so far is done; the share never decreases.

    Args:
        context: Spark; all of its jobs count, because Iceberg runs its own in other threads.
        report: Called in a separate thread, with a share below 1.
        pause: Seconds between two reports.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(context, report, pause, ended), name="rowdelta-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(context: SparkContext, report: Callable[[float], None], pause: float, ended: threading.Event) -> None:
    tracker = context.statusTracker()
    tasks: dict[int, tuple[int, int]] = {}
    reported = 0.0
    while not ended.wait(pause):
        active = {stage: tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()}
        # A stage that is no longer active is done, or it failed and Spark retries it as another stage.
        tasks = {stage: (count, count) for stage, (_, count) in tasks.items()}
        tasks |= {stage: (info.numCompletedTasks, info.numTasks) for stage, info in active.items() if info is not None}
        share = sum(done for done, _ in tasks.values()) / max(1, sum(count for _, count in tasks.values()))
        if reported < share < 1:
            reported = share
            report(share)
