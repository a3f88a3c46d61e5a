"""Debezium's change events in JSON: `before`, `after`, `op` and `ts_ms`, with or without a schema in the message."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from rowdelta.cdc.debezium_events import EventSteps
from rowdelta.cdc.event_position import check_paths
from rowdelta.cdc.json_values import check_notation
from rowdelta.choices import DecimalNotation, TimeUnit, UnknownFields, check_choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from rowdelta.cdc.records import Shape


@dataclass(frozen=True)
class Debezium:
    """Events of one table in JSON, from Kafka or files.

    Attributes:
        value: The column with the event, as text or bytes. A source with the columns `op`, `before` and `after` is read
            as it is.
        key: The column with the message's key. It identifies the row of a delete whose `before` is empty, and the row
            that a message without a value (a tombstone) deletes.
        time_unit: The unit of numbers in timestamp columns: `millis`, `micros` or `nanos`. Not needed if messages hold
            their schema, or times are text. Without it, other numbers are refused.
        unknown_fields: Fields that the table does not have: `bad` refuses the record, `ignore` skips them.
        decimals: The notation of text in decimal columns: `text` of a number, or `base64` of its digits, which is
            Debezium's default. The scale is that of the table's column. Not needed if messages hold their schema.
        position: Columns of the table that keep where a change was in the log of the database, and where it is in the
            event: `source.` and a field, `ts_ms`, or `offset`, that of the message. `keep_newer=True` of
            `rd.cdc.stream()` compares changes by such columns. A column that only its `order_by` names keeps the field
            with the same name in `source`.

    Examples:
        >>> reader = rd.cdc.Debezium(time_unit="micros", unknown_fields="ignore")
        >>> rd.cdc.stream(events, t, key="id", format=reader).records == reader
        True
        >>> rd.cdc.Debezium(position={"lsn": "source.lsn", "changed_at": "ts_ms"}).position["lsn"]
        'source.lsn'
    """

    value: str = "value"
    key: str = "key"
    time_unit: TimeUnit | None = None
    unknown_fields: UnknownFields = "bad"
    decimals: DecimalNotation = "text"
    position: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_choice("value of unknown_fields", self.unknown_fields, UnknownFields)
        check_notation(self.time_unit, self.decimals)
        check_paths(self.position)

    @property
    def aside(self) -> tuple[str, ...]:
        """Columns of the source that only the reader uses: the records have none of them."""
        return ()

    def read(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Reads the records of a batch; see `Records.read`."""
        application = frame.sparkSession.sparkContext.applicationId
        for columns in _make_projections(self, tuple(frame.columns), shape, application):
            frame = frame.select(*columns)
        return frame


@lru_cache(maxsize=64)
def _make_projections(
    reader: Debezium,
    columns: tuple[str, ...],
    shape: Shape,
    application: str,  # noqa: ARG001 - columns of a Spark that was stopped are of no use to the next one
) -> list[list[str | Column]]:
    """Makes the projections from events to records, once for all batches of a stream."""
    return EventSteps(reader, columns, shape).build()
