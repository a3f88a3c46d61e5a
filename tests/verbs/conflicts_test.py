"""Two concurrent writers: what the second finds just before its commit, and the outcome.

The interfering statement runs between reading and committing: `rowdelta.change.apply_change.commit_change` is wrapped.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

import rowdelta as rd
from rowdelta.change import Target
from rowdelta.change import apply_change as changes
from rowdelta.iceberg import stage_rows
from rowdelta.iceberg.content_files import from_java, to_java
from tests.support.oracle import assert_same_rows, ids
from tests.support.races import FasterWriter, assert_no_stray_files
from tests.support.shared_files import share
from tests.support.tables import EDV, create, head, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.change import Operation, Result
    from rowdelta.iceberg import RowChange, Snapshot, TableHandle

MODES = ["merge-on-read", "copy-on-write"]
VERSIONS = [2, 3]
# As they were made, and after their partitions and columns have changed.
TABLES = [*((version, False) for version in VERSIONS), *((version, True) for version in VERSIONS)]


@pytest.fixture
def table(spark: SparkSession, table_name: str, request: pytest.FixtureRequest) -> rd.Table:
    given = getattr(request, "param", 3)
    version, evolved = given if isinstance(given, tuple) else (given, False)
    made = make(spark, table_name, version)
    evolution = (
        "DROP PARTITION FIELD part",
        "ADD PARTITION FIELD bucket(2, id)",
        "RENAME COLUMN v TO w",
        "ADD COLUMN v int",
    )
    for change in evolution if evolved else ():
        spark.sql(f"ALTER TABLE {table_name} {change}")
    return made.refresh()


def make(spark: SparkSession, name: str, version: int, **properties: str) -> rd.Table:
    """Ids 0 to 19 in two files, one for each partition `part` of ten ids."""
    named = {key.replace("_", "."): value for key, value in properties.items()}
    modes = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
    made = create(spark, name, "id bigint, part int, v string", "part", version=version, properties=modes | EDV | named)
    share(made, "0 to 19", lambda: rows(spark, 0, 20))
    return made


def rows(spark: SparkSession, start: int, stop: int, text: str = "v") -> DataFrame:
    return spark.range(start, stop, 1, 1).selectExpr("id", "cast(id DIV 10 AS int) part", f"'{text}' v")


def some_keys(spark: SparkSession, *some: int) -> DataFrame:
    """Keys with the partitions that they are in."""
    return spark.createDataFrame([(key, key // 10) for key in some], "id bigint, part int")


@contextmanager
def just_before_commit(monkeypatch: pytest.MonkeyPatch, interfere: Callable[[], object]) -> Iterator[None]:
    """Runs a function once, just before the commit of rowdelta, after all of its reads."""
    real: Callable[[TableHandle, RowChange], Snapshot] = vars(changes)["commit_change"]
    done: list[bool] = []

    def commit(handle: TableHandle, change: RowChange) -> Snapshot:
        if not done:
            done.append(True)
            interfere()
        return real(handle, change)

    with monkeypatch.context() as patched:
        patched.setattr(changes, "commit_change", commit)
        yield
    assert done, "nothing was committed"


def refused(monkeypatch: pytest.MonkeyPatch, operation: Operation[Result], other: rd.Table, statement: str) -> str:
    """Runs an operation into a conflict. The table must stay as the other writer left it, without stray files."""
    after: dict[str, object] = {}
    start = stored_files(other)

    def interfere() -> None:
        before = stored_files(other)
        other._handle.spark.sql(statement)
        after.update(head=head(other), files=start | (stored_files(other) - before))

    with just_before_commit(monkeypatch, interfere), pytest.raises(rd.CommitConflictError) as error:
        operation.execute()
    assert head(other) == after["head"]
    assert stored_files(other) == after["files"], "files of the refused change are left"
    assert error.value.hint is not None
    return error.value.message


# --- four cases of a rewrite and a delete that start from the same snapshot


def rewrite(name: str) -> str:
    return f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"


@pytest.mark.parametrize("table", TABLES, indirect=True, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_case_1_1_positions_after_a_rewrite_are_refused_and_succeed_from_the_beginning(
    spark: SparkSession, table: rd.Table, mode: rd.Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = table.delete("id IN (3, 13)", mode=mode)
    message = refused(monkeypatch, operation, table, rewrite(table.name))
    assert ".parquet" in message
    assert ids(table) == list(range(20))
    assert operation.execute().rows_deleted == 2
    assert ids(table) == [i for i in range(20) if i not in {3, 13}]


@pytest.mark.parametrize("table", TABLES, indirect=True, ids=str)
@pytest.mark.parametrize("encoding", ["full-row", None])
def test_case_1_2_keys_after_a_rewrite_apply_to_the_new_files(
    spark: SparkSession, table: rd.Table, encoding: rd.Encoding | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = table.delete_keys(some_keys(spark, 3, 13), "id", encoding=encoding)
    with just_before_commit(monkeypatch, lambda: spark.sql(rewrite(table.name))):
        assert operation.execute().snapshot_id is not None
    assert ids(table) == [i for i in range(20) if i not in {3, 13}]


def rewrite_around(table: rd.Table, interfere: Callable[[], object]) -> None:
    """Commits a rewrite of all files as Iceberg's procedure does, and runs a function just before the commit."""
    handle, java = table._handle, table.refresh()._handle.java_table
    start = java.currentSnapshot()
    lineage = ["_row_id", "_last_updated_sequence_number"] if table.metadata.format_version > 2 else []
    old = [from_java(handle, file) for file in start.addedDataFiles(java.io())]
    new = stage_rows(handle, handle.spark.sql(f"SELECT {', '.join(['*', *lineage])} FROM {table.name}"))
    interfere()
    change = table.refresh()._handle.java_table.newRewrite().validateFromSnapshot(start.snapshotId())
    change.dataSequenceNumber(start.sequenceNumber())
    for file in old:
        change.deleteFile(to_java(handle, file))
    for file in new.list_content_files():
        change.addFile(to_java(handle, file))
    change.commit()


@pytest.mark.strays("Iceberg's refused rewrite leaves its files")
@pytest.mark.parametrize("table", TABLES, indirect=True, ids=str)
def test_case_2_1_a_rewrite_after_positions_is_refused_by_iceberg(table: rd.Table) -> None:
    with pytest.raises(Py4JJavaError, match="found new position delete for replaced data file"):
        rewrite_around(table, lambda: table.delete("id IN (3, 13)").execute())
    assert ids(table) == [i for i in range(20) if i not in {3, 13}]


@pytest.mark.parametrize("table", TABLES, indirect=True, ids=str)
@pytest.mark.parametrize("encoding", ["full-row", None])
def test_case_2_2_a_rewrite_after_keys_succeeds_and_the_keys_still_apply(
    spark: SparkSession, table: rd.Table, encoding: rd.Encoding | None
) -> None:
    operation = table.delete_keys(some_keys(spark, 3, 13), "id", encoding=encoding)
    rewrite_around(table, operation.execute)
    assert table.refresh().metadata.snapshots[head(table) or 0].operation == "replace"
    assert ids(table) == [i for i in range(20) if i not in {3, 13}]


# --- rows that another writer adds


def verbs(
    table: rd.Table, isolation: rd.Isolation | None = None, mode: rd.Mode | None = None
) -> dict[str, Operation[Result]]:
    """Each verb on the ids 3 and 4, which are in partition 0."""
    source = table._handle.spark.range(3, 5).selectExpr("id", "0 part", "'merged' v")
    merge = partial(table.merge, source, isolation=isolation, mode=mode)
    return {
        "delete": table.delete("part = 0 AND id IN (3, 4)", isolation=isolation, mode=mode),
        "update": table.update(isolation=isolation, mode=mode).set("v", "'new'").where("part = 0 AND id IN (3, 4)"),
        "merge": merge(["id", "part"]).when_matched_update_all(),
        "merge a column": merge(["id", "part"]).when_matched_update({"v": "s.v"}, "t.id > 0"),
        "merge by one key": merge("id").when_matched_update_all(),
    }


VERBS = ["delete", "update", "merge", "merge a column", "merge by one key"]


@pytest.mark.parametrize("table", VERSIONS, indirect=True)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("verb", VERBS)
def test_serializable_refuses_rows_that_would_have_matched_and_snapshot_lets_them_through(
    spark: SparkSession, table: rd.Table, verb: str, mode: rd.Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = f"INSERT INTO {table.name} VALUES (4, 0, 'late')"
    message = refused(monkeypatch, verbs(table, mode=mode)[verb], table, append)
    assert "another writer changed the same data" in message
    assert ".parquet" in message
    assert_same_rows(table.read("v != 'v'"), [(4, 0, "late")])
    with just_before_commit(monkeypatch, lambda: spark.sql(append)):
        assert verbs(table, "snapshot", mode)[verb].execute().snapshot_id is not None
    assert table.read("v = 'late'").count() == 1  # the first one matched, the second came too late


@pytest.mark.parametrize("table", VERSIONS, indirect=True)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("verb", VERBS[:-1])  # one key says nothing of partitions
def test_other_partitions_and_other_rows_do_not_conflict(
    spark: SparkSession, table: rd.Table, verb: str, mode: rd.Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interfere() -> None:
        rows(spark, 25, 30).writeTo(table.name).append()
        spark.sql(f"INSERT INTO {table.name} VALUES (9, 0, 'same partition, other key')")
        spark.sql(f"DELETE FROM {table.name} WHERE part = 1 AND id < 15")

    with just_before_commit(monkeypatch, interfere):
        assert verbs(table, mode=mode)[verb].execute().snapshot_id is not None
    assert table.read("id IN (3, 4) AND v != 'v'").count() == (0 if verb == "delete" else 2)
    gone = {3, 4, *range(10, 15)} if verb == "delete" else set(range(10, 15))
    assert ids(table) == sorted([*(set(range(20)) - gone), 9, *range(25, 30)])


def test_isolation_comes_from_the_tables_properties(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = ", ".join(f"'write.{verb}.isolation-level' = 'snapshot'" for verb in ("delete", "update", "merge"))
    spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ({levels})")
    table.refresh()
    for verb in VERBS[::-1]:
        with just_before_commit(monkeypatch, lambda: spark.sql(f"INSERT INTO {table.name} VALUES (4, 0, 'late')")):
            assert verbs(table)[verb].execute().snapshot_id is not None
        assert verbs(table)[verb].plan().to_dict().get("isolation", "snapshot") == "snapshot"


# --- rows that another writer deletes or changes


@pytest.mark.parametrize("table", VERSIONS, indirect=True)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("verb", VERBS[1:])
def test_a_change_does_not_bring_back_what_was_deleted_meanwhile(
    table: rd.Table, verb: str, mode: rd.Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = f"DELETE FROM {table.name} WHERE id = 4"
    refused(monkeypatch, verbs(table, "snapshot", mode)[verb], table, other)
    assert ids(table) == [i for i in range(20) if i != 4]
    assert verbs(table, mode=mode)[verb].execute().rows_updated == 1


@pytest.mark.parametrize("table", VERSIONS, indirect=True)
def test_two_deletes_of_the_same_file(spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 2 keeps both position delete files. On version 3 a file has one vector, so the second writer retries."""
    other = f"DELETE FROM {table.name} WHERE id IN (4, 5)"
    operation = table.delete("id IN (3, 4)")
    if table.metadata.format_version > 2:
        refused(monkeypatch, operation, table, other)
        assert operation.execute().rows_deleted == 1
    else:
        with just_before_commit(monkeypatch, lambda: spark.sql(other)):
            assert operation.execute().rows_deleted == 2
    assert ids(table) == [i for i in range(20) if i not in {3, 4, 5}]


@pytest.mark.parametrize("mode", MODES)
def test_keys_that_are_deleted_meanwhile_stop_an_update(
    spark: SparkSession, table: rd.Table, mode: rd.Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new row would have a higher sequence number than the delete of its key, and would reappear."""
    operation = verbs(table, mode=mode)["update"]
    deletes = table.delete_keys(some_keys(spark, 4), "id")
    with (
        just_before_commit(monkeypatch, deletes.execute),
        pytest.raises(rd.CommitConflictError, match="another writer changed the same data"),
    ):
        operation.execute()
    assert ids(table) == [i for i in range(20) if i != 4]


def test_a_whole_file_that_another_writer_filled_up_is_dropped_or_refused_but_never_half(
    spark: SparkSession, table: rd.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    with just_before_commit(monkeypatch, lambda: spark.sql(f"INSERT INTO {table.name} VALUES (77, 0, 'late')")):
        table.delete("part = 0").execute()
    assert ids(table) == list(range(10, 20))
    both = f"INSERT INTO {table.name} VALUES (12, 1, 'late'), (50, 1, 'late')"
    message = refused(monkeypatch, table.delete("id BETWEEN 10 AND 19"), table, both)
    assert "some, but not all, rows of" in message
    assert ".parquet" in message
    assert ids(table) == sorted([*range(10, 20), 12, 50])


# --- races that are no conflict


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_lost_race_is_retried_without_a_new_scan(
    spark: SparkSession, table: rd.Table, verb: str, mode: rd.Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('commit.retry.min-wait-ms' = '1')")
    operation, scans = verbs(table.refresh(), mode=mode)[verb], []

    def counted(real: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
        def count(target: Target, *args: Any, **named: Any) -> DataFrame:
            scans.append(target)
            return real(target, *args, **named)

        return count

    with monkeypatch.context() as patched:
        for name in ("read_rows", "read_stored_rows"):
            patched.setattr(Target, name, counted(getattr(Target, name)))
        race = FasterWriter(patched, lambda: spark.sql(f"INSERT INTO {table.name} VALUES (90, 9, 'v')"))
        assert operation.execute().snapshot_id is not None
    assert race.left == 0
    assert len(scans) == (1 if mode == "merge-on-read" else 2)  # what stays of a file is read once it is known
    changed = [] if verb == "delete" else [(i, 0, "new" if verb == "update" else "merged") for i in (3, 4)]
    others = [(i, i // 10, "v") for i in (0, 1, 2, *range(5, 10), 90)]
    assert_same_rows(table.read("part IN (0, 9)"), [*changed, *others])
    assert_no_stray_files(table)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("verb", VERBS)
def test_a_race_that_is_lost_to_the_same_rows_is_a_conflict(
    spark: SparkSession, table: rd.Table, verb: str, mode: rd.Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('commit.retry.min-wait-ms' = '1')")
    operation = verbs(table.refresh(), mode=mode)[verb]
    with monkeypatch.context() as patched:
        race = FasterWriter(patched, lambda: spark.sql(f"INSERT INTO {table.name} VALUES (4, 0, 'late')"))
        with pytest.raises(rd.CommitConflictError, match="another writer changed the same data"):
            operation.execute()
    assert race.left == 0
    assert_same_rows(table.refresh().read(), [*((i, i // 10, "v") for i in range(20)), (4, 0, "late")])
    assert_no_stray_files(table)


def test_a_merge_into_an_empty_table_refuses_rows_that_came_first(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, part int, v string")
    merge = table.merge(rows(spark, 0, 3), "id").when_matched_update_all().when_not_matched_insert_all()
    refused(monkeypatch, merge, table, f"INSERT INTO {table_name} VALUES (1, 0, 'first')")
    assert merge.execute().rows_updated == 1
    assert ids(table) == [0, 1, 2]
