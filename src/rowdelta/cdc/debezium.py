"""Debezium's change events as JSON: `before`, `after`, `op`, `ts_ms`, with or without the schema in the message."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.cdc.json_values import CORRUPT, OPTIONS, JsonRow
from rowdelta.cdc.records import AT, BAD, DELETED, EXTRA, ORDER, RAW, SKIP, first_reason, null_in
from rowdelta.errors import InputError
from rowdelta.scan import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.cdc.records import Shape

UNKNOWN_FIELDS: Final = ("bad", "ignore")
TIME_UNITS: Final = ("millis", "micros", "nanos")
_WRITES: Final = ("c", "r", "u")
_DELETE: Final = "d"
# Objects inside the envelope stay text until it is known which columns they are for.
_ENVELOPE: Final = (
    f"schema string, payload string, before string, after string, source string, op string, ts_ms bigint, "
    f"{CORRUPT} string"
)
_SOURCE: Final = "ts_ms bigint, file string, lsn bigint, pos bigint, scn bigint, row bigint"
_TYPE_NAMES: Final = "fields array<struct<field string, fields array<struct<field string, name string>>>>"


@dataclass(frozen=True)
class Debezium:
    """Events of one table in JSON, as Kafka or files hold them.

    Attributes:
        value: The column with the event, as text or bytes. A source that has the columns `op`, `before` and `after`
            themselves is read as it is.
        key: The column with the message's key; it names the row of a delete whose `before` is empty.
        time_unit: What numbers in timestamp columns count: `millis`, `micros` or `nanos`. Not needed where the message
            holds its schema, or times are text; a number is refused otherwise.
        unknown_fields: Fields that the table does not have: `bad` refuses the record, `ignore` leaves them out.
    """

    value: str = "value"
    key: str = "key"
    time_unit: str | None = None
    unknown_fields: str = "bad"

    def __post_init__(self) -> None:
        if self.unknown_fields not in UNKNOWN_FIELDS:
            raise InputError(f"unknown_fields={self.unknown_fields!r} is not known", hint="use 'bad' or 'ignore'")
        if self.time_unit not in {None, *TIME_UNITS}:
            raise InputError(f"time_unit={self.time_unit!r} is not known", hint="use 'millis', 'micros' or 'nanos'")

    @property
    def aside(self) -> tuple[str, ...]:
        """Columns of the source that serve the reader alone: none is left."""
        return ()

    def read(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Records of a batch; see `Records.read`."""
        for columns in _steps(self, tuple(frame.columns), shape):
            frame = frame.select(*columns)
        return frame

    def opened(self, columns: tuple[str, ...], places: list[str]) -> list[list[str | Column]]:
        """The envelope, out of the payload where the message has one, and the type names of its schema."""
        text, message_key = self._text(columns)
        payload = F.col("outer.payload")
        nothing = F.col("outer.op").isNull() & F.col("outer.before").isNull() & F.col("outer.after").isNull()
        event = F.when(payload.isNotNull(), F.from_json(payload, _ENVELOPE, OPTIONS)).otherwise(F.col("outer"))
        wrapped_nothing = nothing & payload.isNull() & F.array_contains(F.json_object_keys(RAW), "payload")
        tombstone = F.col(RAW).isNull() | (F.trim(RAW) == "null") | wrapped_nothing
        return [
            [text.alias(RAW), message_key.alias("message_key"), *places],
            ["*", F.from_json(RAW, _ENVELOPE, OPTIONS).alias("outer")],
            [
                RAW,
                "message_key",
                *places,
                event.alias("event"),
                _type_names(F.col("outer.schema")).alias("type_names"),
                F.coalesce(tombstone, F.lit(False)).alias(SKIP),
            ],
        ]

    def _text(self, columns: tuple[str, ...]) -> tuple[Column, Column]:
        if {"op", "before", "after"} <= set(columns):
            return F.to_json(F.struct("*")), F.lit(None).cast("string")
        if self.value not in columns:
            raise InputError(
                f"the source has no column {self.value!r} with events",
                hint=f"its columns are {', '.join(columns)}: Debezium(value=...) names the one",
            )
        message_key = F.lit(None).cast("string")
        if self.key in columns:
            whole = F.col(quote(self.key)).cast("string")
            message_key = F.coalesce(F.get_json_object(whole, "$.payload"), whole)
        return F.col(quote(self.value)).cast("string"), message_key

    def tests(
        self, shape: Shape, rows: JsonRow, keys: JsonRow, new: dict[str, Column], old: dict[str, Column]
    ) -> list[tuple[Column, str | Column]]:
        """Everything that a record can be refused for, most telling first."""
        op, names = F.col("event.op"), F.col("type_names")
        writes, deletes = F.coalesce(op.isin(*_WRITES), F.lit(False)), F.coalesce(op == _DELETE, F.lit(False))
        unknown = F.array_except(F.json_object_keys("event.after"), F.array(*map(F.lit, shape.types.names)))
        tests: list[tuple[Column, str | Column]] = [
            (F.col("event").isNull() | F.col(f"event.{CORRUPT}").isNotNull(), "malformed JSON"),
            (op == "t", "op t empties the table, which a stream of changes does not do"),
            (~writes & ~deletes, F.concat(F.lit("unknown op "), F.coalesce(op, F.lit("null")))),
            (writes & F.col("event.after").isNull(), "there is no row in 'after'"),
            (deletes & F.col("old").isNull(), "a delete has neither 'before' nor a key"),
            *((writes & test, reason) for test, reason in rows.problems("new", names)),
            *((deletes & test, reason) for test, reason in keys.problems("old", names)),
        ]
        if self.unknown_fields == "bad":
            shown = F.concat(F.lit("the table has no column "), F.array_join(unknown, ", "))
            tests.append((writes & (F.size(unknown) > 0), shown))
        required = [*shape.key, *(name for name in shape.required if name not in shape.key)]
        tests += [(writes & test, reason) for test, reason in null_in(required, new)]
        tests += [(deletes & test, reason) for test, reason in null_in(shape.key, old)]
        return tests


@lru_cache(maxsize=64)
def _steps(reader: Debezium, columns: tuple[str, ...], shape: Shape) -> list[list[str | Column]]:
    """One projection after the other, from events to records; made once for all batches of a stream."""
    rows = JsonRow(shape.types, reader.time_unit)
    keys = JsonRow(T.StructType([shape.types[name] for name in shape.key]), reader.time_unit)
    places = [name for name in ("offset",) if name in columns]
    parsed: list[str | Column] = [
        "*",
        rows.parsed(F.col("event.after")).alias("new"),
        keys.parsed(F.coalesce("event.before", "message_key")).alias("old"),
        F.from_json("event.source", _SOURCE).alias("place"),
    ]
    names = F.col("type_names")
    new, old = rows.values("new", names), keys.values("old", names)
    reason = first_reason(*reader.tests(shape, rows, keys, new, old))
    moved = F.col(BAD).isNull() & (F.col("event.op") == "u") & _differ(shape, old, new)
    deletes = F.coalesce(F.col("event.op") == _DELETE, F.lit(False))
    steps = F.when(moved, F.array(F.lit(True), F.lit(False))).otherwise(F.array(deletes))
    values = {name: F.when(~F.col(DELETED), value) for name, value in new.items()}
    values |= {name: F.when(F.col(DELETED), old[name]).otherwise(new[name]) for name in shape.key}
    position = F.coalesce("place.lsn", "place.pos", "place.scn").alias("position")
    return [
        *reader.opened(columns, places),
        parsed,
        ["*", F.when(~F.col(SKIP), reason).alias(BAD)],
        ["*", moved.alias("moved"), F.explode(steps).alias(DELETED)],
        [
            *(value.alias(name) for name, value in values.items()),
            DELETED,
            F.struct("event.ts_ms", "place.file", position, "place.row", *places).alias(ORDER),
            BAD,
            RAW,
            F.timestamp_millis(F.coalesce("place.ts_ms", "event.ts_ms")).alias(AT),
            SKIP,
            F.coalesce(F.col("moved") & F.col(DELETED), F.lit(False)).alias(EXTRA),
        ],
    ]


def _differ(shape: Shape, old: dict[str, Column], new: dict[str, Column]) -> Column:
    """Whether an update gave its row another key; a `before` without the key says nothing."""
    known = F.col("event.before").isNotNull()
    different = F.lit(False)
    for name in shape.key:
        known &= old[name].isNotNull()
        different |= ~old[name].eqNullSafe(new[name])
    return known & different


def _type_names(schema: Column) -> Column:
    """What the message's schema calls the types of the columns of `after`, such as `io.debezium.time.Date`."""
    parsed = F.from_json(schema, _TYPE_NAMES)
    images = F.filter(parsed["fields"], lambda image: image["field"] == "after")
    columns = F.get(images, F.lit(0))["fields"]
    entries = F.transform(columns, lambda column: F.struct(column["field"], column["name"]))
    return F.map_from_entries(entries)
