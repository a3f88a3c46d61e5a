"""A merge reads and writes no column and no file that it does not need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.change import choose_locator, open_target, read_target_rows
from rowdelta.merge.by_join import apply_clauses
from rowdelta.merge.candidates import Candidates
from rowdelta.merge.condition import parse_on_condition
from rowdelta.merge.matches import SOURCE
from rowdelta.merge.pairs import join_source
from tests.support.local_files import move_away
from tests.support.oracle import assert_same_rows
from tests.support.tables import create, head, one_file, plan_of, stored_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.verbs import Merge

COLUMNS = "id bigint NOT NULL, v string, w string"


def test_columns_that_every_clause_sets_are_not_read(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS)
    one_file(spark, [(i, "v", "w") for i in range(4)], COLUMNS).writeTo(table_name).append()
    table.refresh()
    source = spark.createDataFrame(
        [(1, "new", "x", "U"), (2, "new", None, "D")], "id bigint, v string, w string, op string"
    )

    def columns_read(merge: Merge) -> set[str]:
        target = open_target(table._handle)
        rows = read_target_rows(target, with_ids=True)
        candidates = Candidates(rows, None, choose_locator(target, rows), None)
        spec = merge._complete()
        numbered = source.selectExpr("*", f"id AS {SOURCE}")
        joined = join_source(spec, target, candidates, numbered, broadcast=True)
        pairs = apply_clauses(spec, target, joined, candidates.locator)
        scan = re.search(r"BatchScan [^\[]*\[([^\]]*)\]", plan_of(pairs))
        assert scan is not None
        return {name.split("#")[0].strip() for name in scan[1].split(",")} & {"id", "v", "w"}

    start = table.merge(source, on="id").when_matched_delete("s.op = 'D'")
    assert columns_read(start.when_matched_update_all()) == {"id"}
    some = table.merge(source, on="id").when_matched_delete("s.op = 'D'").when_matched_update({"v": "s.v"})
    assert columns_read(some) == {"id", "w"}
    start.execute()
    assert_same_rows(table.read(), [(0, "v", "w"), (1, "new", "x"), (3, "v", "w")])


def test_a_merge_that_only_inserts_has_a_plan_without_deletes(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS)
    one_file(spark, [(1, "v", "w")], COLUMNS).writeTo(table_name).append()
    merge = table.merge(spark.createDataFrame([(1, "x", "y"), (2, "x", "y")], COLUMNS), on="id")
    plan = str(merge.when_not_matched_insert_all().plan())
    assert "append (no clause changes a row)" in plan
    assert "deletion-vector" not in plan
    assert "deletion-vector" in str(merge.when_matched_update_all().plan())
    new = spark.createDataFrame([(1, "x", "y"), (2, "x", "y")], COLUMNS)
    result = table.merge(new, on="id").when_not_matched_insert_all().execute()
    assert (result.rows_inserted, result.rows_deleted, result.rows_updated) == (1, 0, 0)
    assert_same_rows(table.read(), [(1, "v", "w"), (2, "x", "y")])


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_a_merge_without_anything_to_do_makes_no_snapshot(spark: SparkSession, table_name: str, mode: rd.Mode) -> None:
    table = create(spark, table_name, COLUMNS)
    one_file(spark, [(1, "v", "w"), (2, "v", "w")], COLUMNS).writeTo(table_name).append()
    before = head(table.refresh()), stored_files(table)
    known, strange = (spark.createDataFrame([(i, "x", "y")], COLUMNS) for i in (1, 7))
    for merge in (
        table.merge(strange, "id", mode=mode).when_matched_update_all(),
        table.merge(strange, "id", mode=mode).when_matched_update({"v": "s.v"}, "t.w = 'w'").when_matched_delete(),
        table.merge(known, "id", mode=mode).when_matched_update({"v": "s.v"}, "t.v = 'nothing'"),
        table.merge(known, "id", mode=mode).when_not_matched_insert_all(),
        table.merge(strange, "id", mode=mode).when_not_matched_insert_all("s.v = 'nothing'"),
        table.merge(known, "id", mode=mode).when_not_matched_by_source_delete("t.id > 2"),
        table.merge(known.limit(0), "id", mode=mode).when_matched_delete().when_not_matched_insert_all(),
    ):
        result = merge.execute()
        assert (result.snapshot_id, result.rows_updated, result.rows_inserted) == (None, 0, 0)
    assert (head(table.refresh()), stored_files(table)) == before


def test_files_without_a_key_of_the_source_are_not_opened(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS)
    for start in (0, 10):
        one_file(spark, [(i, "v", "w") for i in range(start, start + 10)], COLUMNS).writeTo(table_name).append()
    others = {row[0] for row in spark.table(table_name).where("id >= 10").select("_file").collect()}
    source = spark.createDataFrame([(3, "x", "y"), (7, "x", "y")], COLUMNS)
    with move_away(others):
        assert table.merge(source, "id").when_matched_update_all().execute().rows_updated == 2
        assert table.merge(source, "id").when_matched_update({"w": "'z'"}, "t.id > 5").execute().rows_updated == 1
        assert (
            table.merge(source, "t.id = s.id AND t.v = s.v").when_matched_delete("t.id = 3").execute().rows_deleted == 1
        )
    expected = [(i, "v", "w") for i in range(20) if i not in {3, 7}]
    assert_same_rows(spark.table(table_name), [*expected, (7, "x", "z")])


def test_parentheses_in_a_condition_hide_no_key(spark: SparkSession, table_name: str) -> None:
    handle = create(spark, table_name, COLUMNS)._handle
    source = spark.createDataFrame([], "id bigint, v string")
    complete, more = "t.id = s.id AND t.v = s.v", "((t.id = s.id) AND ((s.v = t.v)) AND t.w > 'a')"
    for text in (complete, more):
        on = parse_on_condition(handle, text, source, ("t", "s"))
        assert on.pairs == {"id": "id", "v": "v"}
        assert on.is_complete == (text == complete)
    others = ("t.id = s.id AND t.id = s.v", "t.id = s.id OR true", "t.id <=> s.id", "t.id = s.id + 1", "t.id = t.s.id")
    for text in (*others, "s.t.id = s.id", "db.t.id = s.id"):
        assert not parse_on_condition(handle, text, source, ("t", "s")).is_complete


def test_a_condition_may_name_columns_in_backticks_and_any_case(spark: SparkSession, table_name: str) -> None:
    columns = "id bigint, `a.b` string, `o``clock` string, t bigint, place struct<id: bigint>"
    handle = create(spark, table_name, columns)._handle
    source = spark.createDataFrame([], columns)
    for text, pairs in {
        "T.ID = S.`Id`": {"id": "id"},
        "t.`a.b` = s.`A.B` AND s.`o``clock` = t.`o``clock`": {"a.b": "a.b", "o`clock": "o`clock"},
        "t.t = s.t": {"t": "t"},
    }.items():
        on = parse_on_condition(handle, text, source, ("t", "s"))
        assert (on.pairs, on.is_complete) == (pairs, True)
    for text in ("t.a.b = s.a.b", "t.place.id = s.id", "`t.id` = s.id", "id = s.id", "t.id = t.id", "s.id = s.id"):
        on = parse_on_condition(handle, text, source, ("t", "s"))
        assert (on.pairs, on.is_complete) == ({}, False)


def test_a_condition_without_keys_inserts_what_it_does_not_match(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS)
    one_file(spark, [(i, "v", "w") for i in range(3)], COLUMNS).writeTo(table_name).append()
    source = spark.createDataFrame([(1, "n", "w"), (7, "n", "w")], COLUMNS)
    source.createOrReplaceTempView("keyless_changes")
    rd.sql(
        spark,
        f"MERGE INTO {table_name} t USING keyless_changes s ON t.id + 0 = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    )
    assert_same_rows(table.refresh().read(), [(0, "v", "w"), (1, "n", "w"), (2, "v", "w"), (7, "n", None)])


def test_an_insert_gives_a_column_its_default(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint")
    handle = table._handle
    iceberg = handle.gateway.iceberg
    kind = getattr(iceberg.types, "Types$StringType").get()
    handle.java_table.updateSchema().addColumn("k", kind, "doc", iceberg.expressions.Expressions.lit("x")).commit()
    handle.refresh()
    spark.catalog.refreshTable(table_name)
    source = spark.createDataFrame([(1,)], "id bigint")
    table.merge(source, on="id").when_not_matched_insert({"id": "s.id"}).execute()
    assert_same_rows(table.read(), [(1, "x")])
