"""One batch of a stream: the good records in one commit, the bad ones where they belong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.cdc.maintenance_policy import live_equality_deletes
from rowdelta.cdc.progress import BatchProgress
from rowdelta.cdc.records import AT, BAD, DELETED, EXTRA, HELPERS, ORDER, SKIP, Shape
from rowdelta.iceberg import marked
from rowdelta.spark import in_session, quote
from rowdelta.verbs import Upsert

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta._table import Table
    from rowdelta.cdc.batch_marks import BatchMark
    from rowdelta.cdc.change_stream import ChangeStream


def take_batch(stream: ChangeStream, table: Table, batch: DataFrame, mark: BatchMark, *, again: bool) -> BatchProgress:
    """Puts one batch into the table.

    Args:
        stream: How the batch is to be understood.
        table: The table; no one else commits through it.
        batch: The batch, as the source gives it.
        mark: Which one it is.
        again: Whether it may have been begun before.
    """
    started = time.monotonic()
    handle = table._handle  # noqa: SLF001 - a table's own stream
    records = stream.records.read(in_session(handle.gateway, batch), _shape(stream, table))
    observed = Observation(f"rowdelta batch {mark.batch_id}")
    counted = records.observe(
        observed,
        F.count_if(~F.col(EXTRA)).alias("records"),
        F.count_if(F.col(SKIP)).alias("skipped"),
        F.count_if(F.col(BAD).isNotNull()).alias("bad"),
        F.max(F.unix_micros(AT)).alias("newest"),
    )
    good = counted.where(F.col(BAD).isNull() & ~F.col(SKIP))
    upsert = Upsert(handle, good.select(*_columns(good)), stream.rules, **stream.options)

    def check() -> None:
        if observed.get["bad"]:
            # What is observed stops the filter: pushed down to the source, it would parse each record many times.
            bad = records.observe("rowdelta bad records", F.count("*").alias("all")).where(F.col(BAD).isNotNull())
            stream.quarantine.keep(bad, observed.get["bad"], mark, again=again)

    with marked(handle, mark.on_commit):
        result = upsert.execute_after(check)
    numbers = observed.get
    return BatchProgress(
        mark.stream_id,
        mark.batch_id,
        records=numbers["records"],
        changes=numbers["records"] - numbers["skipped"] - numbers["bad"],
        skipped=numbers["skipped"],
        bad=numbers["bad"],
        keys=result.keys,
        rows=result.rows_written,
        bytes=result.bytes_added,
        lag_seconds=_age(numbers["newest"]),
        debt=live_equality_deletes(table),
        snapshot_id=result.snapshot_id,
        seconds=time.monotonic() - started,
    )


def _shape(stream: ChangeStream, table: Table) -> Shape:
    handle = table._handle  # noqa: SLF001 - a table's own stream
    schema, rule = handle.metadata.schema, handle.name_rule
    types = handle.column_types
    key = tuple(schema.find(name, rule).name for name in stream.rules.key)
    return Shape(types, key, bool(stream.options.get("merge_schema")), stream.delete_when, rule)


def _columns(good: DataFrame) -> list[Column]:
    """The columns of the records that the upsert may see: not those that only serve here."""
    unused = set(HELPERS) - {DELETED, ORDER}
    return [F.col(quote(name)) for name in good.columns if name not in unused]


def _age(newest_micros: int | None) -> float | None:
    return None if newest_micros is None else max(0.0, time.time() - newest_micros / 1e6)
