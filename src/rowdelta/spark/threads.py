"""Runs small tasks on files in a lasting thread pool, or in the caller's thread if it needs the result first.

Each Python thread has a connection to the JVM and a thread there, and Hadoop remembers every thread that ever opened a
file. A stream with new threads for every batch would need more and more memory.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Result = TypeVar("Result")
_THREADS: Final = 8
_pool: Final = ThreadPoolExecutor(_THREADS, thread_name_prefix="rowdelta-files")


class PooledTask(Generic[Result]):
    """A task that the pool or the caller runs, whichever is first, so that no caller waits for a busy thread.

    Examples:
        >>> Errand(lambda: 6 * 7).result()
        42
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work: Callable[[], Result] | None = work
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        with suppress(RuntimeError):  # the pool is closed when the process ends
            _pool.submit(self._run)

    def result(self) -> Result:
        """Returns the result of the task, or raises its error."""
        self._run()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def drop(self, *, wait: bool) -> None:
        """Cancels the task if it has not begun; with `wait`, waits for it if it has."""
        if self._lock.acquire(blocking=wait):
            self._work = None
            self._lock.release()

    def _run(self) -> None:
        with self._lock:
            work, self._work = self._work, None
            if work is None:
                return
            try:
                self._results.append(work())
            except BaseException as error:  # noqa: BLE001 - `result` raises it
                self._error = error


def cancel_tasks(errands: Sequence[PooledTask[Any]]) -> None:
    """Cancels tasks that have not begun, then waits for the others; in the other order, more would begin."""
    for wait in (False, True):
        for errand in errands:
            errand.drop(wait=wait)
