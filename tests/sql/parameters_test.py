"""Each parameter becomes one literal, whatever its value and wherever it stands."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from tests.support.oracle import assert_same_rows
from tests.support.tables import append_ids, create

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def one(spark: SparkSession, text: str, args: dict[str, Any] | list[Any]) -> Any:
    return rd.sql(spark, text, args).collect()[0][0]


def test_a_value_is_not_read_together_with_its_neighbours(spark: SparkSession) -> None:
    assert one(spark, "SELECT 5 -:d", {"d": -7}) == 12
    assert one(spark, "SELECT 5 -?-?", [Decimal("-7.5"), -1.0]) == 13.5
    assert one(spark, "SELECT -:d", {"d": -(2**63) + 1}) == 2**63 - 1
    assert one(spark, "SELECT:d||''", {"d": -7}) == "-7"
    assert rd.sql(spark, "SELECT ?D", [5]).dtypes == [("D", "int")]
    assert one(spark, "SELECT 1 WHERE 5=?AND true", [5]) == 1


def test_an_update_with_a_negative_value_keeps_its_condition(spark: SparkSession, table_name: str) -> None:
    """Two adjacent minus signs would begin a comment, which would hide the rest of the statement."""
    table = create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, range(4), "10")
    statement = f"UPDATE {table_name} SET v = CAST(v -:d AS string) WHERE id = :id"
    assert one(spark, f"EXPLAIN {statement}", {"d": -7, "id": 1}).startswith("update")
    rd.sql(spark, statement, {"d": -7, "id": 1})
    found = table.read().selectExpr("id", "cast(v AS double)")
    assert_same_rows(found, [(0, 10.0), (1, 17.0), (2, 10.0), (3, 10.0)])


STRINGS = ["${my.secret}", "$${env:HOME}", "it's", "\\", "\\'", "a\\u0024{b", "'; DROP TABLE t; --", '"\n\t%_', "é😀"]


@pytest.mark.parametrize("raw", ["false", "true"])
def test_a_string_stays_as_it_is(spark: SparkSession, raw: str) -> None:
    setting = "spark.sql.parser.escapedStringLiterals"
    spark.conf.set("my.secret", "told")
    spark.conf.set(setting, raw)
    try:
        marks = ", ".join("?" * len(STRINGS))
        assert list(rd.sql(spark, f"SELECT {marks}", STRINGS).collect()[0]) == STRINGS
    finally:
        spark.conf.unset(setting)
        spark.conf.unset("my.secret")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_values_and_types_are_those_of_pyspark(spark: SparkSession, zone: str) -> None:
    naive = dt.datetime(2024, 2, 29, 1, 2, 3, 4)  # noqa: DTZ001 - what is tested
    values = [naive, naive.replace(tzinfo=dt.timezone(dt.timedelta(hours=-3))), naive.date(), 7, -7, 2**40, 1.5, "x"]
    values += [Decimal("-12.50"), True, b"\x00", [naive], [-1, 2]]
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    query = f"SELECT {', '.join('?' * len(values))}"
    try:
        spark.conf.set("spark.sql.session.timeZone", zone)
        for kind in ("TIMESTAMP_LTZ", "TIMESTAMP_NTZ"):
            spark.conf.set("spark.sql.timestampType", kind)
            ours, theirs = rd.sql(spark, query, values), spark.range(1).select(*map(F.lit, values))
            assert [kind for _, kind in ours.dtypes] == [kind for _, kind in theirs.dtypes]
            assert list(ours.collect()[0]) == list(theirs.collect()[0])
    finally:
        spark.conf.unset("spark.sql.timestampType")
        spark.conf.set("spark.sql.session.timeZone", before)


def test_a_value_without_a_literal_is_named(spark: SparkSession) -> None:
    with pytest.raises(rd.InputError, match="Decimal has no literal in SQL: Decimal\\('NaN'\\)"):
        rd.sql(spark, "SELECT ?", [Decimal("NaN")])
