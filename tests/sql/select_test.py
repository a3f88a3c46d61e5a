from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, ParseException

import rowdelta as rd
from tests.support.oracle import assert_same_rows, rows
from tests.support.spark_versions import SPARK_4_SYNTAX
from tests.support.table_pairs import GONE, Pair, make_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def pair(spark: SparkSession) -> Iterator[Pair]:
    pair = make_pair(spark)
    yield pair
    pair.drop()


def test_plain_spark_refuses_what_rowdelta_reads(pair: Pair, spark: SparkSession) -> None:
    with pytest.raises(Exception, match=r"(?i)puffin|unsupported|cannot|format"):
        spark.table(f"lake.{pair.live}.orders").collect()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM lake.{db}.orders",
        (
            "select /* lake.{db}.orders */ ID, Orders.Amount, lake.{db}.orders.info.a, {db}.orders.region -- orders\n"
            "from lake.{db}.orders where lake.{db}.orders.id > 2;"
        ),
        "SELECT o.*, lake.{db}.orders.* FROM lake.{db}.orders, `lake`.`{db}`.`orders` AS o WHERE o.id = orders.id + 1",
        (
            "WITH orders AS (SELECT id FROM lake.{db}.orders WHERE id < 9), x AS (SELECT * FROM orders) "
            "SELECT x.id FROM x JOIN orders USING (id)"
        ),
        (
            "SELECT id FROM lake.{db}.orders WHERE id IN (SELECT max(id) - 2 FROM lake.{db}.orders) "
            "UNION ALL SELECT count(*) FROM lake.{db}.orders EXCEPT SELECT 5"
        ),
        "SELECT a.id, (SELECT count(*) FROM lake.{db}.orders b WHERE b.region = a.region) n FROM lake.{db}.orders a",
        "SELECT r, count(*) n FROM lake.{db}.orders AS o(i, r, a, f) GROUP BY r HAVING count(*) > 1 ORDER BY n LIMIT 2",
        "TABLE lake.{db}.orders",
        pytest.param(
            "FROM lake.{db}.orders |> WHERE amount > 100 |> AGGREGATE sum(amount) AS total GROUP BY region",
            marks=SPARK_4_SYNTAX,
        ),
        "SELECT * FROM lake.{db}.orders TABLESAMPLE (100 PERCENT)",
        (
            "SELECT orders.id, p FROM lake.{db}.orders LATERAL VIEW explode(array(1, 2)) AS p "
            "WHERE exists(array(orders.id), orders -> orders > 3)"
        ),
        "SELECT * FROM (SELECT region, amount FROM lake.{db}.orders) PIVOT (sum(amount) FOR region IN ('EU', 'US'))",
        "SELECT snapshot_id IS NULL FROM lake.{db}.orders.snapshots LIMIT 1",
    ],
)
def test_a_query_sees_the_live_rows(pair: Pair, query: str) -> None:
    pair.assert_same(query)


def test_the_frame_outlives_the_views_and_leaves_none_behind(pair: Pair, spark: SparkSession) -> None:
    frame = pair.rowdelta("SELECT id FROM lake.{db}.orders")
    assert not [table.name for table in spark.catalog.listTables() if "rowdelta" in table.name]
    assert frame.count() == 20 - len(GONE)
    assert frame.where("id < 5").join(frame, "id").count() == 3
    with pytest.raises(AnalysisException):
        pair.rowdelta("SELECT nothing FROM lake.{db}.orders")
    assert not [table.name for table in spark.catalog.listTables() if "rowdelta" in table.name]


def test_names_follow_the_current_namespace_and_temporary_views_come_first(pair: Pair, spark: SparkSession) -> None:
    catalog, namespace = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    try:
        rd.sql(spark, f"USE lake.{pair.live}")
        assert rd.sql(spark, "SELECT orders.id FROM orders").count() == 17
        assert rd.sql(spark, f"SELECT {pair.live}.orders.id FROM orders").count() == 17
        spark.range(2).createTempView("orders")
        assert rd.sql(spark, "SELECT orders.id FROM orders").count() == 2
    finally:
        spark.catalog.dropTempView("orders")
        spark.sql(f"USE {catalog}.{namespace}")


def test_tables_of_one_name_are_distinguished_by_their_namespaces(pair: Pair, spark: SparkSession) -> None:
    live, plain = f"lake.{pair.live}.orders", f"lake.{pair.plain}.orders"
    query = f"SELECT {live}.id, {plain}.id FROM {live} JOIN {plain} ON {live}.id = {plain}.id"
    assert len(rows(rd.sql(spark, query))) == 17


def test_time_travel_branches_and_tags(pair: Pair, spark: SparkSession) -> None:
    name = f"lake.{pair.live}.orders"
    first, second = (
        row[0] for row in spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()
    )
    time = spark.sql(f"SELECT max(committed_at) FROM {name}.snapshots").collect()[0][0]
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH b AS OF VERSION {second}")
    spark.sql(f"ALTER TABLE {name} CREATE TAG before AS OF VERSION {first}")
    expected = {
        f"{name} VERSION AS OF {first}": 20,
        f"{name} VERSION AS OF {second}": 17,
        f"{name} FOR VERSION AS OF 'b' AS x": 17,
        f"{name} VERSION AS OF 'before'": 20,
        f"{name} TIMESTAMP AS OF '{time}'": 17,
        f"{name} TIMESTAMP AS OF current_timestamp()": 17,
        f"{name}.branch_b": 17,
        f"{name}.tag_before": 20,
        f"{name}.snapshot_id_{second}": 17,
    }
    found = {text: rd.sql(spark, f"SELECT count(id) FROM {text}").collect()[0][0] for text in expected}
    assert found == expected
    assert rd.sql(spark, f"SELECT branch_b.id FROM {name}.branch_b").count() == 17


def test_parameters_and_variables(pair: Pair, spark: SparkSession) -> None:
    name = f"lake.{pair.live}.orders"
    assert rows(rd.sql(spark, f"SELECT id FROM {name} WHERE id = :x", {"x": 5})) == [(5,)]
    assert rows(rd.sql(spark, f"SELECT id FROM {name} WHERE id IN (?, ?)", [3, 6])) == [(6,)]
    spark.conf.set("orders.table", name)
    assert rd.sql(spark, "SELECT id FROM ${orders.table}").count() == 17


def test_new_tables_and_inserts_read_live_rows(pair: Pair, spark: SparkSession, table_name: str) -> None:
    name = f"lake.{pair.live}.orders"
    rd.sql(spark, f"CREATE TABLE {table_name} USING iceberg AS SELECT * FROM {name}")
    rd.sql(spark, f"WITH few AS (SELECT * FROM {name} WHERE id < 5) INSERT INTO {table_name} SELECT * FROM few")
    rd.sql(spark, f"INSERT INTO {table_name} TABLE {name}")
    copied = spark.table(table_name)
    expected = pair.plain_spark("SELECT * FROM lake.{db}.orders")
    assert_same_rows(copied, expected.union(expected.where("id < 5")).union(expected))
    assert "DataSource" not in rd.sql(spark, f"EXPLAIN SELECT * FROM {name}").collect()[0][0].splitlines()[0]


def test_other_statements_and_errors_are_sparks_own(pair: Pair, spark: SparkSession) -> None:
    assert rd.sql(spark, f"SHOW TABLES IN lake.{pair.live}").count() == 1
    rd.sql(spark, f"ALTER TABLE lake.{pair.plain}.orders WRITE ORDERED BY id")  # of Iceberg's own grammar
    with pytest.raises(ParseException, match="line 2, pos 6") as wrong:
        rd.sql(spark, f"SELECT * FROM lake.{pair.live}.orders\nWHERE = 3")
    assert "WHERE = 3" in str(wrong.value)
    with pytest.raises(ParseException):
        rd.sql(spark, "SELECT 1; SELECT 2")
    with pytest.raises(ParseException):
        rd.sql(spark, "")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        rd.sql(spark, "SELECT * FROM lake.db.missing")
