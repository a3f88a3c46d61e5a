"""Bad records: kept with the reason in a table of their own, or the end of the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.cdc.marks import BATCH, STREAM, last_batch
from rowdelta.cdc.records import BAD, RAW
from rowdelta.errors import InputError, TableError
from rowdelta.iceberg import TableHandle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ON_BAD: Final = ("fail", "quarantine")
_SHOWN: Final = 3
_COLUMNS: Final = "stream_id string, batch_id bigint, reason string, record string, refused_at timestamp"


@dataclass(frozen=True)
class Quarantine:
    """Where bad records go; without a table they fail the batch."""

    spark: SparkSession
    table: str | None

    def keep(self, bad: DataFrame, count: int, stream_id: str, batch_id: int) -> None:
        """Keeps the bad records of a batch, once.

        Raises:
            InputError: There is no quarantine; nothing of the batch is in the table.
        """
        if self.table is None:
            raise _refused(bad, count)
        handle = self._open()
        done = last_batch(handle, stream_id)
        if done is not None and done >= batch_id:
            return
        records = bad.select(
            F.lit(stream_id).alias("stream_id"),
            F.lit(batch_id).cast("bigint").alias("batch_id"),
            F.col(BAD).alias("reason"),
            F.col(RAW).alias("record"),
            F.current_timestamp().alias("refused_at"),
        )
        writer = records.coalesce(1).writeTo(handle.full_name)
        for name, value in {STREAM: stream_id, BATCH: str(batch_id)}.items():
            writer = writer.option(f"snapshot-property.{name}", value)
        writer.append()

    def _open(self) -> TableHandle:
        assert self.table is not None
        try:
            return TableHandle(self.spark, self.table)
        except TableError:
            self.spark.sql(f"CREATE TABLE IF NOT EXISTS {self.table} ({_COLUMNS}) USING iceberg")
            return TableHandle(self.spark, self.table)


def _refused(bad: DataFrame, count: int) -> InputError:
    shown = [f"{row[BAD]}: {row[RAW]}" for row in bad.select(BAD, RAW).limit(_SHOWN).collect()]
    some = "" if count <= len(shown) else f", and {count - len(shown):,} more"
    return InputError(
        f"{count:,} bad records in the batch: {'; '.join(shown)}{some}",
        hint="mend the source, or keep them aside: on_bad='quarantine'",
    )
