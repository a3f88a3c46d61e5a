"""Converts Debezium's events to records, in a series of projections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.cdc.event_position import OFFSET, find_position_columns
from rowdelta.cdc.json_source import CORRUPT, OPTIONS, JsonObject, check_fields, is_one_object, starts_object
from rowdelta.cdc.json_values import JsonRow
from rowdelta.cdc.records import (
    AT,
    BAD,
    DELETED,
    EXTRA,
    ORDER,
    RAW,
    SKIP,
    UNSENT,
    check_nulls,
    find_first_reason,
    write_row_as_json,
)
from rowdelta.errors import InputError
from rowdelta.spark import quote, try_cast

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rowdelta.cdc.debezium import Debezium
    from rowdelta.cdc.records import Shape

_WRITES: Final = ("c", "r", "u")
_DELETE: Final = "d"
# Objects inside the envelope stay text until their columns are known.
_ENVELOPE: Final = (
    f"schema string, payload string, before string, after string, source string, op string, ts_ms bigint, "
    f"{CORRUPT} string"
)
# The position of the change in the log of the database. Numbers are read as text, as some connectors write them.
_SOURCE: Final = (
    "ts_ms bigint, file string, commit_lsn string, change_lsn string, lsn string, pos string, scn string, "
    "event_serial_no string, row bigint"
)
_COLUMN: Final = "struct<field string, name string, parameters struct<scale string>>"
_SCHEMA: Final = f"fields array<struct<field string, fields array<{_COLUMN}>>>"
# Debezium's placeholder for a large value of PostgreSQL that an update did not change.
_UNAVAILABLE: Final = "__debezium_unavailable_value"
_UNKNOWN_VALUE: Final = (
    "the source did not send column {!r}, which the update did not touch: resolve=True takes it from the old row, and "
    "ALTER TABLE ... REPLICA IDENTITY FULL in PostgreSQL makes the source send it"
)


class EventSteps:
    """The projections of a reader, for the columns of a source and the shape of a table."""

    def __init__(self, reader: Debezium, columns: tuple[str, ...], shape: Shape) -> None:
        self._reader = reader
        self._columns = columns
        self._shape = shape
        keys = T.StructType([shape.types[name] for name in shape.key])
        self._positions = find_position_columns(reader.position, shape, columns)
        apart = [column.name for column in self._positions]
        self._row_types = T.StructType([column for column in shape.types.fields if column.name not in apart])
        self._rows = JsonRow(self._row_types, reader.time_unit, reader.decimals)
        self._keys = JsonRow(keys, reader.time_unit, reader.decimals)
        self._after = JsonObject("after", F.col("event.after"), F.col("declared"))
        self._before = JsonObject("before", F.coalesce("event.before", "message_key"), F.col("declared"))
        self._new = {name: F.col(quote(f"new {name}")) for name in shape.types.names}
        self._old = {name: F.col(quote(f"old {name}")) for name in shape.key}
        self._places = [name for name in (OFFSET,) if name in columns]

    def build(self) -> list[list[str | Column]]:
        """Returns all projections, in order."""
        return [
            *self._open_envelopes(),
            [
                "*",
                self._rows.parse(self._after.text).alias("after"),
                self._keys.parse(self._before.text).alias("before"),
                F.from_json("event.source", _SOURCE).alias("place"),
            ],
            [  # in separate columns, so that each value is converted once
                "*",
                *(value.alias(f"new {name}") for name, value in self._rows.convert(self._after).items()),
                *(value.alias(f"old {name}") for name, value in self._keys.convert(self._before).items()),
                *(column.value.alias(f"new {column.name}") for column in self._positions),
            ],
            [
                "*",
                (F.col("tombstone") & (~self._has_message_key() | self._has_no_order())).alias(SKIP),
                F.when(~F.col("tombstone"), find_first_reason(*self._build_tests())).alias(BAD),
            ],
            *self._build_changes(),
        ]

    def _open_envelopes(self) -> list[list[str | Column]]:
        """Reads the envelope, from the payload if the message has one, and the types in the message's schema."""
        text, message_key = self._find_text()
        payload = F.col("outer.payload")
        nothing = F.col("outer.op").isNull() & F.col("outer.before").isNull() & F.col("outer.after").isNull()
        event = F.when(payload.isNotNull(), F.from_json(payload, _ENVELOPE, OPTIONS)).otherwise(F.col("outer"))
        wrapped_nothing = nothing & payload.isNull() & F.array_contains(F.json_object_keys(RAW), "payload")
        tombstone = F.col(RAW).isNull() | F.trim(RAW).isin("", "null") | wrapped_nothing
        return [
            [text.alias(RAW), message_key.alias("message_key"), *self._places],
            ["*", F.from_json(self._rows.quote_decimals(F.col(RAW)), _ENVELOPE, OPTIONS).alias("outer")],
            [
                RAW,
                "message_key",
                *self._places,
                event.alias("event"),
                _read_declared_types(F.col("outer.schema")).alias("declared"),
                F.coalesce(tombstone, F.lit(False)).alias("tombstone"),
            ],
        ]

    def _find_text(self) -> tuple[Column, Column]:
        columns, reader = self._columns, self._reader
        nothing = F.lit(None).cast("string")
        if {"op", "before", "after"} <= set(columns):
            return write_row_as_json(), nothing
        if reader.value not in columns:
            raise InputError(
                f"the source has no column {reader.value!r} with events",
                hint=f"its columns are {', '.join(columns)}: name one with Debezium(value=...)",
            )
        whole = self._keys.quote_decimals(F.col(quote(reader.key)).cast("string")) if reader.key in columns else nothing
        message_key = F.coalesce(F.get_json_object(whole, "$.payload"), whole)
        return F.col(quote(reader.value)).cast("string"), message_key

    def _has_message_key(self) -> Column:
        """Tests whether the message's key identifies a row, which a message without a value deletes."""
        has_key = starts_object(F.col("message_key"))
        for value in self._old.values():
            has_key &= value.isNotNull()
        return has_key

    def _has_no_order(self) -> Column:
        """Tests for a message that cannot be compared with the row in the table: a tombstone has no `source`."""
        if not self._shape.order:
            return F.lit(False)
        return F.coalesce(*(self._new[name].cast("string") for name in self._shape.order)).isNull()

    def _build_tests(self) -> list[tuple[Column, str | Column]]:
        """Returns the tests that refuse a record, each with its reason; the most important come first."""
        op, shape, new, old = F.col("event.op"), self._shape, self._new, self._old
        writes, deletes = F.coalesce(op.isin(*_WRITES), F.lit(False)), F.coalesce(op == _DELETE, F.lit(False))
        broken = F.col("event").isNull() | F.col(f"event.{CORRUPT}").isNotNull()
        tests: list[tuple[Column, str | Column]] = [
            (broken | ~is_one_object(F.col(RAW)), "malformed JSON"),
            (op == "t", "op t empties the table, which a stream of changes does not do"),
            (~writes & ~deletes, F.concat(F.lit("unknown op "), F.coalesce(op, F.lit("null")))),
            (writes & ~starts_object(self._after.text), "there is no row in 'after'"),
            (deletes & F.col("before").isNull(), "a delete has neither 'before' nor a key"),
            *((writes & test, reason) for test, reason in self._rows.check(self._after, new)),
            *((deletes & test, reason) for test, reason in self._keys.check(self._before, old)),
        ]
        names = F.json_object_keys(self._after.text)
        for column in self._positions:
            both = f"the row has a field {column.name!r}, and the column with that name keeps {column.path}"
            tests += [(writes & F.array_contains(names, column.name), both), column.test(new[column.name])]
        if self._reader.unknown_fields == "bad":
            tests += [(writes & test, reason) for test, reason in check_fields(self._after.text, self._row_types)]
        tests += [
            (writes & ~self._keeps_row(name) & (new[name] == mark), _UNKNOWN_VALUE.format(name))
            for name, mark in self._find_unavailable()
        ]
        required = [*shape.key, *(name for name in shape.required if name not in shape.key)]
        tests += [(writes & test, reason) for test, reason in check_nulls(required, new)]
        tests += [(deletes & test, reason) for test, reason in check_nulls(shape.key, old)]
        return tests

    def _find_unavailable(self) -> list[tuple[str, Column]]:
        placeholders = {T.StringType: F.lit(_UNAVAILABLE), T.BinaryType: F.lit(_UNAVAILABLE.encode())}
        fields = self._shape.types.fields
        return [
            (column.name, placeholder)
            for column in fields
            for type_, placeholder in placeholders.items()
            if isinstance(column.dataType, type_)
        ]

    def _keeps_row(self, name: str) -> Column:
        """Tests for an update of a row whose old state can be looked up, so that it need not carry the column."""
        if name in self._shape.key or not self._shape.takes_unsent:
            return F.lit(False)
        return (F.col("event.op") == "u") & ~self._has_new_key()

    def _list_unsent(self) -> list[Column]:
        """Lists the columns that a change does not carry, if they can be taken from the old row."""
        marks = [(name, mark) for name, mark in self._find_unavailable() if name not in self._shape.key]
        if not (marks and self._shape.takes_unsent):
            return []
        names = F.array(*(F.when(self._new[name] == mark, F.lit(name)) for name, mark in marks))
        return [F.when(~F.col(DELETED), F.array_compact(names)).alias(UNSENT)]

    def _build_changes(self) -> list[list[str | Column]]:
        """Makes one change of each record, or two if an update changed the key of its row."""
        new, old, is_deleted = self._new, self._old, F.col(DELETED)
        moved = F.col(BAD).isNull() & (F.col("event.op") == "u") & self._has_new_key()
        deletes = F.col("tombstone") | F.coalesce(F.col("event.op") == _DELETE, F.lit(False))
        steps = F.when(moved, F.array(F.lit(True), F.lit(False))).otherwise(F.array(deletes))
        kept = [column.name for column in self._positions]
        values = {name: value if name in kept else F.when(~is_deleted, value) for name, value in new.items()}
        values |= {name: F.when(is_deleted, old[name]).otherwise(new[name]) for name in self._shape.key}
        return [
            ["*", moved.alias("moved"), F.explode(steps).alias(DELETED)],
            [
                *(value.alias(name) for name, value in values.items()),
                DELETED,
                # Kafka keeps the order of a key's messages; clocks may go back, and a tombstone has no time.
                F.struct(
                    *(try_cast(F.col(name), "bigint").alias(name) for name in self._places),
                    "event.ts_ms",
                    *_read_log_position(),
                ).alias(ORDER),
                BAD,
                RAW,
                # null if the number is out of range, where `timestamp_millis` would fail
                F.timestamp_micros(F.try_multiply(F.coalesce("place.ts_ms", "event.ts_ms"), F.lit(1000))).alias(AT),
                SKIP,
                F.coalesce(F.col("moved") & is_deleted, F.lit(False)).alias(EXTRA),
                *self._list_unsent(),
            ],
        ]

    def _has_new_key(self) -> Column:
        """Tests whether an update changed the key of its row; a `before` without the key does not show it."""
        has_old_key = F.col("event.before").isNotNull()
        different = F.lit(False)
        for name in self._shape.key:
            has_old_key &= self._old[name].isNotNull()
            different |= ~self._old[name].eqNullSafe(self._new[name])
        return has_old_key & different


def _read_log_position() -> list[Column]:
    """Reads the position in the log of PostgreSQL (lsn), MySQL (file, pos, row), Oracle (scn) or SQL Server (*_lsn)."""
    numbers = [try_cast(F.col(f"place.{name}"), "decimal(38, 0)") for name in ("lsn", "pos", "scn", "event_serial_no")]
    file = F.coalesce(F.col("place.file"), F.concat("place.commit_lsn", F.lit("/"), "place.change_lsn"))
    return [file.alias("file"), F.coalesce(*numbers).alias("position"), F.col("place.row").alias("row")]


def _read_declared_types(schema: Column) -> Column:
    """Reads the types of the columns of `after` in the message's schema, such as `io.debezium.time.Date`."""
    parsed = F.from_json(schema, _SCHEMA)
    images = F.filter(parsed["fields"], lambda image: image["field"] == "after")
    columns = F.get(images, F.lit(0))["fields"]
    entries = F.transform(
        columns,
        lambda column: F.struct(
            column["field"], F.struct(column["name"].alias("name"), column["parameters"]["scale"].alias("scale"))
        ),
    )
    return F.map_from_entries(entries)
