"""Stores bad records in a separate table with their reasons, or fails the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.cdc.records import BAD, RAW
from rowdelta.errors import InputError, TableError
from rowdelta.iceberg import TableHandle
from rowdelta.spark import append_to_name, run_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.cdc.batch_marks import BatchMark

_EXAMPLES: Final = 3
_MAX_LENGTH: Final = 500
_COLUMNS: Final = "stream_id string, batch_id bigint, reason string, record string, refused_at timestamp"


@dataclass(frozen=True)
class Quarantine:
    """The table for bad records; without one they fail the batch."""

    spark: SparkSession
    table: str | None

    def store(self, bad: DataFrame, count: int, batch: BatchMark, *, may_be_retry: bool) -> None:
        """Stores the bad records of a batch, each once.

        Args:
            bad: The records.
            count: Their number.
            batch: The batch.
            may_be_retry: Whether the batch may have run before, so that the table may already have its records.

        Raises:
            InputError: There is no quarantine; nothing of the batch is in the table.
        """
        if self.table is None:
            raise _make_error(bad, count)
        name = self._open()
        records = bad.select(
            F.lit(batch.stream_id).alias("stream_id"),
            F.lit(batch.batch_id).cast("bigint").alias("batch_id"),
            F.col(BAD).alias("reason"),
            F.col(RAW).alias("record"),
        )
        if may_be_retry:
            of_batch = (F.col("stream_id") == batch.stream_id) & (F.col("batch_id") == batch.batch_id)
            stored = self.spark.table(name).where(of_batch).drop("refused_at")
            if not stored.isEmpty():
                records = records.exceptAll(stored)
        writer = records.coalesce(1).withColumn("refused_at", F.current_timestamp()).writeTo(name)
        for key, value in batch.summary.items():
            writer = writer.option(f"snapshot-property.{key}", value)
        writer.append()

    def _open(self) -> str:
        assert self.table is not None
        try:
            return TableHandle(self.spark, self.table).full_name
        except TableError:
            run_sql(self.spark, f"CREATE TABLE IF NOT EXISTS {self.table} ({_COLUMNS}) USING iceberg")
            return TableHandle(self.spark, self.table).full_name


def name_quarantine(table: str) -> str:
    """Returns the default name of a table's quarantine.

    Examples:
        >>> name_quarantine("lake.db.orders"), name_quarantine("lake.db.`my orders`")
        ('lake.db.orders_quarantine', 'lake.db.`my orders_quarantine`')
    """
    return append_to_name(table, "_quarantine")


def _make_error(bad: DataFrame, count: int) -> InputError:
    examples = [f"{row[BAD]}: {_shorten(row[RAW])}" for row in bad.select(BAD, RAW).limit(_EXAMPLES).collect()]
    more = "" if count <= len(examples) else f", and {count - len(examples):,} more"
    records = "record" if count == 1 else "records"
    return InputError(
        f"{count:,} bad {records} in the batch: {'; '.join(examples)}{more}",
        hint="repair the source, or set such records aside with on_bad='quarantine'",
    )


def _shorten(record: str | None) -> str:
    text = "null" if record is None else record
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]} ... ({len(text):,} characters)"
