"""Ends the command line on Ctrl-C with one line and exit code 130, and leaves no process behind.

The command runs in a separate thread, because a signal in the middle of a py4j call would break the connection. The
main thread only waits. On an interrupt, a write is undone or finished first; everything else just ends.
"""

from __future__ import annotations

import atexit
import io
import logging
import os
import signal
import sys
import threading
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from rowdelta._loading import INTERRUPTED_EXIT_CODE, format_interrupted_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LAST_SECONDS: Final = 2.0
_SHOW_CURSOR: Final = "\x1b[?25h"


class _Command:
    """A command that runs in a thread.

    Attributes:
        done: Set when the command ends.
    """

    def __init__(self, work: Callable[[], int]) -> None:
        self.done = threading.Event()
        self._lock = threading.Lock()
        self._is_interrupted = False
        self._stop: Callable[[], None] | None = None
        self.thread = threading.Thread(target=self._run, args=(work,), name="command", daemon=True)
        self._outcome: int | BaseException = 1

    def _run(self, work: Callable[[], int]) -> None:
        try:
            self._outcome = work()
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self._outcome = error
        finally:
            self.done.set()

    def require_finish(self, stop: Callable[[], None]) -> None:
        """Begins work that must not be dropped: an interrupt calls `stop` and waits. Raises if one came before."""
        with self._lock:
            if self._is_interrupted:
                raise KeyboardInterrupt
            self._stop = stop

    def allow_drop(self) -> None:
        """Ends such work: an interrupt may drop the command again."""
        with self._lock:
            self._stop = None

    def interrupt(self) -> Callable[[], None] | None:
        """Records the interrupt; returns what stops work that must not be dropped, if there is any."""
        with self._lock:
            self._is_interrupted = True
            return self._stop

    def outcome(self) -> int:
        """Returns the exit code, or raises the error of the command."""
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome


_current: _Command | None = None


def run_command(work: Callable[[], int]) -> int:
    """Runs a command to its end and returns its exit code; an interrupt ends the process."""
    global _current  # noqa: PLW0603 - a process runs one command
    handled = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or handled is signal.SIG_IGN:
        return work()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command = _current = _Command(work)
    try:
        command.thread.start()
        command.done.wait()
    except KeyboardInterrupt:
        _end(command)
    finally:
        _current = None
        signal.signal(signal.SIGINT, handled)
    return command.outcome()


@contextmanager
def finish_before_interrupt(stop: Callable[[], None] | None = None) -> Iterator[None]:
    """Lets an interrupt wait for work that writes.

    Args:
        stop: Ends the work; by default its Spark jobs are cancelled, so that it fails and cleans up after itself.

    Raises:
        KeyboardInterrupt: The command was interrupted before this work began.
    """
    from rowdelta.spark import end_work, find_running_context

    command, tag = _current, f"rowdelta-{uuid.uuid4().hex}"
    if command is None:
        yield
        return
    context = find_running_context()
    command.require_finish(stop or (lambda: end_work(command.thread, tag, command.done.wait)))
    try:
        if context is not None:
            context.addJobTag(tag)
        yield
    finally:
        command.allow_drop()
        if context is not None:
            context.removeJobTag(tag)


def _end(command: _Command) -> None:
    """Ends the process. A second interrupt ends it at once."""
    from rowdelta.spark import end_jvm, kill_jvm

    def at_once(*_: object) -> None:
        kill_jvm()
        os._exit(INTERRUPTED_EXIT_CODE)

    signal.signal(signal.SIGINT, at_once)
    screen = sys.stderr
    screen.write(format_interrupted_line())
    screen.flush()
    # Errors from here on are caused by the interrupt.
    logging.disable(logging.CRITICAL)
    sys.stderr = io.StringIO()
    stop = command.interrupt()
    if stop is not None:
        with suppress(Exception):
            stop()
        command.done.wait()
    with suppress(Exception):
        atexit._run_exitfuncs()  # noqa: SLF001 - removes scratch files while the JVM is alive; `os._exit` would not
    with suppress(Exception):
        end_jvm()
    command.done.wait(_LAST_SECONDS)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    if screen.isatty():
        screen.write(_SHOW_CURSOR)  # a progress bar hides it
        screen.flush()
    os._exit(INTERRUPTED_EXIT_CODE)
