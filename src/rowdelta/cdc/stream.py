"""`rd.cdc.stream()`: any streaming DataFrame of changes, into a table, exactly once."""

from __future__ import annotations

import datetime as dt
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.cdc.debezium import Debezium
from rowdelta.cdc.delta_feed import DeltaFeed
from rowdelta.cdc.marks import last_batch, mark_of
from rowdelta.cdc.op_column import OpColumn
from rowdelta.cdc.policy import ResolvePolicy, live_equality_deletes
from rowdelta.cdc.progress import BatchProgress, tell, terminal_lines
from rowdelta.cdc.quarantine import ON_BAD, Quarantine
from rowdelta.cdc.records import AT, BAD, DELETED, EXTRA, HELPERS, ORDER, SKIP, Shape
from rowdelta.errors import InputError, RowDeltaError
from rowdelta.iceberg import create_branch, in_session, marked
from rowdelta.ops import ChangeRules, Upsert
from rowdelta.table import Table
from rowdelta.table import table as open_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from rowdelta.cdc.progress import Listener
    from rowdelta.cdc.records import Records

FORMATS: Final[dict[str, Records]] = {"changes": OpColumn(), "debezium": Debezium(), "delta": DeltaFeed()}
_STARTED_WITHIN: Final = 60


@dataclass(frozen=True)
class ChangeStream:
    """A stream that is ready to be started. Made by `rd.cdc.stream()`."""

    source: DataFrame
    table: Table
    records: Records
    rules: ChangeRules
    policy: ResolvePolicy
    quarantine: Quarantine
    stream_id: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    listeners: list[Listener] = field(default_factory=list)

    def start(
        self,
        checkpoint: str,
        *,
        every: str | None = None,
        available_now: bool = False,
        query_name: str | None = None,
    ) -> RunningStream:
        """Starts the stream.

        Args:
            checkpoint: The folder of Spark's checkpoint. With the same one the stream goes on where it stopped.
            every: Time between two batches, such as `10 seconds`; left out, one batch follows the other.
            available_now: Take what is there now, then stop.
            query_name: The name of the query in Spark.
        """
        running = RunningStream(self)
        writer = self.source.writeStream.foreachBatch(running.take).option("checkpointLocation", checkpoint)
        writer = writer if query_name is None else writer.queryName(query_name)
        if available_now:
            writer = writer.trigger(availableNow=True)
        elif every is not None:
            writer = writer.trigger(processingTime=every)
        running.started(writer.start())
        return running

    def take(self, batch: DataFrame, batch_id: int, stream_id: str) -> BatchProgress:
        """Puts one batch into the table: the good records in one commit, the bad ones where they belong."""
        started = time.monotonic()
        handle = self.table._handle  # noqa: SLF001 - a table's own stream
        records = self.records.read(in_session(handle, batch), self._shape())
        observed = Observation(f"rowdelta batch {batch_id}")
        counted = records.observe(
            observed,
            F.count_if(~F.col(EXTRA)).alias("records"),
            F.count_if(F.col(SKIP)).alias("skipped"),
            F.count_if(F.col(BAD).isNotNull()).alias("bad"),
            F.max(AT).alias("newest"),
        )
        good = counted.where(F.col(BAD).isNull() & ~F.col(SKIP))
        upsert = Upsert(handle, good.select(*self._columns(good)), self.rules, **self.options)

        def check() -> None:
            if observed.get["bad"]:
                bad = records.where(F.col(BAD).isNotNull())
                self.quarantine.keep(bad, observed.get["bad"], stream_id, batch_id)

        with marked(handle, mark_of(stream_id, batch_id)):
            result = upsert.execute_after(check)
        numbers = observed.get
        return BatchProgress(
            stream_id,
            batch_id,
            records=numbers["records"],
            changes=numbers["records"] - numbers["skipped"] - numbers["bad"],
            skipped=numbers["skipped"],
            bad=numbers["bad"],
            keys=result.keys,
            rows=result.rows_inserted,
            bytes=result.bytes_added,
            lag_seconds=_age(numbers["newest"]),
            debt=live_equality_deletes(self.table),
            snapshot_id=result.snapshot_id,
            seconds=time.monotonic() - started,
        )

    def _shape(self) -> Shape:
        handle = self.table._handle  # noqa: SLF001 - a table's own stream
        schema = handle.metadata.schema
        types = handle.spark.table(handle.full_name).schema
        return Shape(types, tuple(schema.find(name).name for name in self.rules.key))

    def _columns(self, good: DataFrame) -> list[Column]:
        """The columns of the records that the upsert may see: not those that only serve here."""
        unused = set(HELPERS) - {DELETED, ORDER}
        return [good[f"`{name}`"] for name in good.columns if name not in unused]


class RunningStream:
    """A stream that has been started."""

    def __init__(self, stream: ChangeStream) -> None:
        self._stream = stream
        self._query: StreamingQuery | None = None
        self._ready = threading.Event()
        self._done: int | None = None
        self._looked = False
        self._commits = 0
        self._error: BaseException | None = None
        self.progress: list[BatchProgress] = []

    @property
    def query(self) -> StreamingQuery:
        """Spark's own query."""
        assert self._query is not None
        return self._query

    @property
    def stream_id(self) -> str:
        """What commits of this stream are marked with; it stays the same through restarts."""
        return self._stream.stream_id or str(self.query.id)

    def started(self, query: StreamingQuery) -> None:
        """Tells the batches which query they belong to."""
        self._query = query
        self._ready.set()

    def take(self, batch: DataFrame, batch_id: int) -> None:
        """Called by Spark for each batch."""
        try:
            self._take(batch, batch_id)
        except BaseException as error:
            self._error = error
            raise

    def _take(self, batch: DataFrame, batch_id: int) -> None:
        if not self._ready.wait(_STARTED_WITHIN):
            raise RowDeltaError("the stream did not start in time")
        stream = self._stream
        stream.table.refresh()
        if not self._looked:
            self._done, self._looked = last_batch(stream.table._handle, self.stream_id), True  # noqa: SLF001
        if self._done is not None and batch_id <= self._done:
            self._tell(BatchProgress(self.stream_id, batch_id, replayed=True, commits=self._commits))
            return
        progress = stream.take(batch, batch_id, self.stream_id)
        self._done = batch_id
        if progress.snapshot_id is not None:
            self._commits += 1
            started = time.monotonic()
            if stream.policy.after_commit(stream.table):
                seconds = progress.seconds + time.monotonic() - started
                debt = live_equality_deletes(stream.table.refresh())
                progress = replace(progress, resolved=True, debt=debt, seconds=seconds)
        self._tell(replace(progress, commits=self._commits))

    def _tell(self, progress: BatchProgress) -> None:
        self.progress = [*self.progress[-99:], progress]
        tell(progress, self._stream.listeners)

    def await_termination(self, timeout: int | None = None) -> bool:
        """Waits until the stream stops, or for some seconds; returns whether it has stopped.

        Raises:
            RowDeltaError: A batch failed; nothing of it is in the table.
        """
        try:
            ended = self.query.awaitTermination() if timeout is None else self.query.awaitTermination(timeout)
        except StreamingQueryException as error:
            if isinstance(self._error, RowDeltaError):
                raise self._error from error
            raise
        stopped = ended is None or bool(ended)
        if stopped and self._stream.policy.is_behind:
            self._stream.policy.resolve(self._stream.table)
        return stopped

    def stop(self) -> None:
        """Stops the stream; the batch that is being taken is given up, and comes again after a restart."""
        self.query.stop()


def stream(
    source: DataFrame,
    table: Table,
    key: str | Sequence[str],
    order_by: str | Column | Sequence[str | Column] | None = None,
    *,
    format: str | Records = "changes",  # noqa: A002 - Spark's own word
    delete_when: str | Column | None = None,
    columns: Sequence[str] | None = None,
    tie: str = "error",
    scope: str = "auto",
    encoding: str | None = None,
    merge_schema: bool = False,
    stream_id: str | None = None,
    on_bad: str = "fail",
    quarantine: str | None = None,
    resolve_every: int | None = None,
    max_debt: int | None = None,
    branch: str | None = None,
    publish: str | None = None,
    on_progress: Listener | None = None,
) -> ChangeStream:
    """A stream of changes into a table: each batch is one upsert, exactly once.

    Args:
        source: Any streaming DataFrame.
        table: The table.
        key: The column or columns that identify a row.
        order_by: What grows from an older change of a key to a newer one. The formats `debezium` and `delta` know their
            own order.
        format: `changes` (rows by the names of the table's columns), `debezium`, `delta` (Delta's change data feed), or
            `rd.cdc.OpColumn(...)`, `rd.cdc.Debezium(...)`, `rd.cdc.DeltaFeed()` with options.
        delete_when: Which changes delete their key; only for plain rows without an op column.
        columns: Set these alone and keep the rest of an existing row; this reads the table, as a merge does.
        tie: `error` when two different changes of a key are equally new, or `any` to take one of them.
        scope: As in `t.upsert()`.
        encoding: As in `t.upsert()`.
        merge_schema: Add columns to the table that only the changes have.
        stream_id: What the commits are marked with; left out, the id of Spark's query, which its checkpoint keeps.
        on_bad: `fail` the batch at a bad record, or `quarantine` it.
        quarantine: The table for bad records; left out, the table's name and `_quarantine`.
        resolve_every: Resolve after so many commits.
        max_debt: Resolve when so many equality deletes are live.
        branch: Write to this branch; it is made where it does not exist.
        publish: Move this branch forward to every resolved state of `branch`, so that its readers need to know nothing
            of equality delete vectors.
        on_progress: Called with a `BatchProgress` after each batch.

    Examples:
        >>> changes = spark.readStream.text("events")  # doctest: +SKIP
        >>> rd.cdc.stream(changes, t, "id", format="debezium").start(checkpoint="state")  # doctest: +SKIP
    """
    if on_bad not in ON_BAD:
        raise InputError(f"unknown on_bad {on_bad!r}", hint="use 'fail' or 'quarantine'")
    if not source.isStreaming:
        raise InputError("the source is no stream", hint="use spark.readStream, or t.upsert() for one batch")
    if publish is not None and (branch or table.branch) == publish:
        raise InputError(f"the stream writes to {publish!r} itself", hint="name another branch: branch='ingest'")
    target = _on_branch(table, branch)
    records = _records(format)
    order = ORDER if order_by is None else order_by
    deletes = DELETED if delete_when is None else delete_when
    spare = f"{target.name}_quarantine" if quarantine is None else quarantine
    handle = target._handle  # noqa: SLF001 - a table's own stream
    return ChangeStream(
        source,
        target,
        records,
        ChangeRules.of(key, order, deletes, tie, (DELETED, ORDER, *records.aside)),
        ResolvePolicy(resolve_every, max_debt, publish),
        Quarantine(handle.spark, spare if on_bad == "quarantine" else None),
        stream_id,
        {"columns": columns, "scope": scope, "encoding": encoding, "merge_schema": merge_schema},
        [*terminal_lines(), *([] if on_progress is None else [on_progress])],
    )


def _records(format: str | Records) -> Records:  # noqa: A002 - Spark's own word
    if not isinstance(format, str):
        return format
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}", hint=f"use {', '.join(FORMATS)}, or rd.cdc.OpColumn(op=...)")
    return FORMATS[format]


def _on_branch(table: Table, branch: str | None) -> Table:
    """The table on a branch; one that does not exist starts at the head of the table's own."""
    if branch is None or branch == table.branch:
        return table
    handle = table.refresh()._handle  # noqa: SLF001 - a table's own stream
    if branch not in handle.metadata.branches:
        create_branch(handle, branch)
    return open_table(handle.spark, table.name, branch)


def _age(newest: dt.datetime | None) -> float | None:
    return None if newest is None else max(0.0, (dt.datetime.now() - newest).total_seconds())  # noqa: DTZ005 - as Spark gives it
