"""Bad records: kept with the reason in a table of their own, or the end of the batch."""

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

_SHOWN: Final = 3
_LONGEST: Final = 500
_COLUMNS: Final = "stream_id string, batch_id bigint, reason string, record string, refused_at timestamp"


@dataclass(frozen=True)
class Quarantine:
    """Where bad records go; without a table they fail the batch."""

    spark: SparkSession
    table: str | None

    def keep(self, bad: DataFrame, count: int, batch: BatchMark, *, again: bool) -> None:
        """Keeps the bad records of a batch, each once.

        Args:
            bad: The records.
            count: How many they are.
            batch: The batch.
            again: Whether the batch may have come before, so that some or all of its records are there already.

        Raises:
            InputError: There is no quarantine; nothing of the batch is in the table.
        """
        if self.table is None:
            raise _refused(bad, count)
        name = self._opened()
        records = bad.select(
            F.lit(batch.stream_id).alias("stream_id"),
            F.lit(batch.batch_id).cast("bigint").alias("batch_id"),
            F.col(BAD).alias("reason"),
            F.col(RAW).alias("record"),
        )
        if again:
            mine = (F.col("stream_id") == batch.stream_id) & (F.col("batch_id") == batch.batch_id)
            kept = self.spark.table(name).where(mine).drop("refused_at")
            if not kept.isEmpty():
                records = records.exceptAll(kept)
        writer = records.coalesce(1).withColumn("refused_at", F.current_timestamp()).writeTo(name)
        for key, value in batch.summary.items():
            writer = writer.option(f"snapshot-property.{key}", value)
        writer.append()

    def _opened(self) -> str:
        assert self.table is not None
        try:
            return TableHandle(self.spark, self.table).full_name
        except TableError:
            run_sql(self.spark, f"CREATE TABLE IF NOT EXISTS {self.table} ({_COLUMNS}) USING iceberg")
            return TableHandle(self.spark, self.table).full_name


def quarantine_of(table: str) -> str:
    """The name of a table's quarantine, where none is given.

    Examples:
        >>> quarantine_of("lake.db.orders"), quarantine_of("lake.db.`my orders`")
        ('lake.db.orders_quarantine', 'lake.db.`my orders_quarantine`')
    """
    return append_to_name(table, "_quarantine")


def _refused(bad: DataFrame, count: int) -> InputError:
    shown = [f"{row[BAD]}: {_short(row[RAW])}" for row in bad.select(BAD, RAW).limit(_SHOWN).collect()]
    some = "" if count <= len(shown) else f", and {count - len(shown):,} more"
    records = "record" if count == 1 else "records"
    return InputError(
        f"{count:,} bad {records} in the batch: {'; '.join(shown)}{some}",
        hint="mend the source, or keep them aside: on_bad='quarantine'",
    )


def _short(record: str | None) -> str:
    text = "null" if record is None else record
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text):,} characters)"
