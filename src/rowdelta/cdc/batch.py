"""Applies one batch of a stream: the good records in one commit, and the bad ones to the quarantine."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.cdc.maintenance_policy import count_equality_deletes
from rowdelta.cdc.progress import BatchProgress
from rowdelta.cdc.records import AT, BAD, DELETED, EXTRA, HELPERS, ORDER, SKIP, UNSENT, Shape, refuse_unordered
from rowdelta.encoding import choose_lane
from rowdelta.iceberg import mark_commits
from rowdelta.spark import Py4JError, move_to_session, quote
from rowdelta.verbs import Upsert

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta._table import Table
    from rowdelta.cdc.batch_marks import BatchMark
    from rowdelta.cdc.change_stream import ChangeStream


def apply_batch(
    stream: ChangeStream, table: Table, batch: DataFrame, mark: BatchMark, *, may_be_retry: bool
) -> BatchProgress:
    """Applies one batch to the table.

    Args:
        stream: The stream, which says how to read the batch.
        table: The table; nothing else commits through this object.
        batch: The batch, as it comes from the source.
        mark: The mark of the batch.
        may_be_retry: Whether the batch may have run before.
    """
    started = time.monotonic()
    handle = table._handle  # noqa: SLF001 - a table's own stream
    shape = read_shape(stream, table)
    records = stream.records.read(move_to_session(handle.gateway, batch), shape)
    if shape.order:
        records = refuse_unordered(records, shape)
    observed = Observation(f"rowdelta batch {mark.batch_id}")
    counts = [
        F.count_if(~F.col(EXTRA)).alias("records"),
        F.count_if(F.col(SKIP)).alias("skipped"),
        F.count_if(F.col(BAD).isNotNull()).alias("bad"),
        F.max(F.unix_micros(AT)).alias("newest"),
    ]
    numbers: dict[str, Any] = {}
    counted = records.observe(observed, *counts)
    good = counted.where(F.col(BAD).isNull() & ~F.col(SKIP))
    rules = replace(stream.rules, unsent=F.col(UNSENT)) if UNSENT in good.columns else stream.rules
    upsert = Upsert(handle, good.select(*_select_columns(good)), rules, **stream.options)

    def check() -> None:
        numbers.update(_read_counts(observed) or records.agg(*counts).collect()[0].asDict())
        if numbers["bad"]:
            # `observe` stops the filter: pushed down to the source, it would parse each record many times.
            bad = records.observe("rowdelta bad records", F.count("*").alias("all")).where(F.col(BAD).isNotNull())
            stream.quarantine.store(bad, numbers["bad"], mark, may_be_retry=may_be_retry)

    with mark_commits(handle, mark.on_commit):
        result = upsert.execute_after(check)
    return BatchProgress(
        mark.stream_id,
        mark.batch_id,
        records=numbers["records"],
        changes=numbers["records"] - numbers["skipped"] - numbers["bad"],
        skipped=numbers["skipped"],
        bad=numbers["bad"],
        keys=result.keys,
        rows=result.rows_written,
        inserted=result.rows_inserted,
        updated=result.rows_updated,
        deleted=result.rows_deleted,
        ignored=result.changes_ignored,
        bytes=result.bytes_added,
        lag_seconds=_compute_lag(numbers["newest"]),
        debt=count_equality_deletes(table),
        snapshot_id=result.snapshot_id,
        seconds=time.monotonic() - started,
    )


def _read_counts(observed: Observation) -> dict[str, Any]:
    """Reads what was observed; empty if Spark found that a query has no rows, and dropped the observed part of it."""
    try:
        return observed.get
    except Py4JError:
        return {}


def read_shape(stream: ChangeStream, table: Table) -> Shape:
    """Reads what a reader needs to know about the table."""
    handle = table._handle  # noqa: SLF001 - a table's own stream
    schema, rule = handle.metadata.schema, handle.name_rule
    types = handle.column_types
    key = tuple(schema.find(name, rule).name for name in stream.rules.key)
    by = stream.rules.order_by if stream.options.get("keep_newer") else ()
    order = tuple(schema.find(str(name), rule).name for name in by)
    return Shape(
        types,
        key,
        bool(stream.options.get("merge_schema")),
        stream.delete_when,
        rule,
        order,
        takes_unsent=_looks_rows_up(stream, table),
    )


def _looks_rows_up(stream: ChangeStream, table: Table) -> bool:
    """Whether a batch looks up the old rows, and replaces them as a whole."""
    options = stream.options
    lane = choose_lane(
        table._handle.metadata.properties,  # noqa: SLF001 - a table's own stream
        resolve=options.get("resolve"),
        encoding=options.get("encoding"),
        needs_rows="keep_newer=True" if options.get("keep_newer") else None,
    )
    return lane.resolves and options.get("columns") is None


def _select_columns(good: DataFrame) -> list[Column]:
    """Returns the columns of the records that the upsert uses."""
    unused = set(HELPERS) - {DELETED, ORDER}
    return [F.col(quote(name)) for name in good.columns if name not in unused]


def _compute_lag(newest_micros: int | None) -> float | None:
    return None if newest_micros is None else max(0.0, time.time() - newest_micros / 1e6)
