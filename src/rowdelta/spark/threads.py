"""Runs small tasks on files in a lasting thread pool, or in the caller's thread if it needs the result first.

Each Python thread has a connection to the JVM and a thread there, and Hadoop remembers every thread that ever opened a
file. A stream with new threads for every batch would need more and more memory.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Result = TypeVar("Result")
_THREADS: Final = 8
_pool: Final = ThreadPoolExecutor(_THREADS, thread_name_prefix="rowdelta-files")


@contextmanager
def run_in_pool(tasks: Sequence[Callable[[], Result]]) -> Iterator[Callable[[], list[Result]]]:
    """Starts tasks, and yields a function that returns their results, in order, or raises the first error.

    That function runs the tasks that no thread has begun, so that no caller waits for a busy pool. At the end of the
    block, tasks that have not begun are cancelled, and the others are waited for, unless an interrupt comes first.

    Examples:
        >>> with run_in_pool([lambda: 6 * 7, lambda: 6 + 7]) as collect:
        ...     collect()
        [42, 13]
    """
    futures = [_submit(task) for task in tasks]
    results: list[Result] = []

    def collect() -> list[Result]:
        for task, future in list(zip(tasks, futures, strict=True))[len(results) :]:
            results.append(task() if future.cancel() else future.result())
        return results

    try:
        yield collect
    finally:
        # Cancel all before waiting: otherwise more would begin meanwhile.
        wait([future for future in futures if not future.cancel()])


def _submit(task: Callable[[], Result]) -> Future[Result]:
    try:
        return _pool.submit(task)
    except RuntimeError:  # the pool is closed when the process ends: the caller runs the task
        return Future()
