"""`t.changes()`: which rows it reports, how it pairs updates, and what it refuses."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.iceberg import read_snapshot_files
from rowdelta.read import position_joins
from tests.support.feeds import FEED, delete_by_java, list_history, types
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, added_files, append_ids, create, delete_positions, head, keys, make_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, v string"
ICEBERGS_NAMES = {
    "INSERT": "insert",
    "DELETE": "delete",
    "UPDATE_BEFORE": "update_preimage",
    "UPDATE_AFTER": "update_postimage",
}


def filled(spark: SparkSession, name: str, *, version: int = 3, rows: int = 6) -> rd.Table:
    """A table of the ids below `rows`, in one file."""
    table = create(spark, name, COLUMNS, version=version, properties=EDV if version > 2 else {})
    append_ids(spark, name, range(rows))
    return table


def changed(table: rd.Table, start: int | None, **options: Any) -> list[tuple[Any, ...]]:
    return types(table.changes(start, **options))


def test_an_update_is_paired_by_the_id_of_the_row_on_version_3(spark: SparkSession, table_name: str) -> None:
    table = filled(spark, table_name)
    start = head(table)
    table.update(mode="merge-on-read").set("id", "id + 100").where("id = 1").execute()
    pair = [("update_postimage", 101, "v"), ("update_preimage", 1, "v")]
    assert changed(table, start) == pair
    assert changed(table, start, images="after") == pair[:1]
    table.update(mode="copy-on-write").set("v", "'w'").where("id = 101").execute()
    assert changed(table, start, net=True) == [("update_postimage", 101, "w"), ("update_preimage", 1, "v")]


def test_an_update_without_row_ids_is_paired_by_key_or_identifier_fields(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, v string", version=2)
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'v' FROM range(0, 6, 1, 1)")
    start = head(table)
    table.update().set("v", "'w'").where("id = 1").execute()
    table.upsert(make_frame(spark, [(2, "x")], COLUMNS), key="id").execute()
    single = [("delete", 1, "v"), ("delete", 2, "v"), ("insert", 1, "w"), ("insert", 2, "x")]
    paired = [
        ("update_postimage", 1, "w"),
        ("update_postimage", 2, "x"),
        ("update_preimage", 1, "v"),
        ("update_preimage", 2, "v"),
    ]
    assert changed(table, start) == single
    assert changed(table, start, key=["ID"]) == paired
    assert changed(table, start, key=["v"]) == single
    spark.sql(f"ALTER TABLE {table_name} SET IDENTIFIER FIELDS id")
    assert changed(table, start) == paired


def test_rows_that_share_a_key_are_not_paired(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS, version=2)
    append_ids(spark, table_name, [1, 1, 2])
    start = head(table)
    table.update().set("v", "'w'").execute()
    assert changed(table, start, key="id") == [
        ("delete", 1, "v"),
        ("delete", 1, "v"),
        ("insert", 1, "w"),
        ("insert", 1, "w"),
        ("update_postimage", 2, "w"),
        ("update_preimage", 2, "v"),
    ]


@pytest.mark.parametrize("version", [2, 3])
def test_rewrites_and_rows_that_come_and_go_give_no_change(
    spark: SparkSession, table_name: str, *, version: int
) -> None:
    table = filled(spark, table_name, version=version, rows=3)
    append_ids(spark, table_name, [3, 4])
    start = head(table)
    table.delete_keys(keys(spark, 3), key="id").execute()
    after = head(table)
    table.resolve().execute()
    table.compact(options={"rewrite-all": "true"}).execute()
    spark.sql(f"UPDATE {table_name} SET v = v")
    table.update(mode="copy-on-write").set("v", "v").execute()
    assert len(list_history(table)) >= 6
    assert changed(table, after, net=True) == changed(table, after) == []
    spark.sql(f"INSERT INTO {table_name} VALUES (9, 'gone')")
    table.delete("id = 9").execute()
    assert changed(table, start) == [("delete", 3, "v"), ("delete", 9, "gone"), ("insert", 9, "gone")]
    assert changed(table, start, net=True) == [("delete", 3, "v")]


@pytest.mark.parametrize("version", [2, 3])
def test_positions_are_compared_with_those_that_were_deleted_before(
    spark: SparkSession, table_name: str, *, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Position delete files of a partition, and vectors that replace smaller ones; also if two files share a hash."""
    monkeypatch.setattr(position_joins, "compute_spark_hashes", lambda paths: [0] * len(paths))
    monkeypatch.setattr(position_joins, "_PLACE", "(0L + _pos)")
    table = create(spark, table_name, COLUMNS, version=version)
    append_ids(spark, table_name, range(4))
    files = added_files(table)
    append_ids(spark, table_name, range(4, 8))
    files += added_files(table)
    start = head(table)
    delete_positions(table, {files[0].path: [0], files[1].path: [1, 2]}, files)
    middle = head(table)
    if version > 2:
        table.delete("id IN (1, 7)").execute()
    else:
        delete_positions(table, {files[0].path: [0, 1], files[1].path: [1, 3]}, files)
    assert changed(table, middle) == [("delete", 1, "v"), ("delete", 7, "v")]
    gone = [("delete", i, "v") for i in (0, 1, 5, 6, 7)]
    assert changed(table, start, net=True) == gone
    assert changed(table, start) == gone


def test_many_scattered_positions_are_joined_as_values(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowdelta.read.merged_keys.SMALL", 0)
    table = filled(spark, table_name)
    start = head(table)
    table.delete("id IN (1, 4)").execute()
    assert changed(table, start) == [("delete", 1, "v"), ("delete", 4, "v")]


def test_deletes_of_several_kinds_in_one_commit_report_a_row_once(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v int", version=2)
    spark.sql(f"INSERT INTO {table_name} SELECT id, cast(id as int) FROM range(0, 6, 1, 1)")
    start, files = head(table), added_files(table)
    delete_positions(table, {files[0].path: [0]}, files)
    for v in (0, 1, 2):
        delete_by_java(table, {"v": v})
    delete_positions(table, {files[0].path: [1, 3]}, files)
    table.delete("id = 2").execute()
    assert changed(table, start, net=True) == [("delete", i, i) for i in range(4)]
    assert changed(table, start) == [("delete", i, i) for i in range(4)]


def test_a_row_comes_back_with_the_delete_that_is_removed(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v int", version=2)
    spark.sql(f"INSERT INTO {table_name} SELECT id, cast(id as int) FROM range(0, 6, 1, 1)")
    delete_by_java(table, {"v": 1})
    start = head(table)
    java = table.refresh()._handle.java_table
    files = read_snapshot_files(table._handle, table.metadata.snapshots[start or 0])
    assert files is not None
    delta = java.newRowDelta()
    reader = table._handle.gateway.iceberg.ManifestFiles.readDeleteManifest(
        java.currentSnapshot().deleteManifests(java.io()).get(0), java.io(), java.specs()
    )
    delta.removeDeletes(reader.iterator().next().copy())
    delta.commit()
    spark.catalog.refreshTable(table_name)
    assert changed(table, start) == [("insert", 1, 1)]


def test_columns_and_where_select_before_rows_are_compared(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string, amount int")
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'v', cast(id as int) FROM range(0, 6, 1, 1)")
    start = head(table)
    table.update().set("amount", "amount + 10").where("id IN (1, 2)").execute()
    assert changed(table, start, columns=["V", "id"]) == []
    assert changed(table, start, columns="amount", where="amount < 12") == [
        ("delete", 2),
        ("update_postimage", 11),
        ("update_preimage", 1),
    ]
    assert table.changes(start, columns=["V", "id"]).columns == ["v", "id", *FEED]
    assert table.changes(start, columns="amount", key="id").columns == ["amount", *FEED]


def test_rows_have_the_schema_of_the_end(spark: SparkSession, table_name: str) -> None:
    table = filled(spark, table_name, rows=2)
    first = head(table)
    table.update().set("v", "'w'").where("id = 1").execute()
    middle = head(table)
    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN v TO w")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN n int COMMENT 'new'")
    assert table.changes(first, middle).columns == ["id", "v", *FEED]
    assert table.changes(first).columns == ["id", "w", "n", *FEED]
    assert table.changes(first).schema["n"].metadata == {"comment": "new"}
    assert changed(table, first) == [("update_postimage", 1, "w", None), ("update_preimage", 1, "v", None)]
    spark.sql(f"ALTER TABLE {table_name} DROP COLUMN w")
    assert changed(table, first) == []
    empty = table.changes(middle)
    assert empty.dtypes == table.changes(first).dtypes
    assert empty.collect() == []


def test_states_are_named_by_id_time_and_tag_on_any_branch(spark: SparkSession, table_name: str) -> None:
    table = filled(spark, table_name, rows=1)
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG audit")
    start = head(table)
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH other")
    branch = rd.table(spark, table_name, branch="other")
    branch.delete().execute()
    end = head(branch)
    assert end is not None
    append_ids(spark, table_name, [7])
    gone, new = [("delete", 0, "v")], [("insert", 7, "v")]
    at = dt.datetime.fromtimestamp(table.metadata.snapshots[start or 0].timestamp_ms / 1000, dt.timezone.utc)
    for state in ("audit", str(start), at, at.isoformat()):
        assert types(table.changes(state)) == new
    assert types(branch.changes("audit")) == types(table.changes("audit", end)) == gone
    assert types(table.changes(end="audit")) == types(table.changes(None, "audit", net=True)) == [("insert", 0, "v")]
    with pytest.raises(rd.InputError, match=f"snapshot {end} of .* is not an ancestor of snapshot"):
        table.changes(end)
    with pytest.raises(rd.InputError, match="not an ancestor"):
        table.changes(head(table), start)


def test_the_feed_of_a_table_without_snapshots_is_empty(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS)
    feed = table.changes()
    assert (feed.columns, feed.collect()) == (["id", "v", *FEED], [])


def test_an_expired_start_names_the_oldest_snapshot_that_is_left(spark: SparkSession, table_name: str) -> None:
    table = filled(spark, table_name, rows=1)
    first = head(table)
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG kept")
    append_ids(spark, table_name, [1])
    second = head(table)
    append_ids(spark, table_name, [2])
    third = head(table)
    spark.sql(f"CALL lake.system.expire_snapshots(table => '{table_name}', snapshot_ids => array({second}))")
    left = f"the oldest snapshot that is left is {third}"
    for start in (second, first, None):
        with pytest.raises(rd.InputError, match=f"expired.*\n.*{left}"):
            table.changes(start)
    with pytest.raises(rd.InputError, match=f"no snapshot as old.*\n.*{left}"):
        table.changes("2001-01-01")
    assert changed(table, None, net=True) == [("insert", i, "v") for i in range(3)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "nosuch"}, "start: 'nosuch' is neither a tag nor a time"),
        ({"start": True}, "start must be a snapshot id, a time or a tag, not bool"),
        ({"end": 1}, "end: .* has no snapshot 1; it may have expired"),
        ({"images": "before"}, "unknown images 'before'\nHint: use 'all' or 'after'"),
        ({"columns": ["nosuch"]}, "no column 'nosuch'"),
        ({"key": []}, "key is empty"),
        ({"key": "tags"}, "column 'tags' of type map cannot be a key"),
        ({"columns": "info.a"}, "`info`.`a` is a field of a struct"),
        ({"where": "id ="}, "where is not a SQL expression"),
    ],
)
def test_bad_arguments_are_refused(
    spark: SparkSession, shared: rd.Table, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(rd.InputError, match=message):
        shared.changes(**options)


@pytest.fixture(scope="module")
def shared(spark: SparkSession) -> Any:
    name = "lake.db.feed_arguments"
    yield create(spark, name, "id bigint, tags map<string, int>, info struct<a: int>")
    spark.sql(f"DROP TABLE {name}")


def test_a_table_with_a_column_of_the_feed_is_refused(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, _change_type string")
    with pytest.raises(rd.TableError, match=re.escape("has a column _change_type, a name that the change feed uses")):
        table.changes()


def test_a_feed_outlives_later_changes_of_the_table(spark: SparkSession, table_name: str) -> None:
    table = filled(spark, table_name)
    start = head(table)
    table.upsert(make_frame(spark, [(2, "x")], COLUMNS), key="id").execute()
    feed = table.changes(start, key="id")
    table.resolve().execute()
    table.delete("id > 3", mode="copy-on-write").execute()
    table.refresh()
    assert types(feed) == [("update_postimage", 2, "x"), ("update_preimage", 2, "v")]


def changelog_view(table: rd.Table, start: int, options: str) -> DataFrame:
    """Iceberg's own changelog, as rows of the feed without the time."""
    spark = table._handle.spark
    ids = f"map('start-snapshot-id', '{start}')"
    spark.sql(
        f"CALL lake.system.create_changelog_view(table => '{table.name}', options => {ids}, "
        f"changelog_view => 'feed_oracle', {options})"
    )
    return spark.table("feed_oracle").select("id", "v", *FEED[:2], FEED[3])


@pytest.mark.parametrize("version", [2, 3])
def test_a_copy_on_write_table_has_the_changes_of_icebergs_view(
    spark: SparkSession, table_name: str, *, version: int
) -> None:
    modes = {f"write.{command}.mode": "copy-on-write" for command in ("delete", "update", "merge")}
    table = create(spark, table_name, COLUMNS, version=version, properties=modes)
    append_ids(spark, table_name, range(10))
    start = head(table)
    assert start is not None
    append_ids(spark, table_name, range(10, 14))
    spark.sql(f"UPDATE {table_name} SET v = 'u' WHERE id IN (1, 11)")
    spark.sql(f"DELETE FROM {table_name} WHERE id IN (2, 12)")
    spark.sql(f"CALL lake.system.rewrite_data_files(table => '{table_name}', options => map('rewrite-all', 'true'))")
    table.update(mode="copy-on-write").set("v", "'w'").where("id IN (1, 3)").execute()
    spark.sql(f"INSERT OVERWRITE {table_name} SELECT id, if(id = 4, 'o', v) FROM {table_name} WHERE id <> 5")
    for ours, theirs in (
        ({"key": "id"}, "compute_updates => true, identifier_columns => array('id')"),
        ({"columns": ["id", "v"], "key": "id", "net": True}, "net_changes => true, compute_updates => false"),
    ):
        feed = table.changes(start, **ours).drop("_commit_timestamp")
        expected = changelog_view(table, start, theirs)
        if "net" in ours:  # Iceberg's has the last commit of each row, and does not pair updates
            one = [(r.id, r.v, r._change_type in {"insert", "update_postimage"}) for r in feed.collect()]
            other = [(r.id, r.v, r._change_type == "INSERT") for r in expected.collect()]
            assert_same_rows(one, other)
        else:
            assert_same_rows(feed, [(*r[:2], ICEBERGS_NAMES[r[2]], *r[3:]) for r in expected.collect()])
