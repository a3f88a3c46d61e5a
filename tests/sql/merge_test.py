from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import ParseException

import rowdelta as rd
from tests.support.spark_versions import SPARK_4_SYNTAX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.table_pairs import Pair


def test_merge_with_every_kind_of_clause(pair: Pair) -> None:
    numbers = pair.change(
        "MERGE INTO lake.{db}.orders AS t USING (SELECT * FROM VALUES (3, 'new', 1), (5, 'gone', 2), (6, 'six', 3) "
        "AS v(id, region, n)) AS s ON t.id = s.id AND s.n > 0\n"
        "WHEN MATCHED AND s.region = 'gone' THEN DELETE\n"
        "WHEN MATCHED THEN UPDATE SET t.region = concat(s.region, '=', t.region), amount = s.n\n"
        "WHEN NOT MATCHED BY TARGET AND n < 9 THEN INSERT (id, t.region, amount) VALUES (s.id, region, 7)\n"
        "WHEN NOT MATCHED BY SOURCE AND id > 17 THEN UPDATE SET region = 'old', amount = amount + 1\n"
        "WHEN NOT MATCHED BY SOURCE AND t.id = 0 THEN DELETE;"
    )
    assert [numbers[name] for name in ("rows_deleted", "rows_inserted", "rows_updated")] == [2, 1, 3]


def test_merge_all_columns_from_tables_queries_and_common_tables(pair: Pair) -> None:
    pair.change(
        "WITH few AS (SELECT * FROM lake.{db}.orders WHERE id < 3), "
        "s AS (SELECT id + 1 id, region, -amount amount, info FROM few) "
        "MERGE INTO lake.{db}.orders USING s ON orders.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    pair.change(
        "MERGE INTO lake.{db}.orders t USING lake.{db}.orders s ON t.id = s.id + 1 "
        "WHEN MATCHED AND t.id > 10 THEN UPDATE SET region = s.region "
        "WHEN NOT MATCHED THEN INSERT (id, region) VALUES (s.id + 1, s.region)"
    )


def test_merge_with_names_instead_of_aliases(pair: Pair, spark: SparkSession) -> None:
    for namespace in (pair.live, pair.plain):
        spark.sql(f"CREATE TABLE lake.{namespace}.changes USING iceberg AS SELECT id, 'c' region FROM range(5, 8)")
    try:
        pair.change(
            "MERGE INTO lake.{db}.orders USING lake.{db}.changes ON lake.{db}.orders.id = {db}.changes.id "
            "WHEN MATCHED AND lake.{db}.changes.id < 7 THEN UPDATE SET lake.{db}.orders.region = changes.region "
            "WHEN MATCHED THEN DELETE"
        )
    finally:
        for namespace in (pair.live, pair.plain):
            spark.sql(f"DROP TABLE lake.{namespace}.changes PURGE")


def test_merge_with_aliases_of_any_name(pair: Pair) -> None:
    pair.change(
        "MERGE INTO lake.{db}.orders AS `the table` USING (SELECT id + 1 id, 'n' region, 5 amount, info "
        "FROM lake.{db}.orders WHERE id > 12) AS `a.source` ON `the table`.id = `a.source`.id "
        "WHEN MATCHED AND `a.source`.id = 15 THEN DELETE "
        "WHEN MATCHED AND `the table`.id = 16 "
        "THEN UPDATE SET `the table`.amount = `a.source`.amount + `the table`.amount "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def test_merge_may_use_subqueries_where_plain_spark_may_not(pair: Pair) -> None:
    pair.rowdelta(
        "MERGE INTO lake.{db}.orders t USING (SELECT 1 AS one) ON t.id > one "
        "WHEN MATCHED AND t.id IN (SELECT max(id) FROM lake.{db}.orders) THEN DELETE "
        "WHEN MATCHED AND t.id = 18 THEN UPDATE SET t.info.a = one + 100"
    )
    assert pair.rowdelta("SELECT id, info.a FROM lake.{db}.orders ORDER BY id DESC").first() == (18, 101)


@SPARK_4_SYNTAX
def test_merge_refuses_schema_evolution(pair: Pair) -> None:
    with pytest.raises(rd.InputError, match="SCHEMA EVOLUTION"):
        pair.rowdelta(
            "MERGE WITH SCHEMA EVOLUTION INTO lake.{db}.orders t USING lake.{db}.orders s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET *"
        )


def test_merge_refuses_what_it_cannot_do(pair: Pair) -> None:
    with pytest.raises(rd.InputError, match="both called 'orders'"):
        pair.rowdelta("MERGE INTO lake.{db}.orders USING lake.{db}.orders ON true WHEN MATCHED THEN DELETE")
    with pytest.raises(rd.InputError, match="more than one row"):
        pair.rowdelta(
            "MERGE INTO lake.{db}.orders t USING (VALUES (5, 'a'), (5, 'b')) s ON t.id = col1 "
            "WHEN MATCHED THEN UPDATE SET region = col2"
        )
    with pytest.raises(ParseException):
        pair.rowdelta(
            "MERGE INTO lake.{db}.orders t USING lake.{db}.orders s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT (id, region) VALUES (1)"
        )
