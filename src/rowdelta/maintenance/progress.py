"""Reports the progress of a long action: as a bar in a terminal, or to a callback."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from rowdelta.spark import stop_if_interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Portion:
    """The rows, bytes and files of one group, if they are known."""

    rows: int = 0
    size_in_bytes: int = 0
    files: int = 0


@dataclass(frozen=True)
class Progress:
    """The state of a running action.

    Attributes:
        action: What runs: `resolve lake.db.orders`.
        groups: All groups of files.
        groups_done: Groups that are finished.
        rows: Rows in all files; 0 if files are only removed.
        rows_done: Rows of the finished groups.
        size_in_bytes: Bytes of all files; 0 if files are only removed.
        bytes_done: Bytes of the finished groups.
        seconds: Time since the start.
        files: All files.
        files_done: Files of the finished groups.

    Examples:
        >>> def show(now: Progress) -> None:
        ...     print(f"{now.action}: {now.groups_done} of {now.groups}")
        >>> show(Progress("resolve lake.db.orders", groups=4, rows=400, size_in_bytes=40_000, groups_done=1))
        resolve lake.db.orders: 1 of 4
    """

    action: str
    groups: int
    rows: int
    size_in_bytes: int
    groups_done: int = 0
    rows_done: int = 0
    bytes_done: int = 0
    seconds: float = 0.0
    files: int = 0
    files_done: int = 0

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the rows that are done, or from the files; None before the first group is done.

        Examples:
            >>> now = Progress("resolve", groups=4, rows=400, size_in_bytes=40_000, rows_done=100, seconds=2)
            >>> now.seconds_left
            6.0
        """
        done, total = _measure(self)
        return self.seconds * (total - done) / done if done else None


def _measure(now: Progress) -> tuple[int, int]:
    """Returns how much is done and the total: in rows, or in files if the rows are unknown."""
    return (now.rows_done, now.rows) if now.rows else (now.files_done, now.files)


OnProgress: TypeAlias = "Callable[[Progress], None]"


class Reporter:
    """Counts finished groups and reports them to listeners."""

    def __init__(self, start: Progress, listeners: Sequence[OnProgress]) -> None:
        self._state = start
        self._listeners = listeners
        self._started = time.monotonic()

    def finish_group(self, group: Portion) -> None:
        """Reports that a group of files is finished. A Ctrl-C that came in the meantime takes effect here."""
        now = self._state
        self._state = replace(
            now,
            groups_done=now.groups_done + 1,
            rows_done=now.rows_done + group.rows,
            bytes_done=now.bytes_done + group.size_in_bytes,
            seconds=time.monotonic() - self._started,
            files_done=now.files_done + group.files,
        )
        self._notify(self._state)
        stop_if_interrupted()

    def track_group(self, group: Portion) -> Callable[[float], None]:
        """Returns a callback that takes the share of a group that is done, from 0 to 1, and reports rows and bytes."""

        def report(share: float) -> None:
            now = self._state
            self._notify(
                replace(
                    now,
                    rows_done=now.rows_done + int(share * group.rows),
                    bytes_done=now.bytes_done + int(share * group.size_in_bytes),
                    seconds=time.monotonic() - self._started,
                )
            )

        return report

    def _notify(self, state: Progress) -> None:
        for listener in self._listeners:
            listener(state)


@contextmanager
def report_progress(action: str, groups: Sequence[Portion], listener: OnProgress | None) -> Iterator[Reporter]:
    """Reports the groups of an action while it runs; shows a bar if stderr is a terminal and there is no listener."""
    rows, size, files = (sum(getattr(group, name) for group in groups) for name in ("rows", "size_in_bytes", "files"))
    start = Progress(action, len(groups), rows, size, files=files)
    if listener is not None:
        yield Reporter(start, [listener])
    elif sys.stderr.isatty() and groups:
        with _show_bar(start) as show:
            yield Reporter(start, [show])
    else:
        yield Reporter(start, [])


@contextmanager
def show_search(action: str, listener: OnProgress | None) -> Iterator[None]:
    """Shows an indeterminate bar while an action searches for its work, if it would show a progress bar later."""
    if listener is not None or not sys.stderr.isatty():
        yield
        return
    with _build_bars() as bars:
        bars.add_task(action, total=None, done="looking for files")
        yield


@contextmanager
def _show_bar(start: Progress) -> Iterator[OnProgress]:
    with _build_bars() as bars:
        task = bars.add_task(start.action, total=_measure(start)[1], done=_describe(start))

        def show(now: Progress) -> None:
            bars.update(task, completed=_measure(now)[0], done=_describe(now))

        yield show


def _build_bars() -> Bars:
    description, done = TextColumn("{task.description}"), TextColumn("{task.fields[done]}")
    columns = (description, BarColumn(), done, TimeElapsedColumn(), TimeRemainingColumn())
    return Bars(*columns, console=Console(stderr=True), transient=True)


def _describe(now: Progress) -> str:
    counts = [("files", now.files_done, now.files), ("rows", now.rows_done, now.rows)]
    counts.append(("bytes", now.bytes_done, now.size_in_bytes))
    parts = [f"{now.groups_done}/{now.groups} groups", *(f"{done:,} {name}" for name, done, total in counts if total)]
    return ", ".join(parts)
