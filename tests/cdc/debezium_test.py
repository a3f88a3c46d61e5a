"""Single events: their values, their positions in the log, and what is refused."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.cdc import Shape
from tests.support.events import event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, Row, SparkSession

DECIMAL = "org.apache.kafka.connect.data.Decimal"


def read(
    spark: SparkSession,
    columns: str,
    values: Sequence[str | None],
    reader: rd.cdc.Records | None = None,
    key: str = "id",
) -> list[Row]:
    """Events as records, in order; each value names a row by its place."""
    numbered = [(number, value) for number, value in enumerate(values)]
    frame = spark.createDataFrame(numbered, "offset bigint, value string")
    shape = Shape(spark.createDataFrame([], columns).schema, (key,))
    records = (reader or rd.cdc.Debezium()).read(frame, shape)
    return ordered(records)


def ordered(records: DataFrame) -> list[Row]:
    order = "_rd_order.offset" if "struct" in dict(records.dtypes)["_rd_order"] else "_rd_order"
    return records.orderBy(order, "_rd_deleted").collect()


def unscaled(number: int) -> str:
    size = max(1, (number.bit_length() + 8) // 8)
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


def whole(after: dict[str, Any], fields: list[dict[str, Any]], op: str = "c") -> str:
    """An event with its schema in the message."""
    schema = {"type": "struct", "fields": [{"field": "before"}, {"field": "after", "fields": fields}, {"field": "op"}]}
    return json.dumps({"schema": schema, "payload": {"op": op, "after": after, "ts_ms": 1}})


def test_decimals_come_as_text_as_numbers_and_as_bytes(spark: SparkSession) -> None:
    columns = "id bigint NOT NULL, d decimal(10,2), w decimal(38,4)"
    fields = [
        {"field": "d", "name": DECIMAL, "parameters": {"scale": "2", "connect.decimal.precision": "10"}},
        {"field": "w", "name": DECIMAL, "parameters": {"scale": "0"}},
    ]
    large = 10**30 + 1
    variable = {"scale": 3, "value": unscaled(-1500)}
    numbers = [0, 1, -1, 127, 128, -128, -129, 12345, -99_999_999_99, 99_999_999_99]
    digits = int.from_bytes(base64.b64decode("1234"), "big", signed=True)  # base64 that looks like a number
    values = [
        *(whole({"id": 1, "d": unscaled(n), "w": unscaled(n * 10**20)}, fields) for n in numbers),
        whole({"id": 1, "d": unscaled(digits), "w": unscaled(large)}, fields),
        whole({"id": 1, "d": 1234, "w": 1234}, fields),  # Kafka Connect with decimal.format=NUMERIC
        event("c", None, {"id": 1, "d": variable, "w": variable}),
        event("c", None, {"id": 1, "d": 12.5, "w": str(large)}),
        event("c", None, {"id": 1, "d": "1.250E1", "w": "-0.0001"}),
    ]
    expected = [
        *((Decimal(n).scaleb(-2), Decimal(n) * 10**20) for n in numbers),
        (Decimal(digits).scaleb(-2), Decimal(large)),
        (Decimal(1234), Decimal(1234)),
        (Decimal("-1.5"), Decimal("-1.5")),
        (Decimal("12.5"), Decimal(large)),
        (Decimal("12.5"), Decimal("-0.0001")),
    ]
    found = read(spark, columns, values)
    assert [one._rd_bad for one in found] == [None] * len(values)
    assert [(one.d, one.w) for one in found] == expected

    refused = [
        event("c", None, {"id": 1, "d": unscaled(-7)}),
        event("c", None, {"id": 1, "d": "1.234"}),
        event("c", None, {"id": 1, "w": "1.23456"}),
        event("c", None, {"id": 1, "d": "100000000.00"}),
        whole({"id": 1, "d": unscaled(10**13)}, fields),
        whole({"id": 1, "d": base64.b64encode(bytes(17)).decode()}, fields),
    ]
    reasons = [one._rd_bad for one in read(spark, columns, refused)]
    assert "column 'd' is decimal(10,2), but the value is" in reasons[0]
    assert "give decimals='base64'" in reasons[0]
    assert reasons[1:3] == [
        "column 'd' is decimal(10,2), but the value is 1.234",
        "column 'w' is decimal(38,4), but the value is 1.23456",
    ]
    assert all(reasons)
    told = read(spark, columns, [refused[0], event("c", None, {"id": 1, "d": 2.5})], rd.cdc.Debezium(decimals="base64"))
    assert [one.d for one in told] == [Decimal("-0.07"), Decimal("2.50")]
    with pytest.raises(rd.InputError, match="unknown decimals 'hex'"):
        rd.cdc.Debezium(decimals="hex")  # type: ignore[arg-type]


def test_values_inside_others_are_read_as_strictly(spark: SparkSession) -> None:
    inner = "s struct<at: timestamp, n: decimal(5,2), i: int NOT NULL>, a array<date>, m map<string, timestamp_ntz>"
    columns = f"id bigint NOT NULL, {inner}"
    good = {
        "id": 1,
        "s": {"at": 1_700_000_000_123, "n": "1.5", "i": 7},
        "a": [0, "2024-02-29", None],
        "m": {"x": "2024-02-29T03:00:00+02:00", "y": None},
    }
    reader = rd.cdc.Debezium(time_unit="millis")
    (one,) = read(spark, columns, [event("c", None, good)], reader)
    assert one._rd_bad is None
    assert str((one.s.n, one.s.i)) == "(Decimal('1.50'), 7)"
    assert [str(day) for day in one.a] == ["1970-01-01", "2024-02-29", "None"]
    assert str(one.m["x"]) == "2024-02-29 01:00:00"
    assert one.m["y"] is None
    seconds = spark.createDataFrame([one], read_schema(spark, columns)).selectExpr("unix_millis(s.at) AS at").head()
    assert seconds is not None
    assert seconds.at == 1_700_000_000_123
    bad = [
        ({**good, "s": {"at": 1, "i": 1}}, "column 's' is struct<"),  # what does 1 count?
        ({**good, "s": {"n": "1.555", "i": 1}}, '"n":"1.555"'),
        ({**good, "s": {"n": "1.5"}}, "column 's' is struct<"),
        ({**good, "s": {"i": 1, "other": 1, "more": 2}}, "the table has no column s.other, s.more"),
        ({**good, "s": None, "a": ["soon"]}, "column 'a' is array<date>"),
        ({**good, "s": None, "m": {"x": "never"}}, "column 'm' is map<string,timestamp_ntz>"),
    ]
    refused = read(spark, columns, [event("c", None, after) for after, _ in bad])
    for record, (after, reason) in zip(refused, bad, strict=True):
        assert reason in (record._rd_bad or ""), (after, record._rd_bad)


def read_schema(spark: SparkSession, columns: str) -> Any:
    """The columns of a record, which `Row` holds before those that the reader adds."""
    frame = spark.createDataFrame([(0, None)], "offset bigint, value string")
    return rd.cdc.Debezium().read(frame, Shape(spark.createDataFrame([], columns).schema, ("id",))).schema


def test_anything_but_a_single_event_is_refused_or_skipped(spark: SparkSession) -> None:
    columns = "id bigint NOT NULL, v string, b binary"
    one = event("c", None, {"id": 1})
    unsent = base64.b64encode(b"__debezium_unavailable_value").decode()
    expected: dict[str | None, str | None] = {
        one + one: "malformed JSON",
        f"{one} and more": "malformed JSON",
        f"[{one}, {one}]": "malformed JSON",
        one[:-1]: "malformed JSON",
        json.dumps({"payload": {"op": "c", "after": [{"id": 1}]}}): "there is no row in 'after'",
        json.dumps({"payload": "text"}): "malformed JSON",
        event("u", None, {"id": 1, "v": "__debezium_unavailable_value"}): "the source did not send column 'v'",
        event("u", None, {"id": 1, "b": unsent}): "the source did not send column 'b'",
        event("m", None, None): "unknown op m",
        None: None,
        "": None,
        "  ": None,
        "null": None,
        json.dumps({"schema": None, "payload": None}): None,
        f" {one} ": None,
    }
    found = read(spark, columns, list(expected))
    for record, (raw, reason) in zip(found, expected.items(), strict=True):
        assert (record._rd_bad or "").startswith(reason or ""), raw
        assert (record._rd_bad is None) == (reason is None), raw
    assert [record._rd_skip for record in found] == [False] * 9 + [True] * 5 + [False]


def test_the_log_of_each_database_orders_changes_of_one_moment(spark: SparkSession) -> None:
    logs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"lsn": 9}, {"lsn": 10}),
        ({"file": "binlog.000009", "pos": 9}, {"file": "binlog.000010", "pos": 4}),
        ({"file": "binlog.000009", "pos": 9, "row": 0}, {"file": "binlog.000009", "pos": 9, "row": 1}),
        ({"scn": "99"}, {"scn": "100"}),
        ({"commit_lsn": "0a:01:02", "change_lsn": "0a:01:01"}, {"commit_lsn": "0a:01:02", "change_lsn": "0a:01:02"}),
        (
            {"commit_lsn": "0a", "change_lsn": "0a", "event_serial_no": 1},
            {"commit_lsn": "0a", "change_lsn": "0a", "event_serial_no": 2},
        ),
    ]
    lines = [
        (json.dumps({"op": "u", "after": {"id": number, "v": text}, "ts_ms": 1, "source": place}),)
        for number, (older, newer) in enumerate(logs)
        for text, place in (("new", newer), ("old", older))
    ]
    shape = Shape(spark.createDataFrame([], "id bigint, v string").schema, ("id",))
    records = rd.cdc.Debezium().read(spark.createDataFrame(lines, "value string"), shape)
    found = [(one.id, one.v) for one in records.orderBy("id", "_rd_order").collect()]
    assert found == [(number, text) for number in range(len(logs)) for text in ("old", "new")]


def test_a_delete_is_named_by_its_message_key(spark: SparkSession) -> None:
    key = {"schema": {"type": "struct"}, "payload": {"id": 7}}
    rows = [
        (0, bytearray(b'{"id": 5}'), event("d", None, None).encode()),
        (1, bytearray(json.dumps(key).encode()), event("d", None, None).encode()),
        (2, bytearray(b'{"id": 5}'), event("d", {"id": 6}, None).encode()),
        (3, None, event("d", None, None).encode()),
    ]
    frame = spark.createDataFrame(rows, "offset bigint, key binary, value binary")
    shape = Shape(spark.createDataFrame([], "id bigint NOT NULL, v string").schema, ("id",))
    found = ordered(rd.cdc.Debezium().read(frame, shape))
    assert [one.id for one in found[:3]] == [5, 7, 6]
    assert found[3]._rd_bad == "a delete has neither 'before' nor a key"


def test_a_message_without_a_value_deletes_its_key(spark: SparkSession) -> None:
    rows = [
        (0, '{"id": 5}', None),
        (1, '{"schema": {}, "payload": {"id": 6}}', json.dumps({"schema": None, "payload": None})),
        (2, '{"other": 5}', None),
        (3, "7", None),
        (4, None, None),
    ]
    frame = spark.createDataFrame(rows, "offset bigint, key string, value string")
    shape = Shape(spark.createDataFrame([], "id bigint NOT NULL, v string NOT NULL").schema, ("id",))
    found = ordered(rd.cdc.Debezium().read(frame, shape))
    assert [one._rd_skip for one in found] == [False, False, True, True, True]
    assert [(one.id, one._rd_deleted) for one in found[:2]] == [(5, True), (6, True)]
    assert [one._rd_bad for one in found] == [None] * 5


def test_a_typed_source_keeps_microseconds_and_digits(spark: SparkSession) -> None:
    columns = "id bigint NOT NULL, ts timestamp, tn timestamp_ntz, d decimal(20,2)"
    image = (
        "named_struct('id', 1L, 'ts', timestamp_micros(-3000000000000001), "
        "'tn', timestamp_ntz'1850-01-01 00:00:00.123456', 'd', 12345678901234567.89)"
    )
    frame = spark.sql(f"SELECT 'u' op, {image} before, {image} after, 1L ts_ms")
    records = rd.cdc.Debezium().read(frame, Shape(spark.createDataFrame([], columns).schema, ("id",)))
    one = records.selectExpr("_rd_bad", "unix_micros(ts) AS ts", "string(tn) AS tn", "d").head()
    assert one is not None
    assert tuple(one) == (None, -3000000000000001, "1850-01-01 00:00:00.123456", Decimal("12345678901234567.89"))


def test_absurd_times_stop_nothing(spark: SparkSession) -> None:
    values = [event("c", None, {"id": 1}, at) for at in (2**63 - 1, -(2**63), 1_700_000_000_000)]
    found = read(spark, "id bigint NOT NULL", values)
    assert [(one._rd_at is None, one._rd_bad) for one in found] == [(True, None), (True, None), (False, None)]
    columns = [event("c", None, {"id": 1, name: -(2**63)}) for name in ("ts", "tn")]
    reader = rd.cdc.Debezium(time_unit="nanos")
    found = read(spark, "id bigint NOT NULL, ts timestamp, tn timestamp_ntz", columns, reader)
    assert [one._rd_bad[:11] for one in found] == ["column 'ts'", "column 'tn'"]


def test_decimals_that_come_as_numbers_keep_every_digit(spark: SparkSession) -> None:
    inner = "s struct<d: decimal(38,19), f: double>, a array<decimal(20,2)>, m map<string, decimal(20,2)>"
    columns = f"id bigint NOT NULL, d decimal(20,2), {inner}, f double, t string"
    long = '\\"d\\": 0.12345678901234567 ' * 5000
    after = (
        '{"id": 1, "d": 12345678901234567.89, "s": {"d": -1.2345678901234567891, "f": 0.30000000000000004}, '
        '"a": [1, 12345678901234567.89, null, "2.5", 12345678901234567.9E0], '
        '"m": {"x, 1.5": 1, "y\\"": 12345678901234567.89, "z": 1234567890123456789E-2}, '
        f'"f": 0.30000000000000004, "t": "{long}"}}'
    )
    big, other = Decimal("12345678901234567.89"), Decimal("12345678901234567.90")
    fields = [{"field": "d", "name": DECIMAL, "parameters": {"scale": "2"}}]
    schema = json.dumps({"fields": [{"field": "after", "fields": fields}]})
    values = [f'{{"op": "c", "after": {after}}}', f'{{"schema": {schema}, "payload": {{"op": "c", "after": {after}}}}}']
    found = read(spark, columns, values)
    assert [one._rd_raw for one in found] == values
    found += read(spark, columns, [after], rd.cdc.JsonRows())
    for one in found:
        assert one._rd_bad is None
        assert (one.d, one.s.d, one.s.f, one.f) == (big, Decimal("-1.2345678901234567891"), 0.1 + 0.2, 0.1 + 0.2)
        assert one.a == [Decimal(1), big, None, Decimal("2.5"), other]
        assert one.m == {"x, 1.5": Decimal(1), 'y"': big, "z": big}
        assert one.t == long.replace("\\", "")
    refused = read(spark, columns, ['{"op": "c", "after": {"id": 1, "d": 1.000000000000000001}}'])
    assert refused[0]._rd_bad == "column 'd' is decimal(20,2), but the value is 1.000000000000000001"
