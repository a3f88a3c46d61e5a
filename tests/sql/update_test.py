from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

import rowdelta as rd
from tests.support.oracle import assert_same_rows
from tests.support.tables import create

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.table_pairs import Pair


def test_update_with_aliases_nested_fields_and_comments(pair: Pair) -> None:
    numbers = pair.change("UPDATE lake.{db}.orders SET amount = amount + 1, region = 'X' WHERE id < 5")
    assert (numbers["rows_updated"], numbers["rows_deleted"], numbers["rows_inserted"]) == (3, 0, 0)
    pair.change(
        "update lake.{db}.orders as o set o.amount = /* twice */ o.amount * 2, -- then\n"
        "o.info.b = concat(o.info.b, ', = ', upper('set')) where o.id = 6"
    )
    pair.change("UPDATE lake.{db}.orders SET lake.{db}.orders.amount = -orders.amount WHERE {db}.orders.id > 15")
    pair.change("UPDATE lake.{db}.orders SET `region` = NULL, info = named_struct('a', 1, 'b', 'x')")
    assert pair.change("UPDATE lake.{db}.orders SET amount = 0 WHERE id = 3")["snapshot_id"] is None


def test_update_with_subqueries(pair: Pair) -> None:
    pair.change(
        "UPDATE lake.{db}.orders SET amount = (SELECT max(amount) FROM lake.{db}.orders) "
        "WHERE id IN (SELECT id FROM lake.{db}.orders WHERE region = 'EU')"
    )
    pair.change(
        "UPDATE lake.{db}.orders o SET amount = "
        "(SELECT max(i.amount) FROM lake.{db}.orders i WHERE i.region = o.region) WHERE o.id > 10"
    )
    pair.change(
        "UPDATE lake.{db}.orders SET orders.info.b = 'x', region = upper(lake.{db}.orders.region) WHERE EXISTS "
        "(SELECT 1 FROM lake.{db}.orders i WHERE i.id = lake.{db}.orders.id + 2 AND i.amount > orders.amount)"
    )


def test_update_of_names_with_dots_spaces_and_backticks(spark: SparkSession, table_name: str) -> None:
    columns = "`the id` bigint, `a.b` int, s struct<`x.y`: int, `p q`: string, r: struct<`t``u`: int>>"
    names = [f"{table_name}_{which}" for which in ("ours", "theirs")]
    statement = (
        "UPDATE {t} AS `my t` SET `a.b` = `my t`.`a.b` + 1, `my t`.s.`x.y` = 7, s.`p q` = 'new', "
        "s.r.`t``u` = `my t`.`the id` "
        "WHERE `my t`.`the id` > (SELECT min(`the id`) FROM {t} i WHERE i.`a.b` = `my t`.`a.b`)"
    )
    for name in names:
        create(spark, name, columns, properties={"write.update.mode": "copy-on-write"})
        spark.sql(
            f"INSERT INTO {name} SELECT id, 1, named_struct('x.y', 2, 'p q', 'z', 'r', named_struct('t`u', 3)) "
            "FROM range(4)"
        )
    rd.sql(spark, statement.replace("{t}", names[0]))
    spark.sql(statement.replace("{t}", names[1]))
    assert_same_rows(*(spark.table(name) for name in names))
    for name in names:
        spark.sql(f"DROP TABLE {name}")


def test_update_refuses_what_it_cannot_do(pair: Pair) -> None:
    with pytest.raises(rd.InputError, match="DEFAULT"):
        pair.rowdelta("UPDATE lake.{db}.orders SET amount = DEFAULT")
    with pytest.raises(rd.InputError, match="twice"):
        pair.rowdelta("UPDATE lake.{db}.orders SET amount = 1, amount = 2")
    with pytest.raises(AnalysisException, match=r"(?s)`amuont`.*`amount`.*line 2 pos 4"):
        pair.rowdelta("UPDATE lake.{db}.orders\nSET amuont = 1")
