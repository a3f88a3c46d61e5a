"""Metadata columns in the conditions of a change, and table columns with similar names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.oracle import assert_same_ids, assert_same_rows
from tests.support.tables import append_ids, create, head, keys, one_file, stored_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture
def case_sensitive(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize("version", [2, 3])
def test_a_predicate_may_name_positions(spark: SparkSession, table_name: str, version: int) -> None:
    table = create(spark, table_name, "id bigint, v string", version=version)
    append_ids(spark, table_name, range(5))
    append_ids(spark, table_name, range(5, 10))
    assert table.delete("_pos = 1").execute().rows_deleted == 2
    file = spark.table(table_name).where("id = 7").select("_file").collect()[0][0]
    assert table.delete(f"o._file = '{file}' AND o._pos > 2", alias="o").execute().rows_deleted == 2
    assert_same_ids(spark.table(table_name).select("id"), [0, 2, 3, 4, 5, 7])


def test_rows_without_ids_are_not_found_by_ids_that_were_made_up(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", version=2)
    append_ids(spark, table_name, range(5))
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version' = '3')")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN later int")  # the snapshot is of an older schema now
    assert table.delete("_row_id < 3").execute().snapshot_id is None
    assert table.delete("id < 3").execute().rows_deleted == 3
    assert_same_ids(spark.table(table_name).select("id"), [3, 4])


@pytest.mark.parametrize("column", ["_POS", "_File", "_pos"])
def test_a_column_named_like_a_position_is_refused(spark: SparkSession, table_name: str, column: str) -> None:
    table = create(spark, table_name, f"id bigint, {column} bigint")
    one_file(spark, [(5, 2), (6, 2), (7, 2)], f"id bigint, {column} bigint").writeTo(table_name).append()
    before = head(table), stored_files(table)
    source = spark.createDataFrame([(5, 9)], f"id bigint, {column} bigint")
    for operation in (
        table.delete("id = 5"),
        table.update().set(column, "0").where("id = 5"),
        table.merge(source, "id").when_matched_update_all(),
    ):
        with pytest.raises(
            rd.TableError, match=f"has a column {column}, which Spark takes for .* {column.lower()}"
        ) as e:
            operation.execute()
        assert "RENAME COLUMN" in str(e.value)
    assert (head(table), stored_files(table)) == before
    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN {column} TO place")
    assert table.delete("id = 5").execute().rows_deleted == 1
    assert_same_ids(spark.table(table_name).select("id"), [6, 7])


@pytest.mark.parametrize("column", ["_ROW_ID", "_Last_updated_sequence_number"])
def test_a_column_named_like_lineage_is_refused_where_rows_keep_it(
    spark: SparkSession, table_name: str, column: str
) -> None:
    table = create(spark, table_name, f"id bigint, {column} bigint", version=3)
    one_file(spark, [(5, 2), (6, 2), (7, 2)], f"id bigint, {column} bigint").writeTo(table_name).append()
    before = head(table), stored_files(table)
    for operation in (
        table.update().set("id", "0").where("id = 5"),
        table.merge(keys(spark, 5), "id").when_matched_update({"id": "0"}),
    ):
        with pytest.raises(rd.TableError, match=f"has a column {column}, which Spark takes for .* {column.lower()}"):
            operation.execute()
    assert (head(table), stored_files(table)) == before
    assert table.delete("id = 5").execute().rows_deleted == 1
    assert_same_ids(spark.table(table_name).select("id"), [6, 7])


def test_a_merge_may_name_positions_and_lineage(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", version=3)
    append_ids(spark, table_name, range(5))
    file = spark.table(table_name).select("_file").first()
    assert file is not None
    merge = table.merge(keys(spark, *range(5)), "id").when_matched_delete("t._pos = 1 AND t._row_id >= 0")
    merge = merge.when_matched_update({"v": "t._file"}, "t._pos = 2 AND t._last_updated_sequence_number > 0")
    result = merge.execute()
    assert (result.rows_deleted, result.rows_updated) == (1, 1)
    rows = spark.table(table_name).orderBy("id").collect()
    assert [row.id for row in rows] == [0, 2, 3, 4]
    assert rows[1].v == file[0]


def test_a_column_with_a_name_of_rowdeltas_own_is_refused(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, __RD_new_id bigint")
    one_file(spark, [(5, 2), (6, 2)], "id bigint, __RD_new_id bigint").writeTo(table_name).append()
    before = head(table), stored_files(table)
    with pytest.raises(rd.TableError, match="has a column __RD_new_id, and names that start with __rd_") as e:
        table.update().set("id", "0").where("id = 5").execute()
    assert "RENAME COLUMN `__RD_new_id`" in str(e.value)
    assert (head(table), stored_files(table)) == before
    assert_same_rows(table.read("id = 5"), [(5, 2)])
    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN __RD_new_id TO other")
    assert table.update().set("id", "0").where("id = 5").execute().rows_updated == 1
    assert_same_ids(spark.table(table_name).select("id"), [0, 6])


def test_updates_after_an_upgrade_make_up_no_ids(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", version=2)
    append_ids(spark, table_name, range(5))
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version' = '3')")
    assert table.update().set("v", "'new'").where("id >= 3").execute().rows_updated == 2
    found = {row.id: row._row_id for row in spark.table(table_name).select("id", "_row_id").collect()}
    assert len(found) == len({*found.values()} - {None}) == 5
    assert table.update().set("v", "'newer'").where("id > 0").execute().rows_updated == 4
    assert {row.id: row._row_id for row in spark.table(table_name).select("id", "_row_id").collect()} == found


@pytest.mark.usefixtures("case_sensitive")
def test_names_that_differ_in_case_are_distinct_where_spark_compares_case(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, _POS bigint")
    one_file(spark, [(5, 2), (6, 2), (7, 2)], "id bigint, _POS bigint").writeTo(table_name).append()
    assert table.delete("id = 5").execute().rows_deleted == 1
    assert_same_ids(spark.table(table_name).select("id"), [6, 7])


def test_columns_named_like_unneeded_metadata_columns_are_allowed(spark: SparkSession, table_name: str) -> None:
    columns = "id bigint, _POS bigint, _Deleted boolean"
    table = create(spark, table_name, columns, properties={"write.delete.equality-vector.enabled": "true"})
    one_file(spark, [(5, 2, True), (6, 3, False)], columns).writeTo(table_name).append()
    table.delete_keys(keys(spark, 5), "id").execute()
    assert_same_rows(table.read(), [(6, 3, False)])
