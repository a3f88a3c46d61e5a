"""Upserts that look rows up, beside another writer: only what changed is read again, and no row is lost."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.change import target_snapshot
from rowdelta.iceberg import stage_rows
from rowdelta.iceberg.vector_manifests import VectorManifests
from tests.support.oracle import assert_same_rows
from tests.support.races import FasterWriter, assert_no_stray_files
from tests.support.tables import create, head, make_frame, one_file, stored_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.change import Target

COLUMNS = "id bigint, v string"


def make(spark: SparkSession, name: str, version: int, properties: dict[str, str] | None = None) -> rd.Table:
    """Ids 0 to 9 in two files."""
    table = create(
        spark, name, COLUMNS, version=version, properties={"write.upsert.resolve": "true", **(properties or {})}
    )
    for start in (0, 5):
        one_file(spark, [(number, "old") for number in range(start, start + 5)], COLUMNS).writeTo(name).append()
    return table.refresh()


def rows(spark: SparkSession, *some: tuple[int, str]) -> DataFrame:
    return make_frame(spark, some, COLUMNS)


def watch_reads(monkeypatch: pytest.MonkeyPatch) -> list[set[str] | None]:
    """Records which data files each lookup reads; None for all."""
    reads: list[set[str] | None] = []
    original = target_snapshot.Target.read_rows

    def read_rows(self: Target, alias: str | None = None, **options: Any) -> DataFrame:
        only = options.get("only")
        reads.append(None if only is None else set(only))
        return original(self, alias, **options)

    monkeypatch.setattr(target_snapshot.Target, "read_rows", read_rows)
    return reads


# What the other writer does, how many files are read again, and whether rows with ids must be written again.
OTHERS: dict[str, tuple[str, int, bool]] = {
    "appends another key": ("INSERT INTO {t} VALUES (15, 'other')", 1, False),
    "inserts the same key": ("INSERT INTO {t} VALUES (20, 'other')", 1, True),
    "updates the same key": ("UPDATE {t} SET v = 'other' WHERE id = 1", 1, False),
    "deletes the same key": ("DELETE FROM {t} WHERE id = 1", 0, True),
    "deletes in the same file": ("DELETE FROM {t} WHERE id = 3", 0, False),
    "moves the row to another key": ("UPDATE {t} SET id = 4 WHERE id = 1", 1, True),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("version", [2, 3])
def test_an_upsert_that_lost_a_race_reads_only_what_changed(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, *, version: int, other: str
) -> None:
    statement, reread, depends = OTHERS[other]
    modes = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
    table = make(spark, table_name, version, modes)
    reads, staged = watch_reads(monkeypatch), count_staged(monkeypatch)
    race = FasterWriter(monkeypatch, lambda: spark.sql(statement.format(t=table_name)))
    table.upsert(rows(spark, (1, "new"), (20, "new")), "id").execute()
    assert race.left == 0
    gone = {"deletes in the same file": 3}.get(other)
    expected = [(number, "old") for number in range(10) if number not in {1, gone}] + [(1, "new"), (20, "new")]
    expected += {"appends another key": [(15, "other")], "moves the row to another key": [(4, "old")]}.get(other, [])
    assert_same_rows(table.read(), expected)
    assert_same_rows(spark.table(table_name), expected)
    assert [len(files or ()) for files in reads] == [reread]
    assert len(staged) == (2 if depends and version == 3 else 1)
    if version == 3:
        ids = [one[0] for one in spark.sql(f"SELECT _row_id FROM {table_name}").collect()]
        assert len(set(ids)) == len(ids)
    assert_no_stray_files(table)


def count_staged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records an item each time that new rows are written."""
    staged: list[int] = []

    def count_and_stage(*arguments: Any) -> Any:
        staged.append(1)
        return stage_rows(*arguments)

    monkeypatch.setattr("rowdelta.verbs.resolving_upsert.stage_rows", count_and_stage)
    return staged


def test_a_late_change_is_ignored_even_if_the_newer_row_comes_during_the_upsert(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "id bigint, v string, lsn bigint"
    table = create(spark, table_name, columns)
    one_file(spark, [(1, "old", 1), (2, "old", 1)], columns).writeTo(table_name).append()
    newer = make_frame(spark, [(1, "newer", 9)], columns)
    other = rd.table(spark, table_name)
    FasterWriter(monkeypatch, lambda: other.upsert(newer, "id", order_by="lsn", keep_newer=True).execute())
    late = make_frame(spark, [(1, "late", 5), (2, "new", 5)], columns)
    result = table.upsert(late, "id", order_by="lsn", keep_newer=True).execute()
    assert (result.changes_ignored, result.rows_updated) == (1, 1)
    assert_same_rows(spark.table(table_name), [(1, "newer", 9), (2, "new", 5)])
    assert_no_stray_files(table)


def test_a_changed_schema_is_a_conflict(spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(spark, table_name, 3)

    def change() -> None:
        spark.sql(f"ALTER TABLE {table_name} ADD COLUMN extra int")
        spark.sql(f"INSERT INTO {table_name} VALUES (1, 'other', 1)")

    FasterWriter(monkeypatch, change)
    with pytest.raises(rd.CommitConflictError):
        table.upsert(rows(spark, (1, "new")), "id").execute()
    assert_no_stray_files(table)
    table.upsert(rows(spark, (1, "new")), "id").execute()
    expected = [(number, "old", None) for number in range(10) if number != 1] + [(1, "new", None)]
    assert_same_rows(spark.table(table_name), expected)


def test_a_writer_that_is_faster_every_time_wins(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(spark, table_name, 3, {"commit.retry.num-retries": "1", "commit.retry.min-wait-ms": "1"})
    insert = f"INSERT INTO {table_name} VALUES (1, 'other')"
    race = FasterWriter(monkeypatch, lambda: spark.sql(insert), times=9)
    with pytest.raises(rd.CommitConflictError):
        table.upsert(rows(spark, (1, "new")), "id").execute()
    assert race.left == 7
    assert_no_stray_files(table)


def test_writers_in_threads_leave_one_row_for_each_key(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, 3, {"commit.retry.num-retries": "20", "commit.retry.min-wait-ms": "5"})
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        table = rd.table(spark, table_name)
        try:
            for turn in range(3):
                batch = rows(spark, *((number, f"{writer}.{turn}") for number in (writer, 5, 30 + turn)))
                table.upsert(batch, "id").execute()
        except BaseException as error:  # noqa: BLE001 - the main thread shows it
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    found: dict[int, str] = dict(spark.table(table_name).collect())
    assert spark.table(table_name).count() == len(found) == 13
    assert {number: found[number] for number in range(3)} == {number: f"{number}.2" for number in range(3)}
    assert found[5].endswith(".2")
    assert_no_stray_files(rd.table(spark, table_name))


@pytest.mark.parametrize("version", [2, 3])
def test_a_failure_leaves_no_files(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    table = make(spark, table_name, version)
    snapshot, files = head(table), stored_files(table)

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("rowdelta.merge.key_replacement.write_positions", fail)
    with pytest.raises(OSError, match="disk full"):
        table.upsert(rows(spark, (1, "new")), "id").execute()
    monkeypatch.undo()
    monkeypatch.setattr(VectorManifests, "complete", fail)
    with pytest.raises(OSError, match="disk full"):
        table.upsert(rows(spark, (1, "new")), "id").execute()
    assert (head(table), stored_files(table)) == (snapshot, files)
