"""A merge that replaces whole rows finds them by position, or by a join where positions do not suffice."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from rowdelta.merge import matches as merge_matches
from rowdelta.spark import cache_frame
from tests.support.oracle import assert_same_rows
from tests.support.tables import create, one_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    import rowdelta as rd

COLUMNS = "id bigint, v string"
CLAUSES = {
    "both": lambda merge: merge.when_matched_update_all().when_not_matched_insert_all(),
    "update": lambda merge: merge.when_matched_update_all(),
    "some": lambda merge: merge.when_not_matched_insert_all("s.id < 103").when_matched_update_all(),
}


def source(spark: SparkSession) -> DataFrame:
    """Ids 95 to 104 in three partitions, the last of which matches nothing."""
    return spark.createDataFrame([(i, f"new {i}") for i in range(95, 105)], COLUMNS).repartitionByRange(3, "id")


def expected(which: str) -> list[tuple[Any, ...]]:
    inserted = {"both": range(100, 105), "update": range(0), "some": range(100, 103)}[which]
    return [(i, "old") for i in range(95)] + [(i, f"new {i}") for i in [*range(95, 100), *inserted]]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("which", CLAUSES)
@pytest.mark.parametrize("way", ["arrays", "arrays without generated code", "join"])
def test_rows_are_replaced_and_inserted_alike(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, *, version: int, which: str, way: str
) -> None:
    ways = note_ways(monkeypatch)
    build_arrays = merge_matches._build_arrays
    monkeypatch.setattr(merge_matches, "_build_arrays", lambda pairs: None if way == "join" else build_arrays(pairs))
    table = create(spark, table_name, COLUMNS, version=version)
    one_file(spark, [(i, "old") for i in range(100)], COLUMNS).writeTo(table_name).append()
    before = _row_ids(spark, table, version)
    with setting(spark, "spark.sql.codegen.wholeStage", "false" if "without" in way else "true"):
        result = CLAUSES[which](table.merge(source(spark), on="id")).execute()
    assert ways == ["Matches" if way == "join" else "IndexedMatches"]
    assert_same_rows(spark.table(table_name), expected(which))
    assert (result.rows_updated, result.rows_inserted, result.rows_deleted) == (5, len(expected(which)) - 100, 0)
    after = _row_ids(spark, table, version)
    assert {key: after[key] for key in before} == before
    assert len(set(after.values())) == len(after) or version < 3


def test_a_row_of_the_source_that_matches_twice_takes_the_place_of_both(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS)
    one_file(spark, [(1, "a"), (1, "b"), (2, "c"), (None, "d")], COLUMNS).writeTo(table_name).append()
    changes = spark.createDataFrame([(1, "x"), (3, "y"), (None, "z")], COLUMNS)
    table.merge(changes, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert_same_rows(spark.table(table_name), [(1, "x"), (1, "x"), (2, "c"), (None, "d"), (3, "y"), (None, "z")])


def test_few_matches_far_apart_are_joined(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = note_ways(monkeypatch)
    table = create(spark, table_name, COLUMNS)
    ids = range(0, 98_000, 1_400)
    one_file(spark, [(i, "old") for i in ids], COLUMNS).writeTo(table_name).append()
    changes = spark.range(0, 98_000, 1, 1).selectExpr("id", "'new' as v")
    table.merge(changes, on="id").when_matched_update_all().execute()
    assert ways == ["Matches"]
    assert_same_rows(spark.table(table_name), [(i, "new") for i in ids])


def test_cached_frames_are_not_compressed_and_the_setting_is_restored(spark: SparkSession) -> None:
    name = "spark.sql.inMemoryColumnarStorage.compressed"
    before = spark.conf.get(name)
    frame = spark.range(3)
    with cache_frame(frame):
        with suppress(ZeroDivisionError), cache_frame(frame):
            assert spark.conf.get(name) == "false"
            raise ZeroDivisionError
        assert spark.conf.get(name) == "false"
    assert spark.conf.get(name) == before


def test_two_operations_can_cache_the_same_frame(spark: SparkSession) -> None:
    frame = spark.range(3)
    with cache_frame(frame) as one:
        with cache_frame(frame) as other:
            assert other.count() == 3
        assert one.storageLevel.useMemory
    assert not one.storageLevel.useMemory


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, str(before))


def note_ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Records the types of matches that merges use from here on."""
    ways: list[str] = []
    for kind in (merge_matches.Matches, merge_matches.IndexedMatches):
        monkeypatch.setattr(kind, "join_to", _noted(kind.join_to, ways))
    return ways


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
