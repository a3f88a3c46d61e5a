"""`rd.cdc.follow()`: hands the changes of a table to a function or another table, batch by batch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rowdelta.cdc.feed_checkpoint import FeedCheckpoint
from rowdelta.cdc.feed_target import FeedTarget
from rowdelta.cdc.follower import Follower, FollowerOptions
from rowdelta.cdc.progress import make_terminal_listeners
from rowdelta.choices import Images, OnGap, check_choice
from rowdelta.errors import InputError
from rowdelta.feed import ChangeRequest, find_snapshot
from rowdelta.spark import check_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta._table import Table
    from rowdelta.cdc.feed_checkpoint import FeedBatch
    from rowdelta.cdc.follow_progress import OnFollowed
    from rowdelta.feed import State
    from rowdelta.iceberg import TableHandle

_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(seconds?|minutes?|hours?|days?|milliseconds?)\s*", re.IGNORECASE)
_SECONDS: Final = {"millisecond": 0.001, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}


def follow(
    table: Table,
    handler: Callable[[DataFrame, FeedBatch], object] | None = None,
    *,
    checkpoint: str,
    into: Table | None = None,
    start: State | None = None,
    every: str = "10 seconds",
    available_now: bool = False,
    max_snapshots: int = 100,
    columns: str | Sequence[str] | None = None,
    where: str | Column | None = None,
    key: str | Sequence[str] | None = None,
    images: Images = "all",
    net: bool = True,
    on_gap: OnGap = "error",
    stream_id: str | None = None,
    progress: OnFollowed | None = None,
) -> Follower:
    """Follows a table: hands the changes of each range of snapshots to a function, in order.

    The checkpoint remembers a range before the handler gets it, and that it was handled when the handler returns. After
    a crash, the handler gets the same range with the same batch id again.

    Args:
        table: The table, on its branch.
        handler: Called with the changes, as `t.changes()` returns them, and a `FeedBatch`. The frame is valid during
            the call.
        checkpoint: A folder: a local one, or a URI that the table's FileIO can write. It needs one follower at a time.
        into: A table that gets the changes instead: upserts and deletes by key, each batch once, in one commit.
        start: The first changes are those after this snapshot, time or tag. By default, the first batch has all rows of
            the table, as inserts. A checkpoint that exists already wins.
        every: Time between two looks at the table, such as `10 seconds`.
        available_now: Handle what is available now, then stop.
        max_snapshots: The most snapshots of a batch.
        columns: As in `t.changes()`.
        where: As in `t.changes()`.
        key: As in `t.changes()`. `into` needs a key, or identifier fields of the table.
        images: As in `t.changes()`.
        net: As in `t.changes()`: at most one change of each row in a batch.
        on_gap: If snapshots expired before they were read, or were rolled back: `error`, or `reload` to hand all rows
            of the table to the handler, as inserts. `into` then also deletes the rows that the table does not have.
        stream_id: The mark of the commits to `into`; by default the id of the checkpoint.
        progress: Called with a `FollowProgress` after each batch.

    Examples:
        >>> _ = spark.sql("CREATE TABLE lake.db.copy (id bigint, status string, amount double) USING iceberg")
        >>> copy = rd.table(spark, "lake.db.copy")
        >>> for _ in range(2):
        ...     follower = rd.cdc.follow(t, into=copy, key="id", checkpoint="state", available_now=True)
        ...     ended = follower.await_termination()
        ...     updated = t.update().set("amount", 0).where("status = 'void'").execute()
        >>> copy.read("id = 3").show()
        +---+------+------+
        | id|status|amount|
        +---+------+------+
        |  3|  void|   0.0|
        +---+------+------+
    """
    check_choice("images", images, Images)
    check_choice("on_gap", on_gap, OnGap)
    if (handler is None) == (into is None):
        raise InputError("follow() needs a handler or into=, and not both", hint="follow(t, handler, checkpoint=...)")
    if max_snapshots < 1:
        raise InputError(f"max_snapshots is {max_snapshots}", hint="a batch has at least one snapshot")
    if into is not None and not net:
        raise InputError("into= applies net changes only", hint="omit net=False, or write a handler")
    handle = table._handle.on_branch(table.branch)  # noqa: SLF001 - an object of its own, as for a stream
    handle.refresh()
    if where is not None:
        check_expression(handle.gateway, where, "where")
    request = ChangeRequest(columns, where, _find_key(handle, key), "all" if into is not None else images, net)
    stored = FeedCheckpoint(checkpoint, handle)
    place = stored.read()
    named = stream_id or place.follower_id
    options = FollowerOptions(
        request,
        handler,
        None if into is None else _make_target(handle, into, request, named, place.follower_id),
        None if start is None or place.end is not None else find_snapshot(handle, start, "start").id,
        None if available_now else parse_duration(every),
        max_snapshots,
        on_gap,
        [*make_terminal_listeners(), *([] if progress is None else [progress])],
    )
    return Follower(handle, stored, place, options).start()


def _find_key(handle: TableHandle, key: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if key is None:
        schema = handle.metadata.schema
        return tuple(schema.by_id[field_id].sql for field_id in schema.identifier_ids) or None
    names = (key,) if isinstance(key, str) else tuple(key)
    for name in names:
        handle.find_column(name)  # a wrong name fails here, not in the first batch
    return names


def _make_target(
    handle: TableHandle, into: Table, request: ChangeRequest, stream_id: str, follower_id: str
) -> FeedTarget:
    if request.key is None:
        raise InputError(
            f"into= needs a key: {handle.name} has no identifier fields", hint="key='id', or a list of columns"
        )
    target = into._handle.on_branch(into.branch)  # noqa: SLF001 - an object of its own
    if (target.full_name, target.branch) == (handle.full_name, handle.branch):
        raise InputError(f"{handle.name} cannot follow itself", hint="name another table or branch in into=")
    names = tuple(handle.find_column(name).name for name in request.key)
    for name in names:
        target.find_column(name)
    return FeedTarget(target, names, stream_id, follower_id)


def parse_duration(text: str) -> float:
    """Parses a time such as `10 seconds`, in seconds.

    Examples:
        >>> parse_duration("10 seconds"), parse_duration("1.5 minutes")
        (10.0, 90.0)
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InputError(f"every is {text!r}, which is no duration", hint="such as '10 seconds' or '5 minutes'")
    return float(match[1]) * _SECONDS[match[2].lower().rstrip("s")]
