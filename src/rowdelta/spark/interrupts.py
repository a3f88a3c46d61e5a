"""Handles Ctrl-C during long work: cancels Spark's jobs, then waits until the work is finished or undone.

A signal in the middle of a py4j call breaks the connection, but the JVM continues: a file or a commit may appear after
the cleanup. So long work runs in a separate thread, which no signal reaches, while the main thread waits for it.
"""

from __future__ import annotations

import signal
import threading
import time
import uuid
from concurrent.futures import Future, wait
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pyspark import InheritableThread

from rowdelta.spark.launch import find_running_context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pyspark import SparkContext

    from rowdelta.spark.gateway import Gateway

Result = TypeVar("Result")
_PAUSE_SECONDS: Final = 0.2
_LONGEST_WAIT_SECONDS: Final = 10.0
_interrupted: set[threading.Thread] = set()


def run_interruptibly(
    gateway: Gateway,
    work: Callable[[], Result],
    *,
    during: Callable[[], AbstractContextManager[Any]] = nullcontext,
    cancel: bool = True,
) -> Result:
    """Runs long work so that Ctrl-C interrupts it between two steps, never within one.

    Args:
        gateway: The session that the work uses.
        work: The work; if it fails, it cleans up after itself.
        during: Makes a context that is open while the work runs.
        cancel: Whether Ctrl-C cancels Spark's jobs. If not, the work is finished first, and stopping a streaming query
            does not cancel it either.

    Raises:
        KeyboardInterrupt: After the work has ended. A second Ctrl-C does not wait.
    """
    if cancel and threading.current_thread() is not threading.main_thread():
        with during():
            return work()
    future: Future[Result] = Future()
    tag = f"rowdelta-{uuid.uuid4().hex}"

    def run() -> None:
        try:
            gateway.activate()
            gateway.spark.sparkContext.addJobTag(tag)
            with during():
                result = work()
            future.set_result(result)
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            future.set_exception(error)

    # A plain thread does not inherit the caller's job group, which a streaming query cancels.
    thread_class = InheritableThread if cancel else threading.Thread
    thread = thread_class(target=run, name="rowdelta", daemon=True)
    with _disable_pyspark_handler():
        try:
            thread.start()
            # Not `join`: if a signal arrives during it, Python 3.11 considers the thread ended.
            while not future.done() and thread.is_alive():
                wait([future], _LONGEST_WAIT_SECONDS)
        except KeyboardInterrupt:
            _wait_until_ended(gateway, thread, future, tag if cancel else None)
            raise
    return future.result(timeout=0)


@contextmanager
def _disable_pyspark_handler() -> Iterator[None]:
    """Disables PySpark's handler of Ctrl-C, which cancels every job of the process, not only those of the work."""
    original = signal.getsignal(signal.SIGINT)
    is_pyspark_handler = getattr(original, "__module__", None) == "pyspark.core.context"
    if not is_pyspark_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, original)


def stop_if_interrupted() -> None:
    """Stops long work between two steps if it was interrupted.

    Raises:
        KeyboardInterrupt: The work was interrupted.
    """
    if threading.current_thread() in _interrupted:
        raise KeyboardInterrupt


def _wait_until_ended(gateway: Gateway, thread: threading.Thread, future: Future[Any], tag: str | None) -> None:
    """Waits until the work has ended, and cancels every job that it still starts."""
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
    """Ends work in another thread: prevents its next step, and cancels every job that it still starts.

    Args:
        thread: The thread of the work.
        tag: The tag of its jobs.
        ended: Waits for the given number of seconds, and returns whether the work has ended.
    """
    context = find_running_context()
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
    """Waits for tasks of cancelled jobs, which still remove the files that they were writing."""
    tracker: Any = context._jsc.sc().statusTracker()
    end = time.monotonic() + _LONGEST_WAIT_SECONDS
    while any(info.numRunningTasks() for info in tracker.getExecutorInfos()) and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS / 4)
