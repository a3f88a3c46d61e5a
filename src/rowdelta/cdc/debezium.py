"""Debezium's change events as JSON: `before`, `after`, `op`, `ts_ms`, with or without the schema in the message."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rowdelta.cdc.debezium_events import EventSteps
from rowdelta.cdc.json_values import check_notation
from rowdelta.choices import DecimalNotation, TimeUnit, UnknownFields, check_choice

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.cdc.records import Shape


@dataclass(frozen=True)
class Debezium:
    """Events of one table in JSON, as Kafka or files hold them.

    Attributes:
        value: The column with the event, as text or bytes. A source that has the columns `op`, `before` and `after`
            themselves is read as it is.
        key: The column with the message's key; it names the row of a delete whose `before` is empty, and the one that a
            message without a value (a tombstone) deletes.
        time_unit: What numbers in timestamp columns count: `millis`, `micros` or `nanos`. Not needed where the message
            holds its schema, or times are text; a number is refused otherwise.
        unknown_fields: Fields that the table does not have: `bad` refuses the record, `ignore` leaves them out.
        decimals: What text in decimal columns is: `text` of a number, or `base64` of its digits, as Debezium writes
            them by default; they have the scale of the table's column then. Not needed where the message holds its
            schema.

    Examples:
        >>> reader = rd.cdc.Debezium(time_unit="micros", unknown_fields="ignore")
        >>> rd.cdc.stream(events, t, key="id", format=reader).records == reader
        True
    """

    value: str = "value"
    key: str = "key"
    time_unit: TimeUnit | None = None
    unknown_fields: UnknownFields = "bad"
    decimals: DecimalNotation = "text"

    def __post_init__(self) -> None:
        check_choice("value of unknown_fields", self.unknown_fields, UnknownFields)
        check_notation(self.time_unit, self.decimals)

    @property
    def aside(self) -> tuple[str, ...]:
        """Columns of the source that serve the reader alone: none is left."""
        return ()

    def read(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Records of a batch; see `Records.read`."""
        application = frame.sparkSession.sparkContext.applicationId
        for columns in _steps(self, tuple(frame.columns), shape, application):
            frame = frame.select(*columns)
        return frame


@lru_cache(maxsize=64)
def _steps(
    reader: Debezium,
    columns: tuple[str, ...],
    shape: Shape,
    application: str,  # noqa: ARG001 - columns of a Spark that was stopped are of no use to the next one
) -> list[list[str | Column]]:
    """One projection after the other, from events to records; made once for all batches of a stream."""
    return EventSteps(reader, columns, shape).all()
