"""Maintenance while others write: concurrent changes are kept, whichever commits first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

import rowdelta as rd
from rowdelta.iceberg import call_procedure, stage_rows
from rowdelta.iceberg.content_files import from_java, to_java
from rowdelta.maintenance import compact
from rowdelta.maintenance.verify import compare_rows
from tests.support.oracle import assert_same_ids, assert_same_rows, ids, rows
from tests.support.tables import (
    EDV,
    added_files,
    append_files,
    append_ids,
    create,
    delete_positions,
    head,
    keys,
    stored_files,
)
from tests.verbs.conflicts_test import just_before_commit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(params=[2, 3])
def table(spark: SparkSession, table_name: str, request: pytest.FixtureRequest) -> rd.Table:
    """Ids 0 to 9 and 10 to 19 in two files; 3 and 13 deleted by key."""
    made = create(spark, table_name, "id bigint, v string", version=request.param, properties=EDV)
    append_ids(spark, table_name, range(10))
    append_ids(spark, table_name, range(10, 20))
    made.delete_keys(keys(spark, 3, 13), "id").execute()
    return made


def read_with_spark(table: rd.Table) -> DataFrame:
    return table._handle.spark.table(table.name)


LEFT = [i for i in range(20) if i not in {3, 13}]


def test_appends_and_keys_during_a_resolve_are_kept(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def others() -> None:
        append_ids(spark, table.name, [3, 30], "late")
        rd.table(spark, table.name).delete_keys(keys(spark, 4, 30), "id").execute()

    with just_before_commit(monkeypatch, others):
        result = table.resolve().execute()
    assert result.equality_deletes == 1
    assert ids(table) == sorted([*(i for i in LEFT if i != 4), 3])
    assert table.resolve().execute().equality_deletes == 1
    assert_same_ids(read_with_spark(table), sorted([*(i for i in LEFT if i != 4), 3]))


def test_a_state_is_published_only_without_the_keys_that_came_during_the_resolve(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sql(f"ALTER TABLE {table.name} CREATE BRANCH ingest")
    ingest = rd.table(spark, table.name, branch="ingest")
    ingest.delete_keys(keys(spark, 4), "id").execute()
    other = rd.table(spark, table.name, branch="ingest")
    with just_before_commit(monkeypatch, lambda: other.delete_keys(keys(spark, 5), "id").execute()):
        result = ingest.resolve(publish="main").execute()
    assert (result.published, result.equality_deletes, result.positions) == ("main", 3, 4)
    assert head(table) == head(ingest) == result.snapshot_id
    assert_same_ids(read_with_spark(table), [i for i in LEFT if i not in {4, 5}])


def test_positions_deleted_during_a_resolve_are_kept(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On version 3 both write a vector for the same file, so the resolve starts again."""
    other = rd.table(spark, table.name)
    with just_before_commit(monkeypatch, lambda: other.delete("id IN (5, 13)").execute()):
        result = table.resolve().execute()
    assert result.equality_deletes == 1
    assert_same_ids(read_with_spark(table), [i for i in LEFT if i != 5])
    files = table.delete_files().select("referenced_data_file", "format").collect()
    if table.metadata.format_version > 2:
        assert len(files) == len({row.referenced_data_file for row in files})


def test_a_file_dropped_during_a_resolve_takes_its_positions_with_it(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored_files(table)
    with just_before_commit(monkeypatch, lambda: spark.sql(f"DELETE FROM {table.name} WHERE id < 10")):
        result = table.resolve().execute()
    assert (result.positions, result.equality_deletes) == (1, 1)
    assert_same_ids(read_with_spark(table), [i for i in LEFT if i >= 10])
    assert {row.dangling for row in table.delete_files().collect()} == {False}
    strays = stored_files(table) - before
    assert sum("deletes" in path for path in strays) == 1, "files of the first try are left"


@pytest.mark.parametrize("change", ["positions", "drop", "keys", "append", "resolve", "again"])
@pytest.mark.parametrize("version", [2, 3])
def test_a_dead_file_is_removed_whatever_other_writers_do_with_it(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, change: str, version: int
) -> None:
    table = create(spark, table_name, "id bigint, v string", version=version, properties=EDV)
    append_ids(spark, table_name, range(10))
    dead = added_files(table)
    append_ids(spark, table_name, range(10, 20))
    table.delete_keys(keys(spark, *range(10), 13), "id").execute()
    other = rd.table(spark, table_name)

    def drop_and_add() -> None:
        spark.sql(f"DELETE FROM {table_name} WHERE id < 10")
        append_files(other, dead)  # its rows are younger than the keys now

    changes: dict[str, Callable[[], object]] = {
        "positions": lambda: delete_positions(other, {dead[0].path: [3, 4]}, dead),  # of one who read before the keys
        "drop": lambda: spark.sql(f"DELETE FROM {table_name} WHERE id < 10"),
        "keys": lambda: other.delete_keys(keys(spark, 4, 14), "id").execute(),
        "append": lambda: append_ids(spark, table_name, [4]),
        "resolve": lambda: other.resolve().execute(),
        "again": drop_and_add,
    }
    with just_before_commit(monkeypatch, changes[change]):
        result = table.resolve(verify=False).execute()
    more = {"append": {4}, "again": {*range(10)}}.get(change, set())
    left = sorted({*range(10, 20), *more} - {13, *({14} if change == "keys" else ())})
    found = (result.equality_deletes, result.positions, result.data_files_removed)
    expected = {"drop": (1, 11, 0), "resolve": (0, 0, 0), "again": (1, 1, 0)}
    assert (found, ids(table)) == (expected.get(change, (1, 11, 1)), left)
    assert not any(row.dangling for row in table.delete_files().where("content = 'position'").collect()) or version == 2
    table.resolve().execute()
    table.remove_dangling().execute()
    assert_same_ids(read_with_spark(table), left)
    assert spark.table(f"{table_name}.data_files").where(f"file_path = '{dead[0].path}'").isEmpty() == (
        change != "again"
    )
    assert {row.dangling for row in table.delete_files().collect()} == {False}


def rewriting(table: rd.Table) -> Callable[[], None]:
    """Rewrites all files of the current snapshot, and returns a function that commits as Iceberg's action does."""
    handle, java = table._handle, table.refresh()._handle.java_table
    start = java.currentSnapshot()
    lineage = ["_row_id", "_last_updated_sequence_number"] if table.metadata.format_version > 2 else []
    tasks, old = java.newScan().planFiles().iterator(), []
    while tasks.hasNext():
        old.append(from_java(handle, tasks.next().file()))
    new = stage_rows(handle, handle.spark.sql(f"SELECT {', '.join(['*', *lineage])} FROM {table.name}"))

    def commit() -> None:
        fresh = rd.table(handle.spark, table.name)._handle
        change = fresh.java_table.newRewrite().validateFromSnapshot(start.snapshotId())
        change.dataSequenceNumber(start.sequenceNumber())
        for file in old:
            change.deleteFile(to_java(fresh, file))
        for file in new.list_content_files():
            change.addFile(to_java(fresh, file))
        change.commit()

    return commit


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("key", [3, 100, None])
def test_a_rewrite_that_began_before_a_delete_and_ends_during_its_resolve_does_not_bring_rows_back(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, version: int, key: int | None
) -> None:
    """Its files are older than the equality delete; a key that no file holds must not be dropped unseen either.

    Without a key, all of them are deleted, and the file that held them is dead.
    """
    table = create(spark, table_name, "id bigint, v string", version=version, properties=EDV)
    append_ids(spark, table_name, range(10))
    commit = rewriting(table)
    gone = list(range(10)) if key is None else [key]
    table.delete_keys(keys(spark, *gone), "id").execute()
    with just_before_commit(monkeypatch, commit):
        result = table.resolve().execute()
    assert result.equality_deletes == 1
    assert result.positions == len({*gone} & {*range(10)})
    assert_same_ids(read_with_spark(table), [i for i in range(10) if i not in gone])


@pytest.mark.parametrize(
    ("gone", "refusal"),
    [([3], "found new position delete for replaced data file"), (range(10), "Missing required files to delete")],
)
def test_a_rewrite_that_ends_after_a_resolve_is_refused_by_iceberg(
    spark: SparkSession, table_name: str, gone: Sequence[int], refusal: str
) -> None:
    for version in (2, 3):
        name = f"{table_name}_{version}"
        table = create(spark, name, "id bigint, v string", version=version, properties=EDV)
        append_ids(spark, name, range(10))
        commit = rewriting(table)
        table.delete_keys(keys(spark, *gone), "id").execute()
        table.resolve().execute()
        with pytest.raises(Py4JJavaError, match=refusal):
            commit()
        assert_same_ids(read_with_spark(table), [i for i in range(10) if i not in gone])
        spark.sql(f"DROP TABLE {name} PURGE")


def test_a_compaction_during_a_resolve_makes_it_start_again(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    if table.metadata.format_version > 2:
        table.resolve().execute()  # plain Spark cannot compact a table with a vector
        table.delete_keys(keys(spark, 4), "id", encoding="full-row").execute()
    call = f"CALL lake.system.rewrite_data_files(table => '{table.name}', options => map('rewrite-all', 'true'))"
    expected = ids(table)
    with just_before_commit(monkeypatch, lambda: spark.sql(call)):
        result = table.resolve().execute()
    assert result.files_scanned == 0  # the compaction applied the keys
    assert_same_ids(read_with_spark(table), expected)
    assert table.delete_files().where("content = 'equality'").count() == 0


def test_conflicts_without_end_are_an_error_and_leave_nothing(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, live = (head(table), stored_files(table)), rows(table.read())

    def conflict(*_: object) -> None:
        raise rd.CommitConflictError("again and again")

    monkeypatch.setattr("rowdelta.maintenance.resolve_attempt.build_data_file_check", lambda *_: conflict)
    with pytest.raises(rd.CommitConflictError, match="again and again"):
        table.resolve().execute()
    assert (head(table), stored_files(table)) == state
    assert_same_rows(table.read(), live)


@pytest.mark.parametrize("change", ["append", "keys", "positions"])
def test_what_others_commit_during_a_compaction_is_kept(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """With verification, it starts again on the new state and resolves what is new there."""
    other = rd.table(spark, table.name)
    changes: dict[str, Callable[[], object]] = {
        "append": lambda: append_ids(spark, table.name, [50]),
        "keys": lambda: other.delete_keys(keys(spark, 5), "id").execute(),
        "positions": lambda: other.delete("id = 5").execute(),
    }
    done: list[int] = []

    def interfere(before: DataFrame, after: DataFrame, name: str) -> None:
        if not done:
            done.append(1)
            changes[change]()
        compare_rows(before, after, name)

    monkeypatch.setattr("rowdelta.maintenance.compact.compare_rows", interfere)
    result = table.compact(options={"rewrite-all": "true"}).execute()
    assert done
    assert result.verified
    assert result.equality_deletes == (2 if change == "keys" else 1)
    assert_same_ids(read_with_spark(table), sorted([*LEFT, 50]) if change == "append" else [i for i in LEFT if i != 5])
    assert set(table.refresh().metadata.branches) == {"main"}
    assert table.delete_files().isEmpty()


@pytest.mark.parametrize("kind", ["keys", "positions"])
def test_a_compaction_without_verification_lets_iceberg_decide(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """New vectors between resolve and rewrite stop Iceberg's reader, and the action starts again; positions do not."""
    other, done = rd.table(spark, table.name), list[int]()
    real = vars(compact)["call_procedure"]

    def late(*arguments: Any) -> dict[str, Any]:
        if not done:
            done.append(1)
            other.delete_keys(keys(spark, 5), "id").execute() if kind == "keys" else other.delete("id = 5").execute()
            spark.catalog.refreshTable(table.name)
        numbers: dict[str, Any] = real(*arguments)
        return numbers

    monkeypatch.setattr("rowdelta.maintenance.compact.call_procedure", late)
    result = table.compact(options={"rewrite-all": "true"}, verify=False).execute()
    assert result.data_files_rewritten > 0
    assert ids(table) == [i for i in LEFT if i != 5]
    table.resolve().execute()
    assert_same_ids(read_with_spark(table), [i for i in LEFT if i != 5])


def test_a_race_that_is_lost_when_the_branch_moves_starts_the_compaction_again(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, real = list[int](), vars(compact)["fast_forward"]

    def late(*arguments: Any) -> bool:
        if not done:
            append_ids(spark, table.name, [50])
        done.append(1)
        return bool(real(*arguments))

    monkeypatch.setattr("rowdelta.maintenance.compact.fast_forward", late)
    assert table.compact(options={"rewrite-all": "true"}).execute().verified
    assert len(done) == 2
    assert_same_ids(read_with_spark(table), [*LEFT, 50])


def test_a_conflict_that_iceberg_wraps_is_a_conflict(table: rd.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """`rewrite_data_files` throws a RuntimeException whose cause is the error of its commit."""
    jvm = table._handle.gateway.jvm
    cause = jvm.org.apache.iceberg.exceptions.CommitFailedException("too slow", jvm.java.util.ArrayList().toArray())
    error = Py4JJavaError("call failed", jvm.RuntimeException("Cannot commit rewrite", cause))

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("rowdelta.iceberg.procedures.run_procedure", fail)
    with pytest.raises(rd.CommitConflictError, match="too slow"):
        call_procedure(table._handle, "rewrite_data_files", {})
