"""A stream that expires old snapshots: the history stays short, and every batch is still applied once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.events import EventFolder, event
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create, set_properties, stored_files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

COLUMNS = "id bigint NOT NULL, v string"
SHORT = {**EDV, "history.expire.max-snapshot-age-ms": "1"}


def filled(folder: Path, batches: int) -> EventFolder:
    events = EventFolder(folder)
    for number in range(batches):
        events.add([event("c", None, {"id": number, "v": "a"}), event("u", None, {"id": 0, "v": f"v{number}"}, 2)])
    return events


def test_old_snapshots_expire_and_a_repeated_batch_is_recognised(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, COLUMNS, properties=SHORT)
    spark.sql(f"INSERT INTO {table_name} VALUES (100, 'old')")
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG kept")
    events = filled(tmp_path, 5)
    events.run(spark, table, resolve_every=3, expire_every=4)
    # Sequence numbers: 1 is the insert; the third batch makes 4, its resolve 5; the fifth batch makes 7.
    assert [progress.expired for progress in events.progress] == [0, 0, 3, 0, 0]
    assert "3 snapshots expired" in str(events.progress[2])
    expected = [(0, "v4"), *((number, "a") for number in range(1, 5)), (100, "old")]
    assert_same_rows(table.refresh().read(), expected)
    assert_same_rows(table.read(tag="kept"), [(100, "old")])
    before = stored_files(table)
    last = table.expire().execute()
    assert last.snapshots_expired == 2
    assert before - stored_files(table)
    # No snapshot has the mark of a batch any more, and Spark does not know that the last one was done.
    table.resolve().execute()
    table.expire().execute()
    snapshots = table.refresh().metadata.snapshots.values()
    assert {snapshot.summary.get("rowdelta.batch-id") for snapshot in snapshots} == {None}
    for name in ("4", ".4.crc"):
        (tmp_path / "checkpoint" / "commits" / name).unlink()
    events.add([event("c", None, {"id": 7, "v": "a"})])
    events.run(spark, table, expire_every=1)
    assert [progress.replayed for progress in events.progress[5:]] == [True, False]
    assert_same_rows(table.refresh().read(), [*expected, (7, "a")])


def test_expired_history_does_not_postpone_the_next_resolve(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, COLUMNS, properties=SHORT)
    events = filled(tmp_path, 3)
    events.run(spark, table, resolve_every=10, expire_every=1)
    # The third batch does not see the first any more: how many there were since the last resolve is not known.
    assert [progress.resolved for progress in events.progress] == [False, False, True]


def test_what_waits_to_be_published_is_not_expired(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS, properties=SHORT)
    spark.sql(f"INSERT INTO {table_name} VALUES (100, 'old')")
    events = filled(tmp_path, 5)
    events.run(spark, table, branch="ingest", publish="main", resolve_every=2, expire_every=1)
    assert [progress.resolved for progress in events.progress] == [False, True, False, True, False]
    assert [progress.expired > 0 for progress in events.progress] == [False, True, False, True, False]
    assert_same_rows(spark.table(table_name), [(0, "v4"), *((number, "a") for number in range(1, 5)), (100, "old")])


def test_commits_of_others_count_too(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """The stream's own commits never have an even number."""
    table = create(spark, table_name, COLUMNS, properties=SHORT)

    expired: list[int] = []

    def other(progress: rd.cdc.BatchProgress) -> None:
        expired.append(progress.expired)
        spark.sql(f"INSERT INTO {table_name} VALUES ({100 + progress.batch_id}, 'other')")

    filled(tmp_path, 3).run(spark, table, expire_every=2, progress=other)
    assert expired == [0, 2, 2]
    expected = [(0, "v2"), (1, "a"), (2, "a"), *((100 + number, "other") for number in range(3))]
    assert_same_rows(table.refresh().read(), expected)


def test_a_stream_that_is_refused_leaves_no_branch(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS, properties=SHORT)
    with pytest.raises(rd.InputError, match="is not a positive number"):
        filled(tmp_path, 1).run(spark, table, branch="ingest", expire_every=0)
    with pytest.raises(rd.InputError, match="is not a positive number"):
        filled(tmp_path, 1).run(spark, table, branch="ingest", resolve_every=0)
    assert set(table.refresh().metadata.branches) <= {"main"}


def test_wrong_numbers_and_tables_that_keep_all_files_are_refused(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, COLUMNS, properties=SHORT)
    events = filled(tmp_path, 1)
    with pytest.raises(rd.InputError, match="expire_every=0 is not a positive number"):
        events.run(spark, table, expire_every=0)
    set_properties(spark, table_name, gc_enabled="false")
    with pytest.raises(rd.TableError, match=r"gc\.enabled is 'false'"):
        events.run(spark, table, expire_every=1)
    assert table.refresh().metadata.head("main") is None
    # Set while the stream runs, it stops the expiry and not the stream.
    set_properties(spark, table_name, gc_enabled="true")

    def keep(_: object) -> None:
        set_properties(spark, table_name, gc_enabled="false")

    events.add([event("c", None, {"id": 9, "v": "b"})])
    events.run(spark, table, expire_every=2, progress=keep)
    assert_same_rows(table.refresh().read(), [(0, "v0"), (9, "b")])
    set_properties(spark, table_name, gc_enabled="true")  # or it could not be dropped
