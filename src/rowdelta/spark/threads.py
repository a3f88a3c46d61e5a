"""Small work on files, done by threads that stay: or by the caller, when it needs the result first.

Each thread has a connection to the JVM and a thread there, and Hadoop remembers every thread that ever opened a file: a
stream that made new ones for every batch would grow by them.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

X = TypeVar("X")
_THREADS: Final = 8
_pool: Final = ThreadPoolExecutor(_THREADS, thread_name_prefix="rowdelta-files")


class Errand(Generic[X]):
    """Work that is done once, by whoever comes first; so nobody waits for a thread that is busy with something else.

    Examples:
        >>> Errand(lambda: 6 * 7).result()
        42
    """

    def __init__(self, work: Callable[[], X]) -> None:
        self._work: Callable[[], X] | None = work
        self._found: list[X] = []
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        with suppress(RuntimeError):  # at the end of the process there are no threads any more
            _pool.submit(self._run)

    def result(self) -> X:
        """What the work gives; raises what it failed with."""
        self._run()
        if self._error is not None:
            raise self._error
        return self._found[0]

    def drop(self, *, wait: bool) -> None:
        """Work that has not begun is never done; `wait` says whether to wait for work that is under way."""
        if self._lock.acquire(blocking=wait):
            self._work = None
            self._lock.release()

    def _run(self) -> None:
        with self._lock:
            work, self._work = self._work, None
            if work is None:
                return
            try:
                self._found.append(work())
            except BaseException as error:  # noqa: BLE001 - whoever wants the result raises it
                self._error = error


def drop(errands: Sequence[Errand[Any]]) -> None:
    """Nothing of these is begun any more, and nothing under way at the end; first the former, or more would begin."""
    for wait in (False, True):
        for errand in errands:
            errand.drop(wait=wait)
