"""Merges by one integer key find their rows with a bitmap of the source's keys, and always do what Iceberg SQL does."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import SparkContext
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from rowdelta.change import target_rows
from rowdelta.merge import by_bitmap as merge_lookup
from rowdelta.merge import candidates as merge_candidates
from rowdelta.merge.by_bitmap import build_lookup
from rowdelta.merge.condition import parse_on_condition
from rowdelta.merge.matches import SOURCE
from rowdelta.spark import plan_during_job
from tests.support.oracle import assert_same_rows, rows
from tests.support.tables import EDV, create, head, keys, one_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOW, HIGH = -(2**63), 2**63 - 1
TARGET = [(None, "null"), (LOW, "low"), (-70, "a"), (-1, "b"), (0, "c"), (0, "twice"), (64, "d"), (HIGH, "high")]
SOURCES: dict[str, list[tuple[Any, str]]] = {
    "near": [(-70, "A"), (0, "C"), (1, "new"), (None, "null")],
    "one": [(64, "D")],
    "low": [(LOW, "L"), (LOW + 3, "new")],
    "high": [(HIGH, "H"), (HIGH - 100, "new")],
    "far": [(LOW, "L"), (HIGH, "H"), (5, "new")],
    "strange": [(7, "new"), (9, "new")],
    "nulls": [(None, "one"), (None, "two")],
    "empty": [],
}
MERGE = """MERGE INTO {} t USING source s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Records for each merge of the test whether it looked keys up."""
    found: list[bool] = []

    def noted(*args: Any) -> Any:
        lookup = build_lookup(*args)
        found.append(lookup is not None)
        return lookup

    monkeypatch.setattr(merge_candidates, "build_lookup", noted)
    return found


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("name", SOURCES)
def test_a_merge_gives_what_icebergs_sql_gives(
    spark: SparkSession, table_name: str, used: list[bool], name: str, mode: str
) -> None:
    ours = create(spark, table_name, "id bigint, v string", properties={"write.merge.mode": mode})
    theirs = f"{table_name}_theirs"
    create(spark, theirs, "id bigint, v string", properties={"write.merge.mode": mode})
    for table in (table_name, theirs):
        one_file(spark, TARGET, "id bigint, v string").writeTo(table).append()
    source = spark.createDataFrame(SOURCES[name], "id bigint, v string")
    source.createOrReplaceTempView("source")
    result = ours.merge(source, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    spark.sql(MERGE.format(theirs))
    assert_same_rows(spark.table(table_name), spark.table(theirs))
    lineage = "id", "v", "_row_id", "_last_updated_sequence_number"
    kept = spark.table(table_name).select(*lineage).where("_row_id < 8").orderBy("_row_id").collect()
    assert [row._row_id for row in kept] == list(range(8))
    matched = [key for key, _ in TARGET if key is not None and key in dict(SOURCES[name])]
    assert result.rows_updated == len(matched)
    assert used == [name not in {"far", "nulls", "empty"}]
    spark.sql(f"DROP TABLE {theirs}")


CONDITIONAL = """MERGE INTO {} t USING source s ON {} WHEN MATCHED AND s.v = 'L' THEN DELETE
WHEN MATCHED AND t.v <> 'twice' THEN UPDATE SET v = concat(t.v, s.v)
WHEN NOT MATCHED AND s.id IS NOT NULL THEN INSERT (v, id) VALUES (upper(s.v), s.id)"""


@pytest.mark.parametrize("on", ["t.id = s.id", "t.id = s.id AND t.v <> 'c'"])
@pytest.mark.parametrize("name", SOURCES)
def test_a_merge_with_conditions_gives_what_icebergs_sql_gives(
    spark: SparkSession, table_name: str, used: list[bool], name: str, on: str
) -> None:
    ours, theirs = create(spark, table_name, "id bigint, v string", properties=EDV), f"{table_name}_theirs"
    create(spark, theirs, "id bigint, v string", properties={"write.merge.mode": "merge-on-read"})
    for table in (table_name, theirs):
        one_file(spark, [*TARGET, (1, "gone")], "id bigint, v string").writeTo(table).append()
    ours.delete_keys(keys(spark, 1), "id").execute()
    spark.sql(f"DELETE FROM {theirs} WHERE id = 1")
    source = spark.createDataFrame(SOURCES[name], "id bigint, v string")
    source.createOrReplaceTempView("source")
    merge = ours.merge(source, on=on).when_matched_delete("s.v = 'L'")
    merge = merge.when_matched_update({"v": "concat(t.v, s.v)"}, "t.v <> 'twice'")
    merge.when_not_matched_insert({"id": "s.id", "v": "upper(s.v)"}, "s.id IS NOT NULL").execute()
    spark.sql(CONDITIONAL.format(theirs, on))
    assert_same_rows(ours.read(), spark.table(theirs))
    assert used == [name not in {"far", "nulls", "empty"}]
    spark.sql(f"DROP TABLE {theirs}")


def test_a_row_that_two_rows_of_the_source_match_is_refused(
    spark: SparkSession, table_name: str, used: list[bool]
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    one_file(spark, TARGET, "id bigint, v string").writeTo(table_name).append()
    before = head(table)
    twice = spark.createDataFrame([(64, "x"), (1, "n"), (64, "y")], "id bigint, v string")
    with pytest.raises(rd.InputError, match="more than one row"):
        table.merge(twice, on="id").when_matched_update_all().execute()
    with pytest.raises(rd.InputError, match="more than one row"):
        table.merge(twice, on="id").when_matched_update({"v": "s.v"}, "t.id > 0").execute()
    assert head(table) == before
    new = spark.createDataFrame([(64, "x"), (1, "n"), (1, "m")], "id bigint, v string")
    result = table.merge(new, on="t.id = s.id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert (result.rows_updated, result.rows_inserted) == (1, 2)
    assert used == [True, True, True]


def test_ints_are_looked_up_and_other_types_are_joined(spark: SparkSession, table_name: str, used: list[bool]) -> None:
    table = create(spark, table_name, "id int, v string", properties=EDV)
    one_file(spark, [(-(2**31), "a"), (0, "b"), (5, "c")], "id int, v string").writeTo(table_name).append()
    table.delete_keys(keys(spark, 5).selectExpr("cast(id as int) id"), "id").execute()
    source = spark.createDataFrame([(-(2**31), "A"), (-(2**31) + 5, "n"), (None, "n")], "id int, v string")
    table.merge(source, on="id").when_matched_update_all().execute()
    table.merge(source.selectExpr("cast(id as bigint) id", "'B' v"), on="id").when_matched_update_all().execute()
    assert rows(table.read()) == [(-(2**31), "B"), (0, "b")]
    more = "t.id = s.id AND t.v = 'b'"
    source = spark.createDataFrame([(0, "B"), (-9, "C"), (5, "D")], "id int, v string")
    table.merge(source, on=more).when_matched_update_all().execute()
    assert rows(table.read()) == [(-(2**31), "B"), (0, "B")]
    assert used == [True, True]  # of different types it is not even tried


def test_the_range_of_keys_is_one_that_iceberg_understands(spark: SparkSession, table_name: str) -> None:
    for kind in ("bigint", "int"):
        table = create(spark, f"{table_name}_{kind}", f"id {kind}, v string")
        source = spark.createDataFrame([(3, "x"), (9, "y"), (None, "z")], f"id {kind}, v string")
        on = parse_on_condition(table._handle, "id", source, ("t", "s"))
        found = build_lookup(table._handle, source.selectExpr("*", f"monotonically_increasing_id() {SOURCE}"), on)
        assert found is not None
        assert found.range == ("`id` >= 3L AND `id` <= 9L" if kind == "bigint" else "`id` >= 3 AND `id` <= 9")
        assert found.keys.tolist() == [3, 9]
        spark.sql(f"DROP TABLE {table.name}")


def test_names_of_more_parts_are_not_keys(spark: SparkSession, table_name: str, used: list[bool]) -> None:
    columns = "id bigint, s struct<id: bigint>"
    table = create(spark, table_name, columns)
    one_file(spark, [(1, (1,)), (2, (3,)), (3, (4,))], columns).writeTo(table_name).append()
    source = spark.createDataFrame([(2, (20,))], columns)
    table.merge(source, on="t.id = t.s.id", source_alias="s").when_matched_update_all().execute()
    assert_same_rows(spark.table(table_name), [(2, (3,)), (2, (20,)), (3, (4,))])
    assert True not in used
    near = spark.createDataFrame([(3, (7,))], columns)
    with pytest.raises(rd.InputError, match="db"):
        table.merge(near, on="db.t.id = s.id").when_matched_update_all().execute()


def test_more_rows_than_can_be_collected_are_joined(
    spark: SparkSession, table_name: str, used: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    one_file(spark, [(i, "a") for i in range(9)], "id bigint, v string").writeTo(table_name).append()
    source = spark.createDataFrame([(1, "b"), (8, "b"), (9, "b")], "id bigint, v string")
    monkeypatch.setattr(merge_lookup, "_MOST_KEYS", 2)
    table.merge(source, on="id").when_matched_update_all().execute()
    monkeypatch.setattr(merge_lookup, "_MOST_KEYS", 3)
    monkeypatch.setattr(target_rows, "_MOST_ROWS_COLLECTED", 8)
    table.merge(source.withColumn("v", F.lit("c")), on="id").when_matched_update_all("s.id < 9").execute()
    table.merge(source.where("id = 1").withColumn("v", F.lit("d")), on="id").when_matched_update_all().execute()
    assert used == [True, True]  # to leave rows out before the join
    assert dict(rows(table.read())) == dict.fromkeys(range(9), "a") | {1: "d", 8: "c"}


def test_a_bitmap_is_used_for_a_source_that_the_caller_has_cached(
    spark: SparkSession, table_name: str, used: list[bool]
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    one_file(spark, [(i, "a") for i in range(9)], "id bigint, v string").writeTo(table_name).append()
    source = spark.range(5, 12).selectExpr("id", "'b' v").persist()
    try:
        for _ in range(2):  # the first time it has not been computed yet
            table.merge(source, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    finally:
        source.unpersist()
    assert used == [True, True]
    assert_same_rows(table.read(), [(i, "a" if i < 5 else "b") for i in range(12)])


def fail(error: BaseException) -> Any:
    raise error


def test_errors_of_a_job_and_of_the_plan_made_during_it(spark: SparkSession, table_name: str) -> None:
    gateway = create(spark, table_name, "id bigint")._handle.gateway
    assert plan_during_job(gateway, lambda: 1, lambda: 2) == (1, 2)
    for job, plan, expected in (
        (None, ValueError("plan"), "plan"),
        (ValueError("job"), None, "job"),
        (ValueError("job"), ValueError("plan"), "plan"),
        (KeyboardInterrupt("stop"), ValueError("plan"), "stop"),
    ):
        with pytest.raises((ValueError, KeyboardInterrupt), match=expected):
            plan_during_job(gateway, lambda job=job: job and fail(job), lambda plan=plan: plan and fail(plan))  # type: ignore[misc]


def test_a_plan_is_made_where_threads_of_python_have_none_of_their_own_in_java(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = create(spark, table_name, "id bigint")._handle.gateway
    monkeypatch.setattr(SparkContext, "_gateway", object())  # as with PYSPARK_PIN_THREAD=false
    assert plan_during_job(gateway, lambda: 1, lambda: 2) == (1, 2)


@pytest.mark.spark4("a session has tags only with Spark Connect")
def test_the_plan_belongs_to_the_callers_jobs(spark: SparkSession, table_name: str) -> None:
    gateway, context = create(spark, table_name, "id bigint")._handle.gateway, spark.sparkContext
    context.setLocalProperty("spark.job.description", "mine")
    spark.addTag("of_the_caller")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = plan_during_job(gateway, spark.getTags, lambda: context.getLocalProperty("spark.job.description"))
            assert found == ({"of_the_caller"}, "mine")
            assert plan_during_job(gateway, lambda: 1, spark.getTags) == (1, {"of_the_caller"})
    finally:
        spark.clearTags()
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
