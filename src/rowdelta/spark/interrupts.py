"""Ctrl-C during long work: Spark's jobs are cancelled, what was begun is undone or finished, and only then is it over.

A signal in the middle of a py4j call breaks the connection, and the JVM goes on by itself: a file or a commit may come
after everything has been cleaned up. So long work runs in a thread of its own, which no signal reaches, while the main
thread waits for it.
"""

from __future__ import annotations

import signal
import threading
import time
import uuid
from concurrent.futures import Future, wait
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pyspark import InheritableThread, SparkContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from rowdelta.spark.gateway import Gateway

Found = TypeVar("Found")
_PAUSE_SECONDS: Final = 0.2
_LONGEST_WAIT_SECONDS: Final = 10.0
_interrupted: set[threading.Thread] = set()


def interruptible(
    gateway: Gateway,
    work: Callable[[], Found],
    *,
    during: Callable[[], AbstractContextManager[Any]] = nullcontext,
    cancel: bool = True,
) -> Found:
    """Runs long work so that Ctrl-C falls between two steps of it, never into one.

    Args:
        gateway: The session in which the work is done.
        work: What to run; where it fails it cleans up after itself.
        during: What is open while the work is done.
        cancel: Whether Ctrl-C cancels Spark's jobs. Where it does not, the work is finished first, and a streaming
            query that stops does not cancel it either.

    Raises:
        KeyboardInterrupt: After the work has ended. A second Ctrl-C does not wait.
    """
    if cancel and threading.current_thread() is not threading.main_thread():
        with during():
            return work()
    future: Future[Found] = Future()
    tag = f"rowdelta-{uuid.uuid4().hex}"

    def run() -> None:
        try:
            gateway.activate()
            gateway.spark.sparkContext.addJobTag(tag)
            with during():
                found = work()
            future.set_result(found)
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            future.set_exception(error)

    # Jobs of another kind of thread do not belong to the group of the caller's, which a streaming query cancels.
    kind = InheritableThread if cancel else threading.Thread
    thread = kind(target=run, name="rowdelta", daemon=True)
    with _no_other_job_cancelled():
        try:
            thread.start()
            # Not `join`: Python 3.11 takes a thread for ended when a signal comes while it waits for it.
            while not future.done() and thread.is_alive():
                wait([future], _LONGEST_WAIT_SECONDS)
        except KeyboardInterrupt:
            _end(gateway, thread, future, tag if cancel else None)
            raise
    return future.result(timeout=0)


@contextmanager
def _no_other_job_cancelled() -> Iterator[None]:
    """PySpark's own handler of Ctrl-C cancels every job of the process; here, those of the work are enough."""
    before = signal.getsignal(signal.SIGINT)
    is_sparks = getattr(before, "__module__", None) == "pyspark.core.context"
    if not is_sparks or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def stop_if_interrupted() -> None:
    """Called between two steps of long work.

    Raises:
        KeyboardInterrupt: Someone waits for the work to end.
    """
    if threading.current_thread() in _interrupted:
        raise KeyboardInterrupt


def _end(gateway: Gateway, thread: threading.Thread, future: Future[Any], tag: str | None) -> None:
    """Waits until the work has ended; every job that it still starts is cancelled."""
    if tag is not None:
        _interrupted.add(thread)
    try:
        while not future.done() and thread.is_alive():
            if tag is not None:
                gateway.spark.sparkContext.cancelJobsWithTag(tag)
            wait([future], _PAUSE_SECONDS)
    finally:
        _interrupted.discard(thread)
    _wait_for_tasks(gateway.spark.sparkContext)


def end_work(thread: threading.Thread, tag: str, ended: Callable[[float], bool]) -> None:
    """Makes work in another thread end: its next step does not begin, and every job that it still starts is cancelled.

    Args:
        thread: Where the work is done.
        tag: The tag of its jobs.
        ended: Waits so many seconds for it, and says whether it has ended.
    """
    context = SparkContext._active_spark_context
    _interrupted.add(thread)
    try:
        while not ended(_PAUSE_SECONDS):
            if context is not None:
                context.cancelJobsWithTag(tag)
    finally:
        _interrupted.discard(thread)
    if context is not None:
        _wait_for_tasks(context)


def _wait_for_tasks(context: SparkContext) -> None:
    """Tasks of a cancelled job go on for a moment: they remove the files that they were writing."""
    tracker: Any = context._jsc.sc().statusTracker()
    end = time.monotonic() + _LONGEST_WAIT_SECONDS
    while any(info.numRunningTasks() for info in tracker.getExecutorInfos()) and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS / 4)
