"""How far Spark has come with jobs that somebody else runs, such as a procedure of Iceberg's."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark import SparkContext

_PAUSE_SECONDS: Final = 0.5


@contextmanager
def watch_jobs(context: SparkContext, tell: Callable[[float], None], pause: float = _PAUSE_SECONDS) -> Iterator[None]:
    """Tells from time to time which share of the tasks that are known is done; it never falls.

    Args:
        context: Spark; all of its jobs count, because Iceberg runs its own in other threads.
        tell: Called in a thread of its own, with a share below 1.
        pause: Seconds between two looks.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(context, tell, pause, ended), name="rowdelta-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(context: SparkContext, tell: Callable[[float], None], pause: float, ended: threading.Event) -> None:
    tracker = context.statusTracker()
    tasks: dict[int, tuple[int, int]] = {}
    told = 0.0
    while not ended.wait(pause):
        active = {stage: tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()}
        # One that is not active any more is done, or it failed and is tried again as another.
        tasks = {stage: (count, count) for stage, (_, count) in tasks.items()}
        tasks |= {stage: (info.numCompletedTasks, info.numTasks) for stage, info in active.items() if info is not None}
        share = sum(done for done, _ in tasks.values()) / max(1, sum(count for _, count in tasks.values()))
        if told < share < 1:
            told = share
            tell(share)
