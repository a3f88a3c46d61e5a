from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import ParseException

import rowdelta as rd
from tests.support.oracle import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.table_pairs import Pair


def test_delete_with_conditions_aliases_and_qualified_columns(pair: Pair) -> None:
    numbers = pair.change("DELETE FROM lake.{db}.orders WHERE id = 5 OR info.a = 3; -- and no more")
    assert (numbers["rows_deleted"], numbers["rows_inserted"], numbers["rows_updated"]) == (1, 0, 0)
    assert numbers["snapshot_id"] is not None
    assert pair.change("delete from lake.{db}.`orders` as `o` where o.id = 6 and `O`.info.b = '6'")["rows_deleted"] == 1
    pair.change(
        "DELETE FROM lake.{db}.orders WHERE lake.{db}.orders.id = 7 OR orders.amount = 80 OR {db}.orders.id = 3"
    )
    pair.change("DELETE FROM lake.{db}.orders o WHERE exists(array(o.info), o -> o.a = 9)")
    assert pair.change("DELETE FROM lake.{db}.orders WHERE id = 5")["snapshot_id"] is None
    pair.change("DELETE FROM lake.{db}.orders")


def test_delete_with_subqueries_over_live_rows(pair: Pair) -> None:
    pair.change(
        "DELETE FROM lake.{db}.orders WHERE id IN (SELECT id + 1 FROM lake.{db}.orders WHERE id BETWEEN 1 AND 4)"
    )
    pair.change(
        "WITH big AS (SELECT id FROM lake.{db}.orders), top AS (SELECT max(big.id) id FROM big) "
        "DELETE FROM lake.{db}.orders WHERE id = (SELECT top.id FROM top)"
    )
    pair.change(
        "DELETE FROM lake.{db}.orders o WHERE EXISTS "
        "(SELECT 1 FROM lake.{db}.orders i WHERE i.region = o.region AND i.id = o.id - 3)"
    )
    pair.change(
        "DELETE FROM lake.{db}.orders WHERE id > (SELECT min(i.id) FROM lake.{db}.orders i "
        "WHERE i.region = lake.{db}.orders.region)"
    )
    pair.change("DELETE FROM lake.{db}.orders WHERE lake.{db}.orders.id IN (SELECT min(id) FROM lake.{db}.orders)")
    correlated = (
        "DELETE FROM lake.{db}.orders AS `my o.` WHERE `my o.`.id < 100 AND NOT EXISTS "
        "(SELECT 1 FROM lake.{db}.orders i WHERE i.id > `my o.`.id)"
    )
    (plan,) = pair.rowdelta(f"EXPLAIN {correlated}").collect()
    assert plan["plan"].startswith("delete from")  # by its own verb, with what it can skip
    assert "in part" in plan["plan"]
    pair.change(correlated)


def test_delete_from_a_branch_and_explain(pair: Pair, spark: SparkSession) -> None:
    name = f"lake.{pair.live}.orders"
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH b")
    (plan,) = rd.sql(spark, f"EXPLAIN DELETE FROM {name} WHERE id = 5").collect()
    assert plan["plan"].startswith("delete from")
    rd.sql(spark, f"DELETE FROM {name}.branch_b WHERE branch_b.id IN (:low, :high)", {"low": 5, "high": 6})
    assert rd.sql(spark, f"SELECT id FROM {name}.branch_b").count() == 15
    assert rd.sql(spark, f"SELECT id FROM {name}").count() == 17


def test_a_wrong_delete_has_sparks_position(pair: Pair) -> None:
    with pytest.raises(ParseException, match="line 1, pos"):
        pair.rowdelta("DELETE FROM lake.{db}.orders WHERE id = = 3")


def test_other_tables_are_sparks_and_still_see_live_rows(pair: Pair, spark: SparkSession) -> None:
    try:
        spark.sql("CREATE TABLE default.delta_orders USING delta AS SELECT id FROM range(10)")
        rd.sql(spark, "DELETE FROM delta_orders WHERE id > 4")
        assert rows(spark.table("default.delta_orders")) == [(0,), (1,), (2,), (3,), (4,)]
        rd.sql(
            spark,
            f"MERGE INTO delta_orders d USING lake.{pair.live}.orders ON orders.id = d.id "
            "WHEN NOT MATCHED THEN INSERT (id) VALUES (orders.id)",
        )
        assert spark.table("default.delta_orders").count() == 19
    finally:
        spark.sql("DROP TABLE IF EXISTS default.delta_orders")


def test_a_table_of_format_version_1_is_sparks(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} USING iceberg TBLPROPERTIES ('format-version'='1') AS SELECT id FROM range(9)"
    )
    assert rd.sql(spark, f"DELETE FROM {table_name} WHERE id % 2 = 0").columns == []
    assert spark.table(table_name).count() == 4
