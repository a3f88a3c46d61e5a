"""`rd.cdc.stream()`: every change exactly once, bad ones in quarantine, and what readers of each branch see."""

from __future__ import annotations

import datetime as dt
import json
import logging
import shutil
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import pytest

import rowdelta as rd
from rowdelta.cdc.batch_marks import BatchMark, find_last_batch
from tests.support.events import EventFolder, event
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create, head, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

COLUMNS = "id bigint NOT NULL, v string, n int"
RICH = "id bigint NOT NULL, v string, amount decimal(10,2), day date, ts timestamp, tn timestamp_ntz, s struct<a: int>"


@pytest.fixture
def events(tmp_path: Path) -> EventFolder:
    return EventFolder(tmp_path)


def row(number: int, v: str | None = "a", n: int | None = 1) -> dict[str, object]:
    return {"id": number, "v": v, "n": n}


def test_batches_of_events_become_rows(spark: SparkSession, table_name: str, events: EventFolder) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    events.add([event("r", None, row(1)), event("c", None, row(2)), event("c", None, row(3), 2)])
    events.add(
        [
            event("u", row(1), row(1, "b"), 12),
            event("u", row(1), row(1, "not yet"), 11),
            event("d", {"id": 2}, None, 13),
            "null",
            event("u", {"id": 3}, row(4, "moved"), 14),
            event("u", None, row(5, None, None), 14),
        ]
    )
    running = events.run(spark, table)
    assert_same_rows(table.read(), [(1, "b", 1), (4, "moved", 1), (5, None, None)])
    assert len(table.refresh().metadata.snapshots) == 2
    first, second = events.progress
    assert (first.records, first.keys, first.rows, first.commits) == (3, 3, 3, 1)
    assert (second.records, second.skipped, second.changes, second.bad) == (6, 1, 5, 0)
    assert (second.keys, second.rows, second.debt, second.commits) == (5, 3, 8, 2)
    assert second.lag_seconds is not None
    assert second.lag_seconds > 1e9
    assert "6 records, 5 keys, 3 rows" in str(second)
    assert running.progress == events.progress
    summary = table.metadata.snapshots[second.snapshot_id or 0].summary
    assert (summary["rowdelta.stream-id"], summary["rowdelta.batch-id"]) == (running.stream_id, "1")


def test_values_are_read_as_debezium_writes_them(spark: SparkSession, table_name: str, events: EventFolder) -> None:
    table = create(spark, table_name, RICH, properties=EDV)
    types = [
        {"field": "day", "name": "io.debezium.time.Date"},
        {"field": "ts", "name": "io.debezium.time.MicroTimestamp"},
        {"field": "tn", "name": "io.debezium.time.Timestamp"},
    ]
    after = {"id": 1, "amount": "-1.50", "day": -1, "ts": -1, "tn": 1_700_000_000_123, "s": {"a": 7}}
    whole = {"schema": {"fields": [{"field": "after", "fields": types}]}, "payload": {"op": "c", "after": after}}
    texts = {"id": 2, "amount": 2.25, "day": "2024-02-29", "ts": "2024-02-29T01:02:03Z", "tn": "2024-02-29T01:02:03"}
    events.add([json.dumps(whole), event("c", None, texts), json.dumps({"schema": {}, "payload": None})])
    events.run(spark, table, tie="any")
    found = table.read().selectExpr("id", "amount", "day", "unix_micros(ts)", "cast(tn as string)", "s.a")
    expected = [
        (1, Decimal("-1.50"), dt.date(1969, 12, 31), -1, "2023-11-14 22:13:20.123", 7),
        (2, Decimal("2.25"), dt.date(2024, 2, 29), 1_709_168_523_000_000, "2024-02-29 01:02:03", None),
    ]
    assert_same_rows(found, expected)
    assert events.progress[0].skipped == 1
    events.add([event("u", None, {"id": 1, "ts": 1_700_000_000_000_000_999, "tn": -1})])
    events.run(spark, table, format=rd.cdc.Debezium(time_unit="nanos"))
    found = table.read("id = 1").selectExpr("unix_micros(ts)", "cast(tn as string)")
    assert_same_rows(found, [(1_700_000_000_000_000, "1969-12-31 23:59:59.999999")])


def test_bad_records_stop_the_stream_or_are_quarantined(
    spark: SparkSession, table_name: str, events: EventFolder, caplog: pytest.LogCaptureFixture
) -> None:
    table = create(spark, table_name, f"{COLUMNS}, ts timestamp, amount decimal(5,2) NOT NULL", properties=EDV)
    good = {**row(1), "amount": "1"}
    bad = {
        "{no json": "malformed JSON",
        "[1]": "malformed JSON|unknown op null",
        event("x", None, good): "unknown op x",
        event("t", None, None): "op t empties the table, which a stream of changes does not do",
        event("c", None, None): "there is no row in 'after'",
        event("d", None, None): "a delete has neither 'before' nor a key",
        event("d", {"v": "a"}, None): "column 'id' is null",
        event("c", None, {**good, "id": None}): "column 'id' is null",
        event("c", None, {**good, "id": "seven"}): "a value does not fit the type of its column",
        event("c", None, {**good, "ts": 5}): "what the number counts: give time_unit",
        event("c", None, {**good, "ts": "soon"}): "column 'ts' is timestamp, but the value is soon",
        event("c", None, {**good, "amount": "1.234"}): "column 'amount' is decimal(5,2), but the value is 1.234",
        event("c", None, row(3)): "column 'amount' is null",
        event("c", None, {**good, "other": 1}): "the table has no column other",
    }
    events.add([event("c", None, good), *bad])
    with caplog.at_level(logging.CRITICAL), pytest.raises(rd.InputError, match="14 bad records in the batch") as error:
        events.run(spark, table)
    assert "and 11 more" in str(error.value)
    assert "on_bad='quarantine'" in str(error.value.hint)
    assert head(table) is None
    assert stored_files(table) == set()
    quarantine = f"{table_name}_bad"
    events.run(spark, table, on_bad="quarantine", quarantine=quarantine)
    try:
        kept = {found.record: found.reason for found in spark.table(quarantine).collect()}
        assert set(kept) == set(bad)
        for record, reason in bad.items():
            assert any(part in kept[record] for part in reason.split("|")), record
        assert_same_rows(table.read().select("id", "v"), [(1, "a")])
        done = events.progress[-1]
        assert (done.records, done.changes, done.bad, done.skipped) == (15, 1, 14, 0)
        # The same batch again, as after a crash before the checkpoint: nothing is applied twice.
        shutil.rmtree(events.folder / "checkpoint" / "commits")
        stream_id = events.progress[-1].stream_id
        events.run(spark, table, on_bad="quarantine", quarantine=quarantine)
        assert events.progress[-1].replayed
        assert events.progress[-1].stream_id == stream_id
        assert spark.table(quarantine).count() == len(bad)
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {quarantine} PURGE")


def test_a_repeated_batch_is_skipped(spark: SparkSession, table_name: str, events: EventFolder) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    events.add([event("c", None, row(1))])
    events.add([event("c", None, row(2))])
    stream_id = events.run(spark, table).stream_id
    spark.sql(f"DELETE FROM {table_name} WHERE id = 99")
    snapshot = head(table)
    (events.folder / "checkpoint" / "commits" / "1").unlink()
    (events.folder / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    assert events.run(spark, table).stream_id == stream_id
    assert (events.progress[-1].batch_id, events.progress[-1].replayed) == (1, True)
    assert head(table) == snapshot
    # The mark outlives its snapshot, and goes with a rollback.
    table.resolve().execute()
    for number in range(3, 6):
        spark.sql(f"INSERT INTO {table_name} VALUES ({number}, 'x', 1)")
    spark.sql(f"CALL lake.system.expire_snapshots(table => '{table_name}', older_than => now(), retain_last => 1)")
    assert find_last_batch(table.refresh()._handle, stream_id) == BatchMark(stream_id, stream_id, 1)
    assert find_last_batch(table._handle, "another") is None


def test_two_streams_on_one_table_do_not_disturb_each_other(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    one, two = EventFolder(tmp_path / "one"), EventFolder(tmp_path / "two")
    one.add([event("c", None, row(1, "one"))])
    two.add([event("c", None, row(2, "two"))])
    one.run(spark, table)
    two.run(spark, table)
    one.add([event("u", None, row(1, "one again"))])
    one.run(spark, table)
    two.add([event("d", {"id": 2}, None), event("c", None, row(3, "two"))])
    two.run(spark, table)
    assert_same_rows(table.read(), [(1, "one again", 1), (3, "two", 1)])
    assert [p.batch_id for p in one.progress] == [p.batch_id for p in two.progress] == [0, 1]


def test_main_is_standard_between_any_two_batches(spark: SparkSession, table_name: str, events: EventFolder) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'old', 0)")
    seen: list[list[tuple[object, ...]]] = []
    for number in range(2, 7):
        events.add([event("u", None, row(1, f"v{number}")), event("c", None, row(number))])

    def look(_: object) -> None:
        spark.catalog.refreshTable(table_name)
        seen.append(sorted(tuple(one) for one in spark.table(table_name).collect()))

    events.run(spark, table, branch="ingest", publish="main", resolve_every=2, progress=look)
    expected = [  # the second and the fourth batch are published
        [(1, "old", 0)],
        [(1, "v3", 1), (2, "a", 1), (3, "a", 1)],
        [(1, "v3", 1), (2, "a", 1), (3, "a", 1)],
        [(1, "v5", 1), (2, "a", 1), (3, "a", 1), (4, "a", 1), (5, "a", 1)],
        [(1, "v5", 1), (2, "a", 1), (3, "a", 1), (4, "a", 1), (5, "a", 1)],
    ]
    assert seen == expected
    spark.catalog.refreshTable(table_name)
    final = [(1, "v6", 1), *((number, "a", 1) for number in range(2, 7))]
    assert_same_rows(spark.table(table_name), final)
    assert_same_rows(rd.table(spark, table_name, "ingest").read(), final)
    with pytest.raises(rd.InputError, match="the stream writes to 'main' itself"):
        events.run(spark, table, publish="main")


def test_a_debt_that_grows_too_large_is_resolved(spark: SparkSession, table_name: str, events: EventFolder) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    for number in range(3):
        events.add([event("c", None, row(number)), event("c", None, row(100 + number))])
    events.run(spark, table, max_debt=4)
    assert [progress.resolved for progress in events.progress] == [False, True, False]
    assert [progress.debt for progress in events.progress] == [2, 0, 2]
    assert table.read().count() == 6
    with pytest.raises(rd.InputError, match="resolve_every=0"):
        events.run(spark, table, resolve_every=0)


def test_a_failed_batch_raises_an_error_of_rowdelta(
    spark: SparkSession, table_name: str, events: EventFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, v string", properties=EDV)
    events.add(["no"])
    source = spark.readStream.text(str(events.folder / "inbox"))

    def fail(*_: object, **__: object) -> None:
        raise ValueError("a fault of our own")

    good = source.selectExpr("1L id", "value v")
    with monkeypatch.context() as patch:
        patch.setattr("rowdelta.cdc.running_stream.apply_batch", fail)
        running = rd.cdc.stream(good, table, "id").start(str(events.folder / "fault"), available_now=True)
        with pytest.raises(rd.RowDeltaError, match="a batch failed: ValueError: a fault of our own"):
            running.await_termination()
        patch.setattr("rowdelta.cdc.running_stream.apply_batch", lambda *_, **__: spark.table("lake.db.nowhere"))
        running = rd.cdc.stream(good, table, "id").start(str(events.folder / "fault"), available_now=True)
        with pytest.raises(rd.InputError, match="TABLE_OR_VIEW_NOT_FOUND"):
            running.await_termination()
    (events.folder / "broken" / "offsets").mkdir(parents=True)
    (events.folder / "broken" / "offsets" / "0").write_text("no offsets")
    with pytest.raises(rd.RowDeltaError) as found:
        rd.cdc.stream(good, table, "id").start(str(events.folder / "broken"), available_now=True).await_termination()
    assert "offset" in str(found.value)


def test_rows_with_an_op_column_are_taken(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    schema = "id bigint, v string, n int, op string, seq int, at timestamp"
    inbox = tmp_path / "inbox"
    rows = "(1, 'a', 1, 'I', 1), (1, 'b', 2, 'U', 2), (2, 'x', 1, 'i', 1), (2, null, null, 'D', 2), (3, 'c', 3, 'u', 1)"
    spark.sql(f"SELECT *, now() at FROM VALUES {rows} AS t(id, v, n, op, seq)").write.parquet(str(inbox))
    source = spark.readStream.schema(schema).parquet(str(inbox))
    progress: list[rd.cdc.BatchProgress] = []
    plain = rd.cdc.OpColumn(op="op", at="at")
    stream = rd.cdc.stream(source, table, "id", ["seq"], format=plain, progress=progress.append)
    stream.start(str(tmp_path / "checkpoint"), available_now=True).await_termination()
    assert_same_rows(table.read(), [(1, "b", 2), (3, "c", 3)])
    assert 0 <= (progress[0].lag_seconds or -1) < 600
    other = rd.cdc.stream(source, table, "id", "seq", format=rd.cdc.OpColumn(op="op", deletes=("x",), at="at"))
    with pytest.raises(rd.InputError, match="unknown op D"):
        other.start(str(tmp_path / "other"), available_now=True).await_termination()
    when = rd.cdc.stream(source.drop("at"), table, "id", "seq", delete_when="lower(op) <> 'u'")
    when.start(str(tmp_path / "when"), available_now=True).await_termination()
    assert_same_rows(table.read(), [(1, "b", 2), (3, "c", 3)])


def test_events_are_kept_to_partitions_where_the_key_tells_them(
    spark: SparkSession, table_name: str, events: EventFolder
) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, region string", "region")
    events.add([event("c", None, {"id": number, "region": "EU"}) for number in (1, 2)])
    events.add([event("d", {"id": 1, "region": "EU"}, None, 2)])
    with pytest.raises(rd.InputError, match=r"does not determine the partition: .* is partitioned by region"):
        events.run(spark, table, scope="partition")
    source = spark.readStream.option("maxFilesPerTrigger", 1).text(str(events.folder / "inbox"))
    stream = rd.cdc.stream(source, table, ["region", "id"], format="debezium", scope="partition")
    stream.start(events.checkpoint, available_now=True).await_termination()
    assert_same_rows(table.read(), [(2, "EU")])


def test_kafkas_order_counts_whatever_clocks_say(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'a', 2), (3, 'a', 3)")
    messages = [
        ('{"id": 1}', None),
        (None, None),
        ('{"id": 2}', event("d", None, None)),
        ('{"id": 2}', None),
        ('{"id": 2}', event("c", None, row(2, "again"), 2)),
        ('{"id": 3}', event("u", None, row(3, "new"), 9)),
        ('{"id": 3}', None),
        ('{"id": 4}', event("c", None, row(4, "old"), 9)),
        ('{"id": 4}', event("u", None, row(4, "new"), 3)),
    ]
    frame = spark.createDataFrame(
        [(*message, n) for n, message in enumerate(messages)], "key string, value string, offset int"
    )
    frame.coalesce(1).write.parquet(str(tmp_path / "inbox"))
    source = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "inbox"))
    progress: list[rd.cdc.BatchProgress] = []
    stream = rd.cdc.stream(source, table, "id", format="debezium", progress=progress.append)
    stream.start(str(tmp_path / "checkpoint"), available_now=True).await_termination()
    assert_same_rows(table.read(), [(2, "again", 1), (4, "new", 1)])
    assert (progress[0].records, progress[0].changes, progress[0].skipped, progress[0].bad) == (9, 8, 1, 0)


def test_a_delta_change_feed_is_followed(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    name = f"delta.`{tmp_path / 'delta'}`"
    properties = "TBLPROPERTIES ('delta.enableChangeDataFeed'='true', 'delta.enableDeletionVectors'='true')"
    spark.sql(f"CREATE TABLE {name} (id bigint, v string, n int) USING delta {properties}")
    for statement in (
        f"INSERT INTO {name} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4)",
        f"UPDATE {name} SET v = 'B', n = n * 10 WHERE id = 2",
        f"DELETE FROM {name} WHERE id = 3",
        f"UPDATE {name} SET id = 5 WHERE id = 4",
        f"MERGE INTO {name} t USING (SELECT 1L id, 'm' v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v",
    ):
        spark.sql(statement)
    source = spark.readStream.option("readChangeFeed", "true").option("startingVersion", 0).format("delta")
    stream = rd.cdc.stream(source.load(str(tmp_path / "delta")), table, "id", format="delta")
    stream.start(str(tmp_path / "checkpoint"), available_now=True).await_termination()
    assert_same_rows(table.read(), [(1, "m", 1), (2, "B", 20), (5, "d", 4)])
    assert_same_rows(table.read(), spark.table(name))


def test_what_cannot_be_streamed_is_refused(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS)
    source = spark.readStream.text(str(tmp_path))
    refused: dict[str, Callable[[], object]] = {
        "the source is not a streaming DataFrame": lambda: rd.cdc.stream(spark.range(1), table, "id"),
        "no column 'idd'": lambda: rd.cdc.stream(source, table, "idd"),
        "the source must be a DataFrame of Spark, not list": lambda: rd.cdc.stream(cast("Any", []), table, "id"),
        "unknown format 'avro'": lambda: rd.cdc.stream(source, table, "id", format="avro"),  # type: ignore[arg-type]
        "unknown on_bad 'drop'": lambda: rd.cdc.stream(source, table, "id", on_bad="drop"),  # type: ignore[arg-type]
        "unknown time_unit 'days'": lambda: rd.cdc.Debezium(time_unit="days"),  # type: ignore[arg-type]
        "the format has its own order": lambda: rd.cdc.stream(source, table, "id", "n", format="debezium"),
        "remove order_by": lambda: rd.cdc.stream(source, table, "id", "n", format=rd.cdc.DeltaFeed()),
    }
    for message, call in refused.items():
        with pytest.raises(rd.InputError, match=message):
            call()
