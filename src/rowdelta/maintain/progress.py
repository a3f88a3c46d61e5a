"""How far a long action has come: a bar where someone watches, a callback where a program does."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from rowdelta.iceberg import stop_if_interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Portion:
    """What one group of files holds."""

    rows: int
    size_in_bytes: int


@dataclass(frozen=True)
class Progress:
    """One look at a running action.

    Attributes:
        action: What runs: `resolve lake.db.orders`.
        groups: Groups of files in all.
        groups_done: Groups that are finished.
        rows: Rows in all files.
        rows_done: Rows of the finished groups.
        size_in_bytes: Bytes of all files.
        bytes_done: Bytes of the finished groups.
        seconds: Time since the start.

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

    @property
    def seconds_left(self) -> float | None:
        """An estimate from what is done; None before the first group.

        Examples:
            >>> now = Progress("resolve", groups=4, rows=400, size_in_bytes=40_000, rows_done=100, seconds=2)
            >>> now.seconds_left
            6.0
        """
        if not self.rows_done:
            return None
        return self.seconds * (self.rows - self.rows_done) / self.rows_done


OnProgress: TypeAlias = "Callable[[Progress], None]"


class Reporter:
    """Counts finished groups and tells whoever listens."""

    def __init__(self, start: Progress, listeners: Sequence[OnProgress]) -> None:
        self._state = start
        self._listeners = listeners
        self._started = time.monotonic()

    def done(self, group: Portion) -> None:
        """A group of files is finished; whoever pressed Ctrl-C meanwhile need not wait for the next."""
        now = self._state
        self._state = replace(
            now,
            groups_done=now.groups_done + 1,
            rows_done=now.rows_done + group.rows,
            bytes_done=now.bytes_done + group.size_in_bytes,
            seconds=time.monotonic() - self._started,
        )
        self._tell(self._state)
        stop_if_interrupted()

    def within(self, group: Portion) -> Callable[[float], None]:
        """Takes how much of a group is done, from 0 to 1, and tells that as rows and bytes."""

        def tell(share: float) -> None:
            now = self._state
            self._tell(
                replace(
                    now,
                    rows_done=now.rows_done + int(share * group.rows),
                    bytes_done=now.bytes_done + int(share * group.size_in_bytes),
                    seconds=time.monotonic() - self._started,
                )
            )

        return tell

    def _tell(self, state: Progress) -> None:
        for listener in self._listeners:
            listener(state)


@contextmanager
def reporting(action: str, groups: Sequence[Portion], listener: OnProgress | None) -> Iterator[Reporter]:
    """Reports the groups of an action while it runs; a bar is shown when stderr is a terminal and no one listens."""
    start = Progress(action, len(groups), sum(g.rows for g in groups), sum(g.size_in_bytes for g in groups))
    if listener is not None:
        yield Reporter(start, [listener])
    elif sys.stderr.isatty() and groups:
        with _bar(start) as show:
            yield Reporter(start, [show])
    else:
        yield Reporter(start, [])


@contextmanager
def _bar(start: Progress) -> Iterator[OnProgress]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[groups]} groups, {task.completed:,.0f} rows, {task.fields[bytes]:,} bytes"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(start.action, total=start.rows, groups=f"0/{start.groups}", bytes=0)

        def show(now: Progress) -> None:
            groups = f"{now.groups_done}/{now.groups}"
            bars.update(task, completed=now.rows_done, groups=groups, bytes=now.bytes_done)

        yield show
