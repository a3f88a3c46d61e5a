"""Deletes that can find no row are not read: their files may even be gone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.errors import TableError
from tests.support.frames import assert_same_rows
from tests.support.tables import EDV, append_ids, create, keys, one_file, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENCODINGS = ["full-row", "deletion-vector"]


def remove_newest_delete(table: rd.Table) -> None:
    """Takes the newest delete file away from under the table."""
    (newest,) = table.delete_files().orderBy("sequence", ascending=False).limit(1).collect()
    Path(newest["path"].removeprefix("file:")).unlink()


def reopened(spark: SparkSession, table: rd.Table) -> rd.Table:
    """The table without anything that was kept of it."""
    return rd.table(spark, table.name)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("gone", "is_read"), [((700, 900), False), ((7, 900), True)])
def test_a_delete_beyond_the_bounds_of_all_data_is_not_read(
    spark: SparkSession, table_name: str, encoding: str, gone: tuple[int, int], *, is_read: bool
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(10))
    table.delete_keys(keys(spark, 3), "id").execute()
    table.delete_keys(keys(spark, *gone), "id", encoding=encoding).execute()
    remove_newest_delete(table)
    spark.catalog.clearCache()
    if is_read:
        with pytest.raises(TableError, match="cannot read"):
            reopened(spark, table).read()
    else:
        assert_same_rows(reopened(spark, table).read(columns=["id"]), [(i,) for i in range(10) if i != 3])


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_delete_that_is_older_than_all_data_is_not_read(spark: SparkSession, table_name: str, encoding: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(5))
    table.delete_keys(keys(spark, 3), "id", encoding=encoding).execute()
    remove_newest_delete(table)
    spark.sql(f"TRUNCATE TABLE {table_name}")
    append_ids(spark, table_name, [3, 4])
    frame = reopened(spark, table).read(columns=["id"])
    assert_same_rows(frame, [(3,), (4,)])
    assert "Join" not in plan_of(frame)


def test_a_delete_of_another_partition_is_not_read(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, p string", "p", properties=EDV)
    one_file(spark, [(1, "a"), (2, "a")], "id bigint, p string").writeTo(table_name).append()
    table.delete_keys(spark.createDataFrame([(1, "b")], "id bigint, p string"), "id").execute()
    remove_newest_delete(table)
    assert_same_rows(reopened(spark, table).read(), [(1, "a"), (2, "a")])


def test_a_null_key_is_beyond_no_bounds(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    one_file(spark, [(1, "a"), (None, "b")], "id bigint, v string").writeTo(table_name).append()
    table.delete_keys(keys(spark, None, 50), "id").execute()
    assert_same_rows(reopened(spark, table).read(), [(1, "a")])
