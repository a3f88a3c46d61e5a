"""A merge that replaces whole rows finds them at their place, or by a join where a place is not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rowdelta.ops import merge_matches
from tests.support.frames import assert_same_rows
from tests.support.tables import create, one_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    import rowdelta as rd

COLUMNS = "id bigint, v string"
CLAUSES = {
    "both": lambda merge: merge.when_matched_update_all().when_not_matched_insert_all(),
    "update": lambda merge: merge.when_matched_update_all(),
    "some": lambda merge: merge.when_matched_update_all().when_not_matched_insert_all("s.id < 103"),
}


def source(spark: SparkSession) -> DataFrame:
    """Ids 95 to 104 in three partitions, the last of which matches nothing."""
    return spark.createDataFrame([(i, f"new {i}") for i in range(95, 105)], COLUMNS).repartitionByRange(3, "id")


def expected(which: str) -> list[tuple[Any, ...]]:
    inserted = {"both": range(100, 105), "update": range(0), "some": range(100, 103)}[which]
    return [(i, "old") for i in range(95)] + [(i, f"new {i}") for i in [*range(95, 100), *inserted]]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("which", CLAUSES)
@pytest.mark.parametrize("way", ["arrays", "join"])
def test_rows_are_replaced_and_inserted_alike(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, *, version: int, which: str, way: str
) -> None:
    ways: list[str] = []
    as_arrays = merge_matches._as_arrays
    monkeypatch.setattr(merge_matches, "_as_arrays", lambda pairs: None if way == "join" else as_arrays(pairs))
    for kind in (merge_matches.Matches, merge_matches.IndexedMatches):
        monkeypatch.setattr(kind, "join_to", _noted(kind.join_to, ways))
    table = create(spark, table_name, COLUMNS, version=version)
    one_file(spark, [(i, "old") for i in range(100)], COLUMNS).writeTo(table_name).append()
    before = _row_ids(spark, table, version)
    result = CLAUSES[which](table.merge(source(spark), on="id")).execute()
    assert ways == ["IndexedMatches" if way == "arrays" else "Matches"]
    assert_same_rows(spark.table(table_name), expected(which))
    assert (result.rows_updated, result.rows_inserted) == (5, len(expected(which)) - 100)
    after = _row_ids(spark, table, version)
    assert {key: after[key] for key in before} == before
    assert len(set(after.values())) == len(after) or version < 3


def test_a_row_of_the_source_that_matches_twice_takes_the_place_of_both(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS)
    one_file(spark, [(1, "a"), (1, "b"), (2, "c"), (None, "d")], COLUMNS).writeTo(table_name).append()
    changes = spark.createDataFrame([(1, "x"), (3, "y"), (None, "z")], COLUMNS)
    table.merge(changes, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert_same_rows(spark.table(table_name), [(1, "x"), (1, "x"), (2, "c"), (None, "d"), (3, "y"), (None, "z")])


def test_few_matches_at_the_end_of_a_long_partition_need_no_long_array(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_matches, "_BROADCAST_AT_MOST", 10)
    table = create(spark, table_name, COLUMNS)
    one_file(spark, [(i, "old") for i in range(3)], COLUMNS).writeTo(table_name).append()
    changes = spark.range(200, -1, -1, 1).selectExpr("id", "'new' as v")
    table.merge(changes, on="id").when_matched_update_all().execute()
    assert_same_rows(spark.table(table_name), [(i, "new") for i in range(3)])


def test_the_setting_of_the_cache_is_given_back(spark: SparkSession, table_name: str) -> None:
    name = "spark.sql.inMemoryColumnarStorage.compressed"
    before = spark.conf.get(name)
    table = create(spark, table_name, COLUMNS)
    one_file(spark, [(1, "a")], COLUMNS).writeTo(table_name).append()
    table.update().set("v", "'b'").execute()
    assert spark.conf.get(name) == before


def _noted(method: Any, ways: list[str]) -> Any:
    def noted(self: Any, *given: Any) -> Any:
        ways.append(type(self).__name__)
        return method(self, *given)

    return noted


def _row_ids(spark: SparkSession, table: rd.Table, version: int) -> dict[int, int]:
    """The id of each row, by key; version 2 has none."""
    if version < 3:
        return {}
    return {row.id: row._row_id for row in spark.table(table.name).select("id", "_row_id").collect()}
