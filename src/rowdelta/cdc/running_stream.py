"""A running stream: applies each batch once, and reports its progress."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException, StreamingQueryException

from rowdelta._table import Table
from rowdelta.cdc.batch import apply_batch
from rowdelta.cdc.batch_marks import BatchMark, find_last_number
from rowdelta.cdc.maintenance_policy import count_equality_deletes
from rowdelta.cdc.progress import BatchProgress, report
from rowdelta.errors import CommitConflictError, RowDeltaError
from rowdelta.spark import Py4JError, translate_spark_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from rowdelta.cdc.change_stream import ChangeStream

log: Final = logging.getLogger("rowdelta")
_STARTED_WITHIN: Final = 60
_TRIES: Final = 5


class _AbandonedBatchError(Exception):
    """Ends the batch of a stopped stream.

    Spark recognises an interrupted batch only by this text. It uses a regular expression that overflows the stack on a
    long text, such as a stack trace.
    """

    def __init__(self) -> None:
        super().__init__("py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException")


def _is_interruption(error: BaseException | None) -> bool:
    """Whether an error or one of its causes is an interrupted thread or a cancelled job."""
    while error is not None:
        if any(word in str(error) for word in ("Interrupted", "ClosedByInterrupt", "cancelled")):
            return True
        error = error.__cause__ or error.__context__
    return False


class RunningStream:
    """A stream that was started.

    Examples:
        >>> stream = rd.cdc.stream(events, t, key="id", format="debezium", stream_id="orders")
        >>> running = stream.start("state")
        >>> running.query.processAllAvailable()
        >>> [(batch.batch_id, batch.records, batch.keys) for batch in running.progress]
        [(0, 2, 2)]
        >>> running.stop()
        >>> running.await_termination(timeout=60)
        True
        >>> running.stream_id, t.refresh().metadata.head("main").summary["rowdelta.stream-id"]
        ('orders', 'orders')
    """

    def __init__(self, stream: ChangeStream) -> None:
        self._stream = stream
        # A separate table object: other commits through the caller's object must not get the mark of a batch.
        self._table = Table(stream.table._handle.on_branch(stream.table.branch))  # noqa: SLF001 - its own stream
        self._query: StreamingQuery | None = None
        self._ready = threading.Event()
        self._busy = threading.RLock()
        self._done: int | None = None
        self._is_first = True
        self._commits = 0
        self._round: int | None = None
        self._error: BaseException | None = None
        self._is_given_up = False
        self.progress: list[BatchProgress] = []

    @property
    def query(self) -> StreamingQuery:
        """Spark's query."""
        assert self._query is not None
        return self._query

    @property
    def stream_id(self) -> str:
        """The mark of this stream's commits. It stays the same after restarts."""
        return self._stream.stream_id or str(self.query.id)

    def set_query(self, query: StreamingQuery) -> None:
        """Sets the query that the batches belong to."""
        self._query = query
        self._ready.set()

    def apply_batch(self, batch: DataFrame, batch_id: int) -> None:
        """Applies a batch; Spark calls it."""
        try:
            with self._busy:
                self._apply(batch, batch_id)
        except Exception as error:
            self._error = error
            if not self._is_stopped:
                if isinstance(error, (PySparkException, Py4JError)):
                    self._error = translate_spark_error(error, self._table._handle.spark)  # noqa: SLF001 - its own table
                raise
            if isinstance(error, RowDeltaError) and not _is_interruption(error):
                raise error from None  # its causes would make the text long; see `_AbandonedBatchError`
            log.info("batch %d is abandoned with its stream: %s", batch_id, str(error).partition("\n")[0])
            raise _AbandonedBatchError from None

    @property
    def _is_stopped(self) -> bool:
        try:
            return self._query is not None and not self._query.isActive
        except (Py4JError, OSError):  # the JVM is gone
            return False

    def _apply(self, batch: DataFrame, batch_id: int) -> None:
        if not self._ready.wait(_STARTED_WITHIN):
            raise RowDeltaError("the stream did not start in time")
        stream, table = self._stream, self._table.refresh()
        mark = BatchMark(self.stream_id, str(self.query.id), batch_id)
        if self._is_first:
            self._done = find_last_number(table._handle, mark.stream_id, mark.query_id)  # noqa: SLF001 - a table's own stream
        if self._done is not None and batch_id <= self._done:
            self._report(BatchProgress(self.stream_id, batch_id, replayed=True, commits=self._commits))
            return
        if self._round is None:
            self._round = stream.expiry.compute_round(table)
        stream.policy.before_batch(table)
        progress = self._apply_with_retries(table, batch, mark)
        self._done, self._is_first = batch_id, False
        if progress.snapshot_id is not None:
            self._commits += 1
            started = time.monotonic()
            if stream.policy.after_commit(table, mark.stream_id):
                progress = replace(progress, resolved=True, debt=count_equality_deletes(table.refresh()))
            expired = self._expire_if_due(table)
            progress = replace(progress, expired=expired, seconds=progress.seconds + time.monotonic() - started)
        self._report(replace(progress, commits=self._commits))

    def _expire_if_due(self, table: Table) -> int:
        """Expires snapshots if it is due and nothing waits to be published: publishing needs the history."""
        policy, expiry = self._stream.policy, self._stream.expiry
        if expiry.compute_round(table) == self._round or policy.is_behind(table):
            return 0
        self._round = expiry.compute_round(table)
        return expiry.expire(table)

    def _apply_with_retries(self, table: Table, batch: DataFrame, mark: BatchMark) -> BatchProgress:
        """Applies a batch, and retries after a conflict: most batches look up the rows that they replace."""
        for _ in range(_TRIES - 1):
            try:
                return apply_batch(self._stream, table, batch, mark, may_be_retry=self._is_first)
            except CommitConflictError as error:  # noqa: PERF203 - each time from the newest state
                log.info("batch %d of stream %s is applied again: %s", mark.batch_id, mark.stream_id, error.message)
                self._is_first = True  # bad records may be in quarantine already
                table.refresh()
        return apply_batch(self._stream, table, batch, mark, may_be_retry=True)

    def _report(self, progress: BatchProgress) -> None:
        self.progress = [*self.progress[-99:], progress]
        report(progress, self._stream.listeners, f"stream {progress.stream_id}")

    def await_termination(self, timeout: int | None = None) -> bool:
        """Waits until the stream stops, or for some seconds; returns whether it has stopped.

        A stream that reaches its end publishes its last state. After `stop()`, the next start does that.

        Raises:
            RowDeltaError: A batch failed, and nothing of it is in the table; or the source failed, or the maintenance
                after a batch.
        """
        try:
            ended = self.query.awaitTermination() if timeout is None else self.query.awaitTermination(timeout)
        except StreamingQueryException as error:
            if isinstance(self._error, RowDeltaError):
                raise self._error from None  # its trace is Java's
            if self._error is None:  # Spark failed outside of a batch, for example in the source
                raise translate_spark_error(error, self._table._handle.spark) from None  # noqa: SLF001 - its own table
            raise RowDeltaError(f"a batch failed: {type(self._error).__name__}: {self._error}") from self._error
        stopped = ended is None or bool(ended)
        if stopped:
            with self._busy:  # the mark of an abandoned batch would be on the commit
                if not self._is_given_up and self._stream.policy.is_behind(self._table):
                    self._stream.policy.resolve(self._table)
        return stopped

    def stop(self) -> None:
        """Stops the stream. The current batch is abandoned, and repeated after a restart."""
        self._is_given_up = True
        self.query.stop()
        with self._busy:  # Spark does not wait for the Python part of a batch, such as its commit
            pass
