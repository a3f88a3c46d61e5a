"""How a stream writes its deletes, and streams whose changes arrive in any order."""

from __future__ import annotations

import base64
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.cdc import Shape
from tests.support.events import EventFolder, event
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create, head

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, Row, SparkSession

    from rowdelta.cdc import BatchProgress

COLUMNS = "id bigint NOT NULL, v string"
ORDERED = f"{COLUMNS}, lsn bigint, is_deleted boolean"


@pytest.fixture
def events(tmp_path: Path) -> EventFolder:
    return EventFolder(tmp_path)


def create_by_default(spark: SparkSession, name: str, columns: str, **options: Any) -> rd.Table:
    """Creates a table without a property that chooses how deletes by key are written."""
    table = create(spark, name, columns, **options)
    spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('write.upsert.resolve')")
    return table.refresh()


def contents(table: rd.Table) -> set[str]:
    return {row.content for row in table.refresh().delete_files().collect()}


def counts(progress: BatchProgress) -> tuple[int | None, ...]:
    return progress.inserted, progress.updated, progress.deleted, progress.ignored


def test_a_batch_without_a_good_change_commits_nothing(
    spark: SparkSession, table_name: str, events: EventFolder
) -> None:
    table = create_by_default(spark, table_name, COLUMNS)
    events.add(["null", "null"])
    events.add(["{broken"])
    events.add([event("d", {"id": 7}, None)])
    events.run(spark, table, on_bad="quarantine")
    try:
        assert [(one.records, one.skipped, one.bad, one.keys) for one in events.progress] == [
            (2, 2, 0, 0),
            (1, 0, 1, 0),
            (1, 0, 0, 1),
        ]
        assert head(table) is None
        assert spark.table(f"{table_name}_quarantine").count() == 1
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {table_name}_quarantine PURGE")


@pytest.mark.parametrize("version", [2, 3])
def test_by_default_every_engine_reads_the_table_of_a_stream(
    spark: SparkSession, table_name: str, events: EventFolder, version: int
) -> None:
    table = create_by_default(spark, table_name, COLUMNS, version=version)
    events.add([event("c", None, {"id": number, "v": "a"}) for number in range(4)])
    events.add(
        [
            event("u", None, {"id": 1, "v": "b"}, 2),
            event("d", {"id": 2}, None, 3),
            event("d", {"id": 9}, None, 3),
            event("u", {"id": 3}, {"id": 5, "v": "moved"}, 4),
        ]
    )
    events.run(spark, table)
    expected = [(0, "a"), (1, "b"), (5, "moved")]
    assert_same_rows(spark.table(table_name), expected)
    assert contents(table) == {"position"}
    first, second = events.progress
    assert (counts(first), first.debt) == ((4, 0, 0, 0), 0)
    assert (counts(second), second.debt) == ((1, 1, 2, 0), 0)
    events.add([event("u", None, {"id": 5, "v": "key"}, 5)])
    events.run(spark, table, resolve=False)
    assert (counts(events.progress[-1]), events.progress[-1].debt) == ((None, None, None, 0), 1)
    assert contents(table) == {"position", "equality"}
    assert_same_rows(table.read(), [*expected[:2], (5, "key")])


def test_a_table_with_equality_delete_vectors_gets_them_unless_the_stream_resolves(
    spark: SparkSession, table_name: str, events: EventFolder
) -> None:
    table = create_by_default(spark, table_name, COLUMNS, properties=EDV)
    events.add([event("c", None, {"id": 1, "v": "a"})])
    events.run(spark, table)
    assert contents(table) == {"equality"}
    table.resolve().execute()
    events.add([event("u", None, {"id": 1, "v": "b"})])
    events.run(spark, table, resolve=True)
    assert contents(table) <= {"position"}
    assert_same_rows(spark.table(table_name), [(1, "b")])


# The changes of a database, oldest first: (lsn, id, value); a delete has no value.
CHANGES = [(n, n * 5 % 4, None if n % 3 == 2 else f"v{n}") for n in range(1, 25)]


def find_last_rows() -> list[tuple[Any, ...]]:
    last = {number: (number, value, lsn, value is None) for lsn, number, value in CHANGES}
    return sorted(last.values())


def write_debezium(lsn: int, number: int, value: str | None) -> str:
    row = {"id": number, "v": value}
    return event("d", {"id": number}, None, lsn) if value is None else event("u", None, row, lsn)


def write_row(lsn: int, number: int, value: str | None) -> str:
    return json.dumps({"id": number, "v": value, "lsn": lsn, "op": "D" if value is None else "U"})


FORMATS: dict[str, tuple[rd.cdc.Records, Callable[[int, int, str | None], str]]] = {
    "debezium": (rd.cdc.Debezium(), write_debezium),
    "json": (rd.cdc.JsonRows(op="op"), write_row),
    "op": (rd.cdc.OpColumn(op="op"), write_row),
}


@pytest.mark.parametrize("name", list(FORMATS))
def test_changes_in_any_order_and_any_batches_give_the_same_table(
    spark: SparkSession, table_name: str, events: EventFolder, name: str
) -> None:
    table = create_by_default(spark, table_name, ORDERED)
    reader, write = FORMATS[name]
    shuffled = random.Random(f"{name} 1").sample(CHANGES, len(CHANGES))
    for start in range(0, len(shuffled), 8):
        events.add(write(*change) for change in shuffled[start : start + 8])
    events.add(write(*change) for change in shuffled[:5])  # delivered again
    source = spark.readStream.option("maxFilesPerTrigger", 1).text(str(events.folder / "inbox"))
    if name == "op":
        source = source.selectExpr("from_json(value, 'id bigint, v string, lsn bigint, op string') AS row").select(
            "row.*"
        )
    stream = rd.cdc.stream(
        source,
        table,
        "id",
        "lsn",
        format=reader,
        keep_newer=True,
        tombstones="keep",
        progress=events.progress.append,
    )
    stream.start(events.checkpoint, available_now=True).await_termination()
    found = spark.table(table_name).selectExpr("id", "v", "lsn", "coalesce(is_deleted, false)")
    assert_same_rows(found, find_last_rows())
    assert len(events.progress) == 4
    again = events.progress[-1]
    assert (again.ignored, again.rows, again.snapshot_id) == (again.keys, 0, None)
    assert f"{again.ignored} ignored" in str(again)


def test_a_late_change_brings_a_deleted_row_back_unless_tombstones_are_kept(
    spark: SparkSession, table_name: str, events: EventFolder
) -> None:
    table = create_by_default(spark, table_name, ORDERED)
    events.add([event("c", None, {"id": number, "v": "a"}, 1) for number in (1, 2)])
    events.add([event("d", {"id": 1}, None, 5), event("u", None, {"id": 2, "v": "newer"}, 5)])
    events.add([event("u", None, {"id": number, "v": "late"}, 3) for number in (1, 2)])
    events.run(spark, table, order_by="lsn", keep_newer=True)
    assert_same_rows(table.read().select("id", "v", "lsn"), [(1, "late", 3), (2, "newer", 5)])
    assert [counts(batch) for batch in events.progress] == [(2, 0, 0, 0), (0, 1, 1, 0), (1, 0, 0, 1)]


def test_a_repeated_batch_changes_nothing_after_a_restart_or_with_a_new_checkpoint(
    spark: SparkSession, table_name: str, events: EventFolder
) -> None:
    table = create_by_default(spark, table_name, ORDERED)
    options: dict[str, Any] = {"order_by": "lsn", "keep_newer": True, "tombstones": "keep"}
    events.add([event("c", None, {"id": 1, "v": "a"}, 1), event("c", None, {"id": 2, "v": "a"}, 2)])
    events.add([event("d", {"id": 1}, None, 4)])
    events.run(spark, table, **options)
    before = head(table)
    for name in ("1", ".1.crc"):
        (events.folder / "checkpoint" / "commits" / name).unlink(missing_ok=True)
    events.run(spark, table, **options)
    assert events.progress[-1].replayed
    events.number_of_checkpoint = 1
    events.run(spark, table, **options)
    assert [batch.ignored for batch in events.progress[-2:]] == [2, 1]
    assert head(table) == before
    assert_same_rows(table.read("NOT is_deleted").select("id", "v"), [(2, "a")])


def test_wrong_arguments_fail_before_the_first_batch(
    spark: SparkSession, table_name: str, events: EventFolder, tmp_path: Path
) -> None:
    table = create_by_default(spark, table_name, f"{ORDERED}, x double")
    events.add([])
    source = spark.readStream.text(str(tmp_path / "inbox"))
    newer: dict[str, Any] = {"format": "debezium", "keep_newer": True}
    for arguments, message in (
        ({"keep_newer": True}, "order_by is missing"),
        (newer, "order_by is missing"),
        ({**newer, "order_by": "nothing"}, "nothing is not one"),
        ({**newer, "order_by": "x"}, "column 'x' is double, which does not keep source.x"),
        ({**newer, "order_by": "lsn", "resolve": False}, "keep_newer=True needs the rows of the table"),
        ({**newer, "order_by": "lsn", "encoding": "full-row"}, "keep_newer=True deletes rows by position"),
        ({**newer, "order_by": "lsn", "tombstones": "keep", "tombstone_column": "gone"}, "needs a boolean column"),
        ({**newer, "order_by": "lsn", "columns": ["v"]}, "keep_newer=True replaces whole rows"),
        ({"tombstones": "keep"}, "without keep_newer=True"),
        ({"tombstones": "some"}, "unknown tombstones 'some'"),
        ({"format": "delta", "keep_newer": True, "order_by": "lsn"}, "nothing to compare"),
        ({"format": "debezium", "order_by": "lsn"}, "has its own order"),
        ({"format": rd.cdc.Debezium(position={"seq": "ts_ms"})}, "no column 'seq' to keep a position in"),
        ({"format": rd.cdc.Debezium(position={"lsn": "offset"})}, "no column 'offset', which column 'lsn'"),
    ):
        with pytest.raises(rd.InputError, match=message):
            rd.cdc.stream(source, table, "id", **arguments)
    with pytest.raises(rd.InputError, match="no position 'lsn'"):
        rd.cdc.Debezium(position={"lsn": "lsn"})


def read(spark: SparkSession, reader: rd.cdc.Records, frame: DataFrame, columns: str, *order: str) -> list[Row]:
    shape = Shape(spark.createDataFrame([], columns).schema, ("id",), order=order)
    return reader.read(frame, shape).collect()


def test_positions_of_events_are_kept_in_columns(spark: SparkSession) -> None:
    source = {"file": "binlog.000007", "pos": 12345, "row": 1, "ts_ms": 1500}
    after = {"op": "u", "after": {"id": 1}, "source": source, "ts_ms": 2500}
    delete = {"op": "d", "before": {"id": 1}, "source": {**source, "pos": "x"}, "ts_ms": 2500}
    both = {"op": "u", "after": {"id": 1, "POS": 3}, "source": source}
    rows = [(7, json.dumps(one)) for one in (after, delete, both)]
    frame = spark.createDataFrame(rows, "offset bigint, value string")
    columns = "id bigint, log_file string, POS bigint, at timestamp, seq decimal(20, 0), ms bigint"
    position = {"LOG_FILE": "source.file", "pos": "source.pos", "at": "source.ts_ms", "seq": "offset", "ms": "ts_ms"}
    first, second, third = read(spark, rd.cdc.Debezium(position=position), frame, columns)
    assert (first.log_file, first.POS, first.at.timestamp(), first.seq, first.ms) == (
        "binlog.000007",
        12345,
        1.5,
        7,
        2500,
    )
    assert (first._rd_bad, second.log_file, second.POS) == (None, "binlog.000007", None)
    assert second._rd_bad == "source.pos does not fit column 'POS', which is bigint: x"
    assert third._rd_bad == "the row has a field 'POS', and the column with that name keeps source.pos"


def test_a_message_without_a_position_is_skipped_or_bad(
    spark: SparkSession, table_name: str, events: EventFolder
) -> None:
    key = json.dumps({"id": 1})
    frame = spark.createDataFrame([(key, None)], "key string, value string")
    columns = "id bigint, lsn bigint"
    (tombstone,) = read(spark, rd.cdc.Debezium(), frame, columns)
    assert (tombstone._rd_skip, tombstone._rd_deleted, tombstone.id) == (False, True, 1)
    (tombstone,) = read(spark, rd.cdc.Debezium(), frame, columns, "lsn")
    assert tombstone._rd_skip
    table = create_by_default(spark, table_name, ORDERED)
    events.add([json.dumps({"op": "c", "after": {"id": 1}}), event("c", None, {"id": 2, "v": "a"}, 1), "null"])
    with pytest.raises(rd.InputError, match="lsn is null, so the change cannot be compared"):
        events.run(spark, table, order_by="lsn", keep_newer=True)
    assert head(table) is None


def test_values_that_postgresql_does_not_send_are_taken_from_the_old_row(
    spark: SparkSession, table_name: str, events: EventFolder
) -> None:
    table = create_by_default(spark, table_name, f"{COLUMNS}, large string, b binary")
    mark = "__debezium_unavailable_value"
    encoded = base64.b64encode(mark.encode()).decode()
    events.add(
        [event("c", None, {"id": number, "v": "a", "large": f"text {number}", "b": "AQI="}) for number in (1, 2)]
    )
    events.add(
        [
            event("u", None, {"id": 1, "v": "b", "large": mark, "b": encoded}, 2),
            event("u", None, {"id": 2, "v": "b", "large": "new", "b": "AQI="}, 2),
            event("u", None, {"id": 2, "v": "c", "large": mark, "b": None}, 3),
            event("c", None, {"id": 3, "v": "a", "large": mark}, 4),
            event("u", {"id": 1}, {"id": 4, "v": "a", "large": mark}, 5),
        ]
    )
    events.run(spark, table, on_bad="quarantine")
    try:
        found = spark.table(table_name).selectExpr("id", "v", "large", "hex(b)")
        assert_same_rows(found, [(1, "b", "text 1", "0102"), (2, "c", "new", None)])
        assert counts(events.progress[-1]) == (0, 2, 0, 0)
        bad = spark.table(f"{table_name}_quarantine").collect()
        assert [row.reason.partition(",")[0] for row in bad] == ["the source did not send column 'large'"] * 2
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {table_name}_quarantine PURGE")
