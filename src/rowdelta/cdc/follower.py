"""A follower: reads the change feed of a table range by range, and hands each range to a function."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark import InheritableThread

from rowdelta.cdc.feed_checkpoint import FeedBatch
from rowdelta.cdc.follow_progress import FollowProgress
from rowdelta.cdc.progress import report
from rowdelta.errors import InputError
from rowdelta.feed import ChangeRequest, find_snapshot, has_same_rows, list_commits, read_changes
from rowdelta.spark import translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from rowdelta.cdc.feed_checkpoint import FeedCheckpoint, FeedPlace
    from rowdelta.cdc.feed_target import FeedTarget
    from rowdelta.choices import OnGap
    from rowdelta.iceberg import Snapshot, TableHandle

log: Final = logging.getLogger("rowdelta")
_PROGRESS_KEPT: Final = 100
_KEEP: Final = 'on_gap="reload" reads all rows again, as inserts; to avoid gaps, keep snapshots longer'


@dataclass(frozen=True)
class FollowerOptions:
    """What a follower does.

    Attributes:
        request: What to read of the changes.
        handler: Gets the changes of each batch; None with a target.
        target: Applies the changes to another table.
        first: The snapshot to start after; None to start with all rows.
        every: The seconds between two looks at the table; None to stop when all is read.
        max_snapshots: The most snapshots of a batch.
        on_gap: What to do if snapshots are gone.
        listeners: Get the progress of each batch.
    """

    request: ChangeRequest
    handler: Callable[[DataFrame, FeedBatch], object] | None
    target: FeedTarget | None
    first: int | None
    every: float | None
    max_snapshots: int
    on_gap: OnGap
    listeners: list[Any] = field(default_factory=list)


class Follower:
    """A running follower. `rd.cdc.follow()` starts one.

    Attributes:
        progress: The progress of the last 100 batches.

    Examples:
        >>> follower = rd.cdc.follow(t, lambda changes, batch: changes.count(), checkpoint="state")
        >>> follower.is_active
        True
        >>> follower.stop()
        >>> follower.await_termination(), follower.is_active
        (True, False)
    """

    def __init__(
        self, handle: TableHandle, checkpoint: FeedCheckpoint, place: FeedPlace, options: FollowerOptions
    ) -> None:
        self._handle = handle
        self._checkpoint = checkpoint
        self._place = place
        self._options = options
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = InheritableThread(target=self._run, name=f"follow {handle.name}", daemon=True)
        self.progress: list[FollowProgress] = []

    def start(self) -> Follower:
        """Starts to follow, in a thread of its own."""
        self._thread.start()
        return self

    @property
    def is_active(self) -> bool:
        """Whether it still follows the table."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stops after the current batch, and waits for it."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Waits until the follower stops, or for some seconds; returns whether it has stopped.

        Raises:
            RowDeltaError: A batch failed. The next start repeats it. An error of the handler is raised as it is.
        """
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._handle.gateway.activate()
            with translate_errors(self._handle.spark):
                while not self._stop.is_set():
                    if not self._read_next() and not self._wait():
                        return
        except BaseException as error:  # noqa: BLE001 - `await_termination` raises it
            self._error = error
            log.info("the follower of %s stops: %s", self._handle.name, error)

    def _wait(self) -> bool:
        """Waits for the next look at the table; returns False if there is none."""
        return self._options.every is not None and not self._stop.wait(self._options.every)

    def _read_next(self) -> bool:
        """Handles the next batch; returns False if there is none."""
        started = time.monotonic()
        self._handle.refresh()
        batch = self._plan_batch() if self._place.batch is None else self._plan_again(self._place.batch)
        if batch is None:
            return False
        self._move(self._place.begin(replace(batch, is_retry=True)))
        replayed = self._handle_batch(batch)
        self._move(self._place.finish(batch.end))
        snapshot = self._handle.metadata.snapshots.get(batch.end)
        progress = FollowProgress(
            batch.batch_id,
            batch.start,
            batch.end,
            batch.snapshots,
            is_reload=batch.is_reload,
            replayed=replayed,
            lag_seconds=0.0 if snapshot is None else max(0.0, time.time() - snapshot.timestamp_ms / 1000),
            seconds=time.monotonic() - started,
        )
        self.progress = [*self.progress[1 - _PROGRESS_KEPT :], progress]
        report(progress, self._options.listeners, f"changes of {self._handle.name}")
        return True

    def _move(self, place: FeedPlace) -> None:
        self._checkpoint.write(place)
        self._place = place

    def _plan_batch(self) -> FeedBatch | None:
        """Plans the next range of snapshots; None if no rows have changed."""
        head, place = self._handle.snapshot(), self._place
        known = self._options.first if place.end is None else place.end
        if head is None or head.id == known:
            return None
        if known is None:
            return self._make_reload(head)
        commits = self._list_commits(known, head)
        if commits is None:
            return self._make_reload(head, known)
        some = commits[: self._options.max_snapshots]
        if all(map(has_same_rows, some)):
            self._move(place.finish(some[-1].id))
            return self._plan_batch()
        return FeedBatch(place.next_id, known, some[-1].id, len(some))

    def _make_reload(self, head: Snapshot, known: int | None = None) -> FeedBatch:
        count = sum(1 for _ in self._handle.metadata.ancestors(head))
        return FeedBatch(self._place.next_id, known, head.id, count, is_reload=True)

    def _plan_again(self, batch: FeedBatch) -> FeedBatch:
        """Plans a batch that may have been handled before: the same range, unless its snapshots are gone."""
        head, end = self._handle.snapshot(), self._handle.metadata.snapshots.get(batch.end)
        if end is not None and (
            batch.is_reload or batch.start is None or self._list_commits(batch.start, end) is not None
        ):
            return batch
        if head is None or (end is None and self._options.on_gap == "error"):
            raise InputError(
                f"snapshot {batch.end} of {self._handle.name}, the end of batch {batch.batch_id}, has expired",
                hint=_KEEP,
            )
        # Another range is another batch: a target may have the first one.
        return replace(self._make_reload(head, batch.start), batch_id=batch.batch_id + 1)

    def _list_commits(self, start: int, end: Snapshot) -> list[Snapshot] | None:
        """Lists the snapshots after the place; None if there is a gap that a reload is to fill."""
        try:
            return list_commits(self._handle, find_snapshot(self._handle, start, "the checkpoint"), end)
        except InputError as error:
            if self._options.on_gap == "reload":
                log.info("the follower of %s reads all rows again: %s", self._handle.name, error.message)
                return None
            raise InputError(f"{error.message}; {error.hint}", hint=_KEEP) from None

    def _handle_batch(self, batch: FeedBatch) -> bool:
        """Hands a batch to the handler or the target; returns whether the target had it already."""
        options = self._options
        if options.target is not None and options.target.has(batch):
            return True
        request = replace(options.request, net=True) if batch.is_reload else options.request
        with self._handle.scratch.action():
            start = None if batch.is_reload else batch.start
            changes = read_changes(self._handle, start, batch.end, request, lasting=False)
            if options.target is not None:
                options.target.apply(changes, batch)
            elif options.handler is not None:
                options.handler(changes, batch)
        return False
