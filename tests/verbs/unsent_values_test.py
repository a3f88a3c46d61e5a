"""Columns that a change does not carry keep the value of the old row, for that row alone, in the same snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from tests.support.oracle import assert_same_rows
from tests.support.races import FasterWriter, assert_no_stray_files
from tests.support.tables import create, head, one_file, stored_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, doc string, n int, lsn int"
CHANGES = f"{COLUMNS}, op string, unsent array<string>"
MARK = "__debezium_unavailable_value"


def make(spark: SparkSession, name: str, version: int = 3) -> rd.Table:
    table = create(spark, name, COLUMNS, version=version)
    one_file(spark, [(1, "one", 1, 1), (2, "two", 2, 1), (3, None, 3, 1)], COLUMNS).writeTo(name).append()
    return table


def batch(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), CHANGES)


def upsert(table: rd.Table, changes: DataFrame, **options: Any) -> rd.UpsertResult:
    rules = {"order_by": "lsn", "delete_when": "op = 'D'", "unsent": "unsent", **options}
    return table.upsert(changes, "id", **rules).execute()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("collected", [True, False])
def test_the_old_row_gives_what_a_change_does_not_carry(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, *, version: int, collected: bool
) -> None:
    if not collected:
        monkeypatch.setattr("rowdelta.change.target_rows._MOST_ROWS_COLLECTED", 0)
    table = make(spark, table_name, version)
    changes = batch(
        spark,
        (1, MARK, 10, 5, "U", ["doc"]),
        (2, "sent", None, 5, "U", ["n"]),
        (3, None, 30, 5, "U", []),
        (4, "new", 40, 5, "U", None),
    )
    result = upsert(table, changes)
    assert (result.rows_updated, result.rows_inserted) == (3, 1)
    assert_same_rows(
        spark.table(table_name), [(1, "one", 10, 5), (2, "sent", 2, 5), (3, None, 30, 5), (4, "new", 40, 5)]
    )
    assert len(table.refresh().metadata.snapshots) == 2


def test_earlier_changes_of_the_batch_come_before_the_old_row(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    changes = batch(
        spark,
        (1, "sent", 10, 5, "U", None),
        (1, MARK, 11, 6, "U", ["doc"]),
        (1, MARK, 12, 7, "U", ["doc"]),
        (2, None, 20, 5, "U", ["doc"]),
        (2, None, None, 6, "U", ["doc", "n"]),
        (3, "x", 1, 5, "D", None),
        (3, "again", 2, 6, "U", None),
        (3, None, 3, 7, "U", ["doc"]),
        (9, "new", None, 5, "U", None),
        (9, None, 9, 6, "U", ["doc"]),
    )
    upsert(table, changes)
    expected = [(1, "sent", 12, 7), (2, "two", 20, 6), (3, "again", 3, 7), (9, "new", 9, 6)]
    assert_same_rows(spark.table(table_name), expected)


@pytest.mark.parametrize(
    "rows",
    [
        [(9, MARK, 1, 5, "U", ["doc"])],
        [(1, None, None, 5, "D", None), (1, MARK, 1, 6, "U", ["doc"])],
    ],
    ids=["no row", "deleted before"],
)
def test_a_value_that_nobody_has_is_an_error(spark: SparkSession, table_name: str, rows: list[Any]) -> None:
    table = make(spark, table_name)
    snapshot, files = head(table), stored_files(table)
    with pytest.raises(
        rd.InputError, match=rf"does not carry column 'doc', and there is no old row .*id = {rows[0][0]}"
    ):
        upsert(table, batch(spark, *rows))
    assert (head(table), stored_files(table)) == (snapshot, files)


def test_a_column_that_no_change_has_may_be_unsent(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    changes = batch(spark, (1, MARK, 10, 5, "U", ["doc"]), (2, MARK, 20, 5, "U", ["doc"])).drop("doc")
    upsert(table, changes)
    assert_same_rows(spark.table(table_name), [(1, "one", 10, 5), (2, "two", 20, 5), (3, None, 3, 1)])


def test_unsent_values_and_tombstones(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, f"{COLUMNS}, is_deleted boolean")
    one_file(spark, [(1, "one", 1, 1), (2, "two", 2, 1)], COLUMNS).withColumn("is_deleted", F.lit(False)).writeTo(
        table_name
    ).append()
    keeps = {"keep_newer": True, "tombstones": "keep"}
    late = (1, MARK, 5, 0, "U", ["doc"])
    result = upsert(table, batch(spark, late, (2, None, None, 9, "D", None)), **keeps)
    assert (result.changes_ignored, result.rows_deleted) == (1, 1)
    upsert(table, batch(spark, (1, MARK, 7, 7, "U", ["doc"]), (2, MARK, 5, 5, "U", ["doc"])), **keeps)
    assert_same_rows(spark.table(table_name), [(1, "one", 7, 7, False), (2, None, None, 9, True)])
    with pytest.raises(rd.InputError, match="no old row"):
        upsert(table, batch(spark, (2, MARK, 5, 10, "U", ["doc"])), **keeps)


def test_values_follow_the_row_that_another_writer_changed(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(spark, table_name)
    FasterWriter(monkeypatch, lambda: spark.sql(f"UPDATE {table_name} SET doc = 'other', n = 0 WHERE id = 1"))
    upsert(table, batch(spark, (1, MARK, 10, 5, "U", ["doc"])))
    assert_same_rows(spark.table(table_name), [(1, "other", 10, 5), (2, "two", 2, 1), (3, None, 3, 1)])
    assert_no_stray_files(table)


def test_names_that_do_not_fit_are_refused(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    for name, message in {"nothing": "is not a column", "id": "does not carry the key column"}.items():
        with pytest.raises(rd.InputError, match=message):
            upsert(table, batch(spark, (1, "x", 1, 5, "U", [name])))
    with pytest.raises(rd.InputError, match=r"unsent= needs the rows of the table, which resolve=False"):
        upsert(table, batch(spark), resolve=False)
