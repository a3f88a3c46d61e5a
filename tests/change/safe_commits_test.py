"""A commit must never lose its own files, nor the concurrent deletes of other writers."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.change import apply_change as changes
from rowdelta.iceberg.file_io import FileIO
from tests.support.oracle import assert_same_ids, ids, rows
from tests.support.races import FasterWriter, assert_no_stray_files
from tests.support.tables import EDV, append_ids, create, keys, one_file, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from rowdelta.change import Operation, Result
    from rowdelta.iceberg import RowChange, Snapshot, TableHandle


@pytest.mark.strays("the storage removes nothing")
@pytest.mark.parametrize("failure", [rd.TableError("503 slow down"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_a_clean_up_that_fails_after_a_lost_race_leaves_the_table_whole(
    spark: SparkSession,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    failure: BaseException,
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(4))
    operation, asked = table.delete_keys(keys(spark, 1), "id"), []
    interrupted = isinstance(failure, KeyboardInterrupt)

    def fail(path: str) -> None:
        asked.append(path)
        raise failure

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "rowdelta"):
        patched.setattr(table._handle.io, "_delete", fail)
        FasterWriter(patched, lambda: append_ids(spark, table_name, [4]))
        with pytest.raises(KeyboardInterrupt) if interrupted else nullcontext():
            operation.execute()
    assert asked
    assert interrupted or all(path.endswith(".avro") for path in asked)  # the manifests of the first attempt
    assert ("503 slow down" in caplog.text) != interrupted
    assert ids(rd.table(spark, table_name)) == ([0, 1, 2, 3, 4] if interrupted else [0, 2, 3, 4])


def test_a_commit_removes_no_file(spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(4))
    removed: list[str] = []
    monkeypatch.setattr(table._handle.io, "_delete", removed.append)
    table.delete_keys(keys(spark, 1), "id").execute()
    assert not removed
    assert_no_stray_files(table)


def replacing(table: rd.Table, verb: str) -> Operation[Any]:
    source = table._handle.spark.createDataFrame([(1, "new")], "id bigint, v string")
    operations: dict[str, Operation[Any]] = {
        "delete": table.delete("id = 1"),
        "update": table.update().set("v", "'new'").where("id = 1"),
        "merge": table.merge(source, "id").when_matched_update_all(),
        "lone delete": table.merge(source, "id").when_matched_delete(),
        "resolve": table.resolve(),
    }
    return operations[verb]


@pytest.mark.parametrize("verb", ["delete", "update", "merge", "lone delete", "resolve"])
def test_a_vector_is_stored_before_the_commit_or_there_is_none(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(4))
    if verb == "resolve":
        table.delete_keys(keys(spark, 1), "id").execute()
    seen, real = [], FileIO.write
    before = rows(table.read()), table.refresh().metadata.current_snapshot_id, stored_files(table)

    def full(_: FileIO, path: str, __: bytes) -> None:
        raise rd.TableError(f"no space left for {path}")

    def slow(io: FileIO, path: str, data: bytes) -> None:
        time.sleep(0.3)
        real(io, path, data)
        seen.append((path, rd.table(spark, table_name).metadata.current_snapshot_id))

    with monkeypatch.context() as patched:
        patched.setattr(FileIO, "write", full)
        with pytest.raises(rd.TableError, match=r"no space left for .*puffin"):
            replacing(table, verb).execute()
    assert (rows(table.refresh().read()), table.metadata.current_snapshot_id, stored_files(table)) == before
    with monkeypatch.context() as patched:
        patched.setattr(FileIO, "write", slow)
        assert replacing(table, verb).execute().snapshot_id is not None
    ((path, head),) = [one for one in seen if one[0].endswith(".puffin")]
    assert (path.rpartition("/")[2] in {Path(file).name for file in stored_files(table)}, head) == (True, before[1])
    assert_same_ids(spark.table(table_name), {0, 1, 2, 3} if verb in {"update", "merge"} else {0, 2, 3})


def test_a_conflict_waits_for_the_vector_and_removes_it(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(4))
    operation, real, before = table.update().set("v", "'new'").where("id = 1"), FileIO.write, set()
    written: list[str] = []

    def slow(io: FileIO, path: str, data: bytes) -> None:
        time.sleep(1)
        real(io, path, data)
        written.append(path)

    def interfere() -> None:
        rd.table(spark, table_name).update().set("v", "'theirs'").where("id = 1").execute()
        before.update(stored_files(table))
        patched.setattr(FileIO, "write", slow)

    with monkeypatch.context() as patched, pytest.raises(rd.CommitConflictError):
        just_before(monkeypatch, interfere, operation.execute)
    assert [path.endswith(".puffin") for path in written] == [True]
    assert {file for file in stored_files(table) if file.endswith((".puffin", ".avro"))} <= before
    assert [row.v for row in spark.table(table_name).where("id = 1").collect()] == ["theirs"]


def just_before(monkeypatch: pytest.MonkeyPatch, interfere: Callable[[], object], run: Callable[[], object]) -> None:
    """Runs an operation, and another function once, just before its commit and after all of its reads."""
    real: Callable[[TableHandle, RowChange], Snapshot] = vars(changes)["commit_change"]

    def commit(handle: TableHandle, change: RowChange) -> Snapshot:
        patched.undo()
        interfere()
        return real(handle, change)

    with monkeypatch.context() as patched:
        patched.setattr(changes, "commit_change", commit)
        run()


def test_a_commit_begins_with_the_newest_metadata(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No retry is needed here: commits of others since the read do not count as a conflict."""
    table = create(spark, table_name, "id bigint, v string", properties=EDV | {"commit.retry.num-retries": "0"})
    append_ids(spark, table_name, range(4))
    other = rd.table(spark, table_name)
    just_before(monkeypatch, lambda: other.delete("id = 3").execute(), table.delete_keys(keys(spark, 1), "id").execute)
    just_before(monkeypatch, lambda: other.delete_keys(keys(spark, 2), "id").execute(), table.delete("id = 0").execute)
    assert ids(table) == []


def rewriting(table: rd.Table, verb: str, key: int) -> Operation[Result]:
    source = table._handle.spark.createDataFrame([(key, "new")], "id bigint, v string")
    return {
        "delete": table.delete(f"id = {key}", mode="copy-on-write"),
        "update": table.update(mode="copy-on-write").set("v", "'new'").where(f"id = {key}"),
        "merge": table.merge(source, "id", mode="copy-on-write").when_matched_update_all(),
    }[verb]


@pytest.mark.parametrize(
    ("version", "verb"),
    [(2, "delete"), (3, "update"), (2, "merge"), (3, "merge")],
)
def test_a_file_is_not_rewritten_with_rows_that_others_deleted_by_key(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, version: int, verb: str
) -> None:
    table = create(spark, table_name, "id bigint, v string", version=version)
    append_ids(spark, table_name, range(6))
    append_ids(spark, table_name, range(10, 13))
    change = rewriting(table, verb, 3)

    def refused() -> None:
        with pytest.raises(rd.CommitConflictError, match="deletes rows of files that are rewritten"):
            change.execute()

    just_before(monkeypatch, rd.table(spark, table_name).delete_keys(keys(spark, 5), "id").execute, refused)
    assert ids(table) == [0, 1, 2, 3, 4, 10, 11, 12]
    # Keys outside the bounds of the file do not conflict.
    just_before(monkeypatch, rd.table(spark, table_name).delete_keys(keys(spark, 12), "id").execute, change.execute)
    left = [0, 1, 2, *([] if verb == "delete" else [3]), 4, 10, 11]
    assert ids(table) == left
    assert_same_ids(spark.table(table_name), left)
    # In the other order, the keys are newer than the new file.
    again, other = rewriting(rd.table(spark, table_name), verb, 0), table.delete_keys(keys(spark, 4), "id")
    just_before(monkeypatch, again.execute, other.execute)
    left = [i for i in left if i != 4 and (i or verb != "delete")]
    assert ids(table) == left
    assert_same_ids(spark.table(table_name), left)


def test_a_branch_is_pruned_by_the_columns_of_the_tables_schema(spark: SparkSession, table_name: str) -> None:
    """The branch's own snapshot has an older schema, in which the names mean other columns."""
    create(spark, table_name, "id bigint, a int, b int")
    one_file(spark, [(i, i, 100 + i) for i in range(10)], "id bigint, a int, b int").writeTo(table_name).append()
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH audit")
    for renamed in ("a TO c", "b TO a", "c TO b"):
        spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN {renamed}")
    spark.sql(f"INSERT INTO {table_name} VALUES (10, 10, 110)")
    branch = rd.table(spark, table_name, branch="audit")
    assert "1 to scan, 0 pruned" in str(branch.delete("a = 105").plan())
    assert branch.delete("a = 105").execute().rows_deleted == 1
    assert branch.delete("a >= 100").execute().snapshot_id is not None  # by metadata alone
    assert branch.read().count() == 0


def test_a_branch_of_sparks_settings_is_not_what_is_changed(spark: SparkSession, table_name: str) -> None:
    create(spark, table_name, "id bigint, v string", properties={"write.wap.enabled": "true"})
    append_ids(spark, table_name, range(3))
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH audit")
    spark.sql(f"INSERT INTO {table_name}.branch_audit VALUES (7, 'v')")
    spark.conf.set("spark.wap.branch", "audit")
    try:
        table = rd.table(spark, table_name)
        assert table.delete("id IN (1, 7)").execute().rows_deleted == 1
        assert table.update().set("v", "'w'").where("id % 2 = 0").execute().rows_updated == 2
    finally:
        spark.conf.unset("spark.wap.branch")
    assert rows(spark.table(table_name)) == [(0, "w"), (2, "w")]
    assert rows(spark.table(f"{table_name}.branch_audit").select("id")) == [(0,), (1,), (2,), (7,)]


def test_work_that_must_be_finished_is_not_part_of_the_callers_group(spark: SparkSession, table_name: str) -> None:
    """A streaming query cancels the jobs of its group when it is stopped."""
    handle = create(spark, table_name, "id bigint, v string")._handle
    found: list[str | None] = []

    def look() -> str | None:
        return spark.sparkContext.getLocalProperty("spark.jobGroup.id")

    def run() -> None:
        spark.sparkContext.setJobGroup("query", "")
        found.extend(handle.run_interruptibly(look, cancel=cancel) for cancel in (True, False))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == ["query", None]
