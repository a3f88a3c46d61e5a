"""`rd.cdc.stream()`: applies a streaming DataFrame of changes to a table, exactly once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta._deprecated import rename_arguments
from rowdelta._table import Table
from rowdelta.cdc.batch import read_shape
from rowdelta.cdc.debezium import Debezium
from rowdelta.cdc.delta_feed import DeltaFeed
from rowdelta.cdc.event_position import find_position_columns
from rowdelta.cdc.maintenance_policy import ExpirePolicy, ResolvePolicy
from rowdelta.cdc.op_column import OpColumn
from rowdelta.cdc.progress import make_terminal_listeners
from rowdelta.cdc.quarantine import Quarantine, name_quarantine
from rowdelta.cdc.records import DELETED, ORDER, select_deletes
from rowdelta.cdc.running_stream import RunningStream
from rowdelta.cdc.stream_checks import check_key_tells_partition, check_lane, check_own_order
from rowdelta.change import check_frame
from rowdelta.choices import ChangeFormat, Encoding, OnBad, Scope, Tie, Tombstones, check_choice
from rowdelta.errors import InputError
from rowdelta.iceberg import create_branch
from rowdelta.spark import check_expression
from rowdelta.verbs import TOMBSTONE_COLUMN, ChangeRules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.cdc.progress import OnBatch
    from rowdelta.cdc.records import Records

FORMATS: Final[dict[ChangeFormat, Records]] = {"changes": OpColumn(), "debezium": Debezium(), "delta": DeltaFeed()}


@dataclass(frozen=True)
class ChangeStream:
    """A stream that is ready to start. `rd.cdc.stream()` makes one.

    Examples:
        >>> stream = rd.cdc.stream(events, t, key="id", format="debezium")
        >>> stream.rules.key, stream.records == rd.cdc.Debezium()
        (('id',), True)
    """

    source: DataFrame
    table: Table
    records: Records
    rules: ChangeRules
    policy: ResolvePolicy
    expiry: ExpirePolicy
    quarantine: Quarantine
    stream_id: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    listeners: list[OnBatch] = field(default_factory=list)
    delete_when: str | Column | None = None

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
            checkpoint: The folder of Spark's checkpoint. With the same folder, the stream continues where it stopped.
            every: Time between two batches, such as `10 seconds`; by default the next batch starts at once.
            available_now: Apply what is available now, then stop.
            query_name: The name of the query in Spark.

        Examples:
            >>> running = rd.cdc.stream(events, t, key="id", format="debezium").start("state", available_now=True)
            >>> running.await_termination()
            True
            >>> t.read().orderBy("id").show()
            +---+------+------+
            | id|status|amount|
            +---+------+------+
            |  1|  paid|  10.0|
            |  3|  void|  30.0|
            |  4|  paid|  40.0|
            +---+------+------+
        """
        running = RunningStream(self)
        writer = self.source.writeStream.foreachBatch(running.apply_batch).option("checkpointLocation", checkpoint)
        writer = writer if query_name is None else writer.queryName(query_name)
        if available_now:
            writer = writer.trigger(availableNow=True)
        elif every is not None:
            writer = writer.trigger(processingTime=every)
        running.set_query(writer.start())
        return running


@rename_arguments(on_progress="progress")
def stream(
    source: DataFrame,
    table: Table,
    key: str | Sequence[str],
    order_by: str | Column | Sequence[str | Column] | None = None,
    *,
    format: ChangeFormat | Records = "changes",  # noqa: A002 - Spark's own word
    delete_when: str | Column | None = None,
    columns: Sequence[str] | None = None,
    tie: Tie = "error",
    scope: Scope = "auto",
    encoding: Encoding | None = None,
    merge_schema: bool = False,
    resolve: bool | None = None,
    keep_newer: bool = False,
    tombstones: Tombstones = "drop",
    tombstone_column: str = TOMBSTONE_COLUMN,
    stream_id: str | None = None,
    on_bad: OnBad = "fail",
    quarantine: str | None = None,
    resolve_every: int | None = None,
    max_debt: int | None = None,
    expire_every: int | None = None,
    branch: str | None = None,
    publish: str | None = None,
    progress: OnBatch | None = None,
) -> ChangeStream:
    """Prepares a stream of changes to a table. Each batch is one upsert, applied exactly once.

    Args:
        source: Any streaming DataFrame.
        table: The table.
        key: The column or columns that identify a row.
        order_by: One or several values that grow from an older change of a key to a newer one. They order the changes
            of one batch: an older change still wins if it arrives in a later batch, unless `keep_newer` is set. The
            formats `debezium` and `delta` have their own order within a batch, and refuse another.
        format: `changes` (rows with the names of the table's columns), `debezium`, `delta` (Delta's change data feed),
            or `rd.cdc.OpColumn(...)`, `rd.cdc.JsonRows(...)`, `rd.cdc.Debezium(...)` or `rd.cdc.DeltaFeed()`.
        delete_when: Which changes delete their key, in addition to the deletes of the format.
        columns: Set only these columns and keep the rest of an existing row; this reads the table, as a merge does.
        tie: If two different changes of a key are equally new: `error`, or `any` to take one of them.
        scope: As in `t.upsert()`. Deletes of the format `debezium` hold only their key: `partition` is refused there,
            unless the key determines the partition.
        encoding: As in `t.upsert()`.
        merge_schema: Add columns to the table that only the changes have. Fields of Debezium's events have no types:
            add such a column with `ALTER TABLE`, and the stream fills it from its next batch on.
        resolve: Whether to look up the old rows, as in `t.upsert()`. If not, their keys are written, which costs no
            scan, and the policies below decide when they are resolved.
        keep_newer: Ignore a change that is not newer than the row in the table, so that batches may arrive in any
            order. `order_by` names the columns of the table that keep the order of changes. With `debezium`, they keep
            positions in the log of the database, such as `lsn`: see `rd.cdc.Debezium(position=...)`. A change
            without a value in these columns is bad.
        tombstones: With `keep`, a deleted key leaves a row, as in `t.upsert()`. Otherwise a change that is older than
            the delete, but arrives in a later batch, brings the row back.
        tombstone_column: The boolean column of the table that marks these rows.
        stream_id: The mark of the stream's commits; by default the id of Spark's query, which its checkpoint keeps. A
            new checkpoint needs a new one.
        on_bad: `fail` the batch at a bad record, or `quarantine` the record.
        quarantine: The table for bad records; by default the table's name and `_quarantine`.
        resolve_every: Resolve after this many commits.
        max_debt: Resolve when this many equality deletes are live.
        expire_every: Expire old snapshots after this many commits to the table. Its properties decide which are old:
            `history.expire.max-snapshot-age-ms` (5 days) and `history.expire.min-snapshots-to-keep`.
        branch: Write to this branch; a missing branch is created.
        publish: Move this branch to every resolved state of `branch`, so that its readers need no support for equality
            delete vectors.
        progress: Called with a `BatchProgress` after each batch.

    Examples:
        >>> stream = rd.cdc.stream(events, t, key="id", format="debezium", branch="ingest", publish="main")
        >>> stream.start(checkpoint="state", available_now=True).await_termination()
        True
        >>> spark.table("lake.db.orders").count()  # main is resolved: Iceberg reads it without rowdelta
        3
    """
    check_choice("on_bad", on_bad, OnBad)
    check_frame(source, "the source")
    if not source.isStreaming:
        raise InputError(
            "the source is not a streaming DataFrame", hint="use spark.readStream, or t.upsert() for one batch"
        )
    if publish is not None and (branch or table.branch) == publish:
        raise InputError(f"the stream writes to {publish!r} itself", hint="name another branch: branch='ingest'")
    records = _find_reader(format)
    if merge_schema and isinstance(records, Debezium):
        raise InputError(
            "merge_schema cannot add fields of Debezium's events to the table: they have no types",
            hint="ALTER TABLE ... ADD COLUMN adds one, also while the stream runs",
        )
    check_own_order(records, is_ordered=order_by is not None, keep_newer=keep_newer)
    order = ORDER if order_by is None and not keep_newer else order_by
    handle = table._handle  # noqa: SLF001 - a table's own stream
    handle.refresh()
    if delete_when is not None:
        check_expression(handle.gateway, delete_when, "delete_when")
    rules = ChangeRules.from_arguments(
        key, order, _combine_deletes(delete_when), tie, aside=(DELETED, ORDER, *records.aside)
    ).check_expressions(handle)
    for name in rules.key:
        handle.find_column(name)  # a wrong name fails here, not in the first batch
    if scope == "partition" and isinstance(records, Debezium):
        check_key_tells_partition(handle, rules.key)
    newest = {"keep_newer": keep_newer, "tombstones": tombstones, "tombstone_column": tombstone_column}
    check_lane(handle, rules, columns, resolve=resolve, encoding=encoding, **newest)
    policy, expiry = ResolvePolicy(resolve_every, max_debt, publish), ExpirePolicy(expire_every)
    expiry.check(table)
    target = _open_branch(table, branch)
    if publish is not None:
        target.metadata.head(publish)  # a missing branch fails here, not after some batches
    quarantine_table = name_quarantine(handle.full_name) if quarantine is None else quarantine
    changes = ChangeStream(
        source,
        target,
        records,
        rules,
        policy,
        expiry,
        Quarantine(handle.spark, quarantine_table if on_bad == "quarantine" else None),
        stream_id,
        {
            "columns": columns,
            "scope": scope,
            "encoding": encoding,
            "merge_schema": merge_schema,
            "resolve": resolve,
            **newest,
        },
        [*make_terminal_listeners(), *([] if progress is None else [progress])],
        delete_when,
    )
    if isinstance(records, Debezium):
        find_position_columns(records.position, read_shape(changes, target), source.columns)
    return changes


def _find_reader(format: ChangeFormat | Records) -> Records:  # noqa: A002 - Spark's own word
    if not isinstance(format, str):
        return format
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}", hint=f"use {', '.join(FORMATS)}, or rd.cdc.OpColumn(op=...)")
    return FORMATS[format]


def _combine_deletes(delete_when: str | Column | None) -> str | Column:
    """Combines the deletes of the format with the caller's."""
    if delete_when is None:
        return DELETED
    return F.col(DELETED) | select_deletes(delete_when)


def _open_branch(table: Table, branch: str | None) -> Table:
    """Returns the table on a branch; a missing branch is created at the head of the current one."""
    if branch is None or branch == table.branch:
        return table
    handle = table.refresh()._handle  # noqa: SLF001 - a table's own stream
    if branch not in handle.metadata.branches:
        create_branch(handle, branch)
    return Table(handle.on_branch(branch))
