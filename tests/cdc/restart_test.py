"""Restarted streams and parallel streams: each change once, and each bad record once."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.change import commit_and_refresh
from tests.support.events import EventFolder, event
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

COLUMNS = "id bigint NOT NULL, v string"
COMMIT = "rowdelta.verbs.upsert.commit_and_refresh"


class LostConnectionError(rd.RowDeltaError):
    """A failure between the quarantine and the commit."""


def test_two_streams_run_at_the_same_time_through_one_table_object(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, region string", "region", version=2)
    folders = [EventFolder(tmp_path / name) for name in ("one", "two")]
    for start, events in enumerate(folders):
        for batch in range(3):  # the keys of a stream move from one partition to the other, and back
            rows = [{"id": 2 * n + start, "region": "EU" if batch % 2 else "US"} for n in range(3)]
            events.add([event("u", None, row, batch) for row in rows])
    running = [events.start(spark, table) for events in folders]
    for stream in running:
        stream.await_termination()
    table.refresh()
    marks: dict[str, list[str]] = {stream.stream_id: [] for stream in running}
    for snapshot in table.metadata.ancestors(table.metadata.head("main")):
        marks[snapshot.summary["rowdelta.stream-id"]].append(snapshot.summary["rowdelta.batch-id"])
    assert list(marks.values()) == [["2", "1", "0"]] * 2
    assert_same_rows(table.read(), [(n, "US") for n in range(6)])


def test_a_commit_during_the_stream_does_not_carry_its_mark(
    spark: SparkSession, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'old'), (2, 'old')")
    events = EventFolder(tmp_path)
    events.add([event("c", None, {"id": 3, "v": "new"})])

    def beside(handle: Any, change: Any) -> Any:
        """Deletes a row in the middle of the batch, with the same table object, in another thread."""
        other = threading.Thread(target=lambda: table.delete("id = 1").execute())
        other.start()
        other.join()
        return commit_and_refresh(handle, change)

    monkeypatch.setattr(COMMIT, beside)
    events.run(spark, table)
    assert_same_rows(table.read(), [(2, "old"), (3, "new")])
    marks = [one.summary.get("rowdelta.batch-id") for one in table.metadata.ancestors(table.metadata.head("main"))]
    assert marks == ["0", None, None]


class Uncaught:
    """Records the errors that ended threads of the JVM."""

    class Java:
        implements = ("java.lang.Thread$UncaughtExceptionHandler",)

    def __init__(self) -> None:
        self.found: list[str] = []

    def uncaughtException(self, thread: Any, error: Any) -> None:  # noqa: N802, ARG002 - as Java calls it
        self.found.append(str(error.toString()))


@pytest.mark.strays("the batch ends in place of its commit, which would remove its files")
@pytest.mark.parametrize("fails", [False, True])
def test_a_stream_is_stopped_in_the_middle_of_a_batch(
    spark: SparkSession, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    events = EventFolder(tmp_path)
    events.add([event("c", None, {"id": 1, "v": "a"})])
    in_batch, started = threading.Event(), threading.Event()

    def late(handle: Any, change: Any) -> Any:
        in_batch.set()
        started.wait(60)
        while running.query.isActive:
            time.sleep(0.01)
        if fails:
            raise LostConnectionError("for another reason")
        spark.range(10).repartition(2).count()  # the stream's jobs are cancelled, and its thread is interrupted
        return commit_and_refresh(handle, change)

    context: Any = spark.sparkContext
    threads, uncaught = context._jvm.java.lang.Thread, Uncaught()
    before = threads.getDefaultUncaughtExceptionHandler()
    with monkeypatch.context() as patched:
        patched.setattr(COMMIT, late)
        threads.setDefaultUncaughtExceptionHandler(uncaught)
        try:
            running = events.start(spark, table)
            started.set()
            assert in_batch.wait(60)
            running.stop()
            with pytest.raises(LostConnectionError) if fails else nullcontext():
                assert running.await_termination(timeout=60)
        finally:
            threads.setDefaultUncaughtExceptionHandler(before)
    assert (running.query.exception() is not None) is fails
    assert uncaught.found == []
    assert table.refresh().metadata.head("main") is None
    events.run(spark, table)
    assert_same_rows(table.read(), [(1, "a")])


def test_a_name_with_another_checkpoint_is_refused(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    events = EventFolder(tmp_path)
    events.add([event("c", None, {"id": 1, "v": "a"})])
    assert events.run(spark, table, stream_id="orders").stream_id == "orders"
    events.add([event("c", None, {"id": 2, "v": "a"})])
    events.run(spark, table, stream_id="orders")
    events.number_of_checkpoint += 1
    with pytest.raises(rd.InputError, match="up to batch 1 with another checkpoint") as refused:
        events.run(spark, table, stream_id="orders")
    assert "another stream_id" in str(refused.value.hint)
    assert_same_rows(table.read(), [(1, "a"), (2, "a")])


@pytest.mark.strays("the batch ends in place of its commit, which would remove its files")
def test_a_bad_record_is_kept_once_whatever_becomes_of_its_batch(
    spark: SparkSession, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    quarantine = f"{table_name}_quarantine"
    events = EventFolder(tmp_path)
    twice, strange = event("x", None, {"id": 1}), event("c", None, {"id": 2, "w": 1})
    events.add([twice, twice, strange, event("c", None, {"id": 1, "v": "a"})])

    def fail(*_: object) -> None:
        raise LostConnectionError("the connection is lost")

    try:
        with monkeypatch.context() as patch:
            patch.setattr(COMMIT, fail)
            with pytest.raises(LostConnectionError):
                events.run(spark, table, on_bad="quarantine")
        assert spark.table(quarantine).count() == 3
        # Between the two runs a column is lost, so that one more record of the same batch is bad.
        spark.sql(f"ALTER TABLE {table_name} DROP COLUMN v")
        events.run(spark, table, on_bad="quarantine")
        kept = sorted((one.record, one.batch_id) for one in spark.table(quarantine).collect())
        assert [record for record, _ in kept] == sorted([twice, twice, strange, strange_now(events)])
        assert (events.progress[-1].bad, events.progress[-1].changes) == (4, 0)
        # A batch that has only bad records commits nothing, so the table has no mark of it.
        (events.folder / "checkpoint" / "commits" / "0").unlink()
        (events.folder / "checkpoint" / "commits" / ".0.crc").unlink(missing_ok=True)
        events.run(spark, table, on_bad="quarantine")
        assert not events.progress[-1].replayed
        assert spark.table(quarantine).count() == 4
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {quarantine} PURGE")


def test_a_batch_that_loses_a_race_is_retried(
    spark: SparkSession, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge sets some columns, which reads the table. Meanwhile another writer changes the same row."""
    table = create(spark, table_name, f"{COLUMNS}, w string")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'old', 'old')")
    quarantine = f"{table_name}_quarantine"
    events = EventFolder(tmp_path)
    events.add([event("u", None, {"id": 1, "v": "new"}), event("x", None, {"id": 1})])
    other = rd.table(spark, table_name)
    races = [lambda: other.update().set("w", "'other'").execute()]

    def raced(handle: Any, change: Any) -> Any:
        if handle is not other._handle and races:
            races.pop()()
        return commit_and_refresh(handle, change)

    monkeypatch.setattr("rowdelta.change.apply_change.commit_and_refresh", raced)
    try:
        events.run(spark, table, columns=["v"], on_bad="quarantine")
        assert not races
        assert_same_rows(table.refresh().read(), [(1, "new", "other")])
        assert spark.table(quarantine).count() == 1
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {quarantine} PURGE")


def strange_now(events: EventFolder) -> str:
    return (events.folder / "inbox" / "0000.json").read_text(encoding="utf-8").splitlines()[-1]


def test_a_restart_continues_to_count_towards_the_next_resolve(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    events = EventFolder(tmp_path)
    for number in range(4):
        events.add([event("c", None, {"id": number, "v": "a"})])
        events.run(spark, table, resolve_every=3)
    assert [progress.resolved for progress in events.progress] == [False, False, True, False]
    assert [progress.debt for progress in events.progress] == [1, 2, 0, 1]


def test_a_conflict_postpones_the_resolve(
    spark: SparkSession, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    events = EventFolder(tmp_path)
    for number in range(2):
        events.add([event("c", None, {"id": number, "v": "a"})])
    resolve, tries = rd.Table.resolve, []

    def busy(self: rd.Table, **options: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise rd.CommitConflictError("another writer was faster")
        return resolve(self, **options)

    monkeypatch.setattr(rd.Table, "resolve", busy)
    events.run(spark, table, resolve_every=1)
    assert [progress.resolved for progress in events.progress] == [False, True]
    assert_same_rows(spark.table(table_name), [(0, "a"), (1, "a")])


def test_a_column_that_is_added_while_the_stream_is_stopped_is_filled(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    events = EventFolder(tmp_path)
    events.add([event("c", None, {"id": 1, "v": "a"}), event("c", None, {"id": 2, "v": "a"})])

    def grow(progress: rd.cdc.BatchProgress) -> None:
        if progress.batch_id == 0:
            spark.sql(f"ALTER TABLE {table_name} ADD COLUMN amount decimal(5,2)")

    events.add([event("u", None, {"id": 1, "v": "b", "amount": 1.5}), event("d", {"id": 2}, None)])
    events.run(spark, table, progress=grow)
    assert_same_rows(table.read(), [(1, "b", Decimal("1.50"))])
    with pytest.raises(rd.InputError, match="merge_schema cannot add fields of Debezium's events"):
        events.run(spark, table, merge_schema=True)
