"""Copy-on-write: which files it reads, and how it keeps the other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.local_files import move_away
from tests.support.oracle import assert_same_rows
from tests.support.races import FasterWriter, assert_no_stray_files
from tests.support.tables import EDV, create, keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id bigint, v string"
MODES = {f"write.{verb}.mode": "copy-on-write" for verb in ("delete", "update", "merge")}


def append_four_files(spark: SparkSession, name: str, start: int) -> None:
    """Forty ids in four files of one manifest."""
    frame = spark.range(start, start + 40).selectExpr("id", "'old' v").repartitionByRange(4, "id")
    frame.sortWithinPartitions("id").writeTo(name).option("distribution-mode", "none").append()


def with_ids(spark: SparkSession, name: str) -> dict[int, tuple[str, int, int]]:
    """Value and lineage of every row, by its key."""
    rows = spark.table(name).selectExpr("id", "v", "_row_id", "_last_updated_sequence_number").collect()
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


@pytest.mark.parametrize("version", [2, 3])
def test_only_the_files_that_change_are_read(spark: SparkSession, table_name: str, version: int) -> None:
    table = create(spark, table_name, COLUMNS, version=version, properties=MODES)
    append_four_files(spark, table_name, 0)
    files = {row[0]: row[1] for row in spark.table(table_name).selectExpr("id", "_file").collect()}
    touched = files[5]
    others = {path for path in files.values() if path != touched}
    assert len(others) == 3
    with move_away(others):
        assert table.delete("id = 5").execute().data_files_removed == 1
        assert table.update().set("v", "'new'").where("id = 6").execute().rows_updated == 1
        merge = table.merge(keys(spark, 7, 8), "id").when_matched_update({"v": "'merged'"})
        assert merge.execute().rows_updated == 2
    changed = {6: "new", 7: "merged", 8: "merged"}
    expected = [(i, changed.get(i, "old")) for i in range(40) if i != 5]
    assert_same_rows(spark.table(table_name), expected)
    assert_same_rows(table.refresh().read(), expected)


@pytest.mark.parametrize("upgraded", [False, True])
def test_rows_keep_their_lineage_whatever_files_are_skipped(
    spark: SparkSession, table_name: str, *, upgraded: bool
) -> None:
    table = create(spark, table_name, COLUMNS, version=2 if upgraded else 3, properties=MODES)
    append_four_files(spark, table_name, 0)
    spark.sql(f"DELETE FROM {table_name} WHERE id < 10")  # a whole file, whose entry stays in the manifest as deleted
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version' = '3')")
    append_four_files(spark, table_name, 100)
    before = with_ids(spark, table_name)
    assert len({row_id for _, row_id, _ in before.values()}) == 70
    table.refresh().update().set("v", "'new'").where("id IN (15, 35, 112)").execute()
    table.delete("id IN (16, 113)").execute()
    after = with_ids(spark, table_name)
    assert {i: row[0] for i, row in after.items()} == {
        i: "new" if i in {15, 35, 112} else "old" for i in before if i not in {16, 113}
    }
    assert {i: row[1] for i, row in after.items()} == {i: before[i][1] for i in after}
    assert {i: row[2] for i, row in after.items() if row[0] == "old"} == {
        i: before[i][2] for i, row in after.items() if row[0] == "old"
    }


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_files_are_rewritten_where_keys_are_deleted(spark: SparkSession, table_name: str, file_format: str) -> None:
    table = create(spark, table_name, COLUMNS, properties=MODES | EDV | {"write.format.default": file_format})
    append_four_files(spark, table_name, 0)
    table.delete_keys(keys(spark, 1, 105), "id").execute()
    append_four_files(spark, table_name, 100)  # younger than the first delete, and older than the second
    table.delete_keys(keys(spark, 2, 106), "id").execute()
    result = table.update().set("v", "'new'").where("id IN (3, 107)").execute()
    assert (result.rows_updated, result.data_files_removed) == (2, 2)
    assert table.delete("id IN (4, 108)").execute().data_files_removed == 1  # the new one
    gone = {1, 2, 4, 106, 108}
    live = [i for i in [*range(40), *range(100, 140)] if i not in gone]
    assert_same_rows(table.read(), [(i, "new" if i in {3, 107} else "old") for i in live])


@pytest.mark.parametrize("version", [2, 3])
def test_keys_that_others_delete_meanwhile_are_not_brought_back(
    spark: SparkSession, table_name: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iceberg drops deletes from the new snapshot that are older than all remaining files."""
    properties = MODES | {"commit.retry.min-wait-ms": "1"}
    table = create(spark, table_name, COLUMNS, version=version, properties=properties)
    spark.range(0, 10, 1, 1).selectExpr("id", "'old' v").writeTo(table_name).append()

    def others() -> None:
        other = rd.table(spark, table_name)
        other.delete_keys(keys(spark, 7), "id", encoding="full-row").execute()
        spark.sql(f"INSERT INTO {table_name} VALUES (50, 'other')")

    operation = table.update(isolation="snapshot").set("v", "'new'").where("id = 3")
    with monkeypatch.context() as patched:
        race = FasterWriter(patched, others)
        with pytest.raises(rd.CommitConflictError, match="another writer changed the same data"):
            operation.execute()
    assert race.left == 0
    assert_no_stray_files(table)
    assert operation.execute().rows_updated == 1
    assert_same_rows(table.read(), [*((i, "new" if i == 3 else "old") for i in range(10) if i != 7), (50, "other")])
