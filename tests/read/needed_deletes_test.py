"""Deletes that match no row are not read: their files may even be missing."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.change import open_target
from rowdelta.errors import TableError
from rowdelta.read import needed_deletes as applicable
from rowdelta.read.needed_deletes import find_needed_deletes
from tests.support.oracle import assert_same_ids, assert_same_rows
from tests.support.tables import EDV, append_ids, create, keys, one_file, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENCODINGS = ["full-row", "deletion-vector"]


def remove_newest_delete(table: rd.Table) -> None:
    """Removes the newest delete file of the table."""
    (newest,) = table.delete_files().orderBy("sequence", ascending=False).limit(1).collect()
    Path(newest["path"].removeprefix("file:")).unlink()


def reopened(spark: SparkSession, table: rd.Table) -> rd.Table:
    """The table without anything that is cached for it."""
    return rd.table(spark, table.name)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("gone", "is_read"), [((700, 900), False), ((7, 900), True)])
def test_a_delete_beyond_the_bounds_of_all_data_is_not_read(
    spark: SparkSession, table_name: str, encoding: rd.Encoding, gone: tuple[int, int], *, is_read: bool
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
def test_a_delete_that_is_older_than_all_data_is_not_read(
    spark: SparkSession, table_name: str, encoding: rd.Encoding
) -> None:
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
    table.delete_keys(spark.createDataFrame([(1, "b")], "id bigint, p string"), "id", scope="partition").execute()
    remove_newest_delete(table)
    assert_same_rows(reopened(spark, table).read(), [(1, "a"), (2, "a")])


def test_a_null_key_is_beyond_no_bounds(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    one_file(spark, [(1, "a"), (None, "b")], "id bigint, v string").writeTo(table_name).append()
    table.delete_keys(keys(spark, None, 50), "id").execute()
    assert_same_rows(reopened(spark, table).read(), [(1, "a")])


COLUMNS = "id int, s string, d decimal(9, 2), at timestamp"
ROWS = [(i, f"key {i}", Decimal(i), dt.datetime(2024, 1, 1 + i, tzinfo=dt.timezone.utc)) for i in range(5)]
INSIDE, BEYOND = ROWS[3], (90, "zebra", Decimal("90.5"), dt.datetime(2030, 1, 1, tzinfo=dt.timezone.utc))
KEYS = ["id", "s", "d", "at", "id, s"]


def typed(spark: SparkSession, name: str, **properties: str) -> rd.Table:
    table = create(spark, name, COLUMNS, properties=properties)
    one_file(spark, ROWS, COLUMNS).writeTo(name).append()
    return table


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_every_type_are_ruled_out_by_their_bounds(spark: SparkSession, table_name: str, key: str) -> None:
    table = typed(spark, table_name)
    columns = key.split(", ")
    for row in (INSIDE, BEYOND):
        table.delete_keys(spark.createDataFrame([row], COLUMNS).select(*columns), columns).execute()
    remove_newest_delete(table)
    assert_same_ids(reopened(spark, table).read(columns=["id"]), [0, 1, 2, 4])


def test_a_widened_key_is_compared_with_the_bounds_of_old_files(spark: SparkSession, table_name: str) -> None:
    table = typed(spark, table_name)
    spark.sql(f"ALTER TABLE {table_name} ALTER COLUMN id TYPE bigint")
    table.refresh()
    table.delete_keys(keys(spark, 3), "id").execute()
    table.delete_keys(keys(spark, 2**40), "id").execute()
    remove_newest_delete(table)
    assert_same_ids(reopened(spark, table).read(), [0, 1, 2, 4])


def test_a_key_that_old_files_do_not_have_may_be_anything_there(spark: SparkSession, table_name: str) -> None:
    table = typed(spark, table_name)
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN extra bigint")
    table.refresh()
    table.delete_keys(keys(spark, None, 7, column="extra"), "extra").execute()
    assert reopened(spark, table).read().count() == 0


def test_without_metrics_every_delete_is_needed(spark: SparkSession, table_name: str) -> None:
    table = typed(spark, table_name, **{"write.metadata.metrics.default": "none"})
    table.delete_keys(spark.createDataFrame([(90,)], "id int"), "id").execute()
    remove_newest_delete(table)
    with pytest.raises(TableError, match="cannot read"):
        reopened(spark, table).read()


def test_every_delete_is_needed_where_comparing_all_files_costs_more(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = typed(spark, table_name)
    table.delete_keys(spark.createDataFrame([(3,), (90,)], "id int"), "id").execute()
    files = open_target(table._handle).files
    assert files is not None
    assert find_needed_deletes(table._handle, files, frozenset()) == ()  # no file is read
    for name, value in (("_OPEN_COST", 0), ("_MOST_FILES_COMPARED", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(applicable, name, value)
            assert find_needed_deletes(table._handle, files, frozenset()) == files.equality_deletes
