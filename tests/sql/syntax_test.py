from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.spark import ANY_CASE, parse_statement
from rowdelta.sql.parameters import write_literal
from rowdelta.sql.references import find_references
from rowdelta.sql.statement import classify
from tests.support.spark_versions import SPARK_4_SYNTAX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tables(spark: SparkSession, text: str) -> list[str]:
    root = parse_statement(spark, text)
    assert root is not None
    return [
        text[found.start : found.end]
        for found in find_references(root, text, ANY_CASE).tables
        if not found.common_table
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 'FROM a' FROM b -- FROM c\n/* FROM d */", ["b"]),
        ("SELECT 'é😀\n\t ) (' FROM `a b`.c JOIN d ON true, e.f.g AS x", ["`a b`.c", "d", "e.f.g"]),
        ("SELECT * FROM tableAlias, relation, query", ["tableAlias", "relation", "query"]),
        ("WITH a AS (SELECT * FROM b), c AS (SELECT * FROM a) SELECT * FROM c, x.a, A", ["b", "x.a"]),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) JOIN a", ["a"]),
        ("WITH a AS (WITH a AS (SELECT * FROM a) SELECT * FROM a) SELECT * FROM a", ["a"]),
        pytest.param(
            "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT * FROM a", [], marks=SPARK_4_SYNTAX
        ),
        pytest.param("SELECT * FROM a WITH ('split-size' = 1), range(3), b", ["b"], marks=SPARK_4_SYNTAX),
        ("SELECT * FROM a VERSION AS OF 3 x, b FOR SYSTEM_TIME AS OF '2024-01-01'", None),
        ("INSERT INTO a SELECT * FROM b WHERE id IN (SELECT id FROM c)", ["b", "c"]),
        ("DELETE FROM a WHERE EXISTS (SELECT 1 FROM b)", ["b"]),
        ("MERGE INTO a USING b ON true WHEN MATCHED AND x IN (TABLE c) THEN DELETE", ["b", "c"]),
    ],
)
def test_tables_that_are_read_are_found_at_their_offsets(
    spark: SparkSession, text: str, expected: list[str] | None
) -> None:
    found = tables(spark, text)
    assert found == (["a VERSION AS OF 3", "b FOR SYSTEM_TIME AS OF '2024-01-01'"] if expected is None else expected)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("SELECT 1", True),
        ("EXPLAIN SELECT 1", True),
        ("CREATE TABLE a USING parquet AS SELECT 1", True),
        ("CREATE TEMPORARY VIEW v AS SELECT * FROM a", False),
        ("CREATE VIEW v AS SELECT * FROM a", False),
        ("CACHE TABLE v AS SELECT * FROM a", False),
        ("DROP TABLE a", False),
        ("SET x = 1", False),
    ],
)
def test_only_statements_that_read_right_away_are_taken(spark: SparkSession, text: str, taken: bool) -> None:  # noqa: FBT001
    root = parse_statement(spark, text)
    assert root is not None
    assert (classify(root) is not None) == taken


@pytest.mark.parametrize("text", ["SELEC 1", "SELECT 1; SELECT 2", "", "ALTER TABLE t ADD PARTITION FIELD id"])
def test_what_is_not_of_sparks_grammar_is_left_to_spark(spark: SparkSession, text: str) -> None:
    assert parse_statement(spark, text) is None


def test_a_long_condition_is_read(spark: SparkSession) -> None:
    assert tables(spark, "SELECT * FROM a WHERE " + " OR ".join(f"id = {i}" for i in range(300))) == ["a"]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -7,
        2**40,
        1.5,
        float("inf"),
        Decimal("12.50"),
        'it\'s \\ "so"\n',
        b"\x00\xff",
        dt.date(2024, 2, 29),
        dt.datetime(2024, 2, 29, 1, 2, 3, 4),  # noqa: DTZ001
        [1, 2],
    ],
)
def test_a_parameter_is_the_same_value_in_sql(spark: SparkSession, value: Any) -> None:
    assert spark.sql(f"SELECT {write_literal(value)}").collect()[0][0] == value


def test_a_parameter_without_a_value_is_named(spark: SparkSession) -> None:
    with pytest.raises(rd.InputError, match=":b has no value"):
        rd.sql(spark, "SELECT :a, :b", {"a": 1})
    with pytest.raises(rd.InputError, match="parameter 2"):
        rd.sql(spark, "SELECT ?, ?", [1])
    with pytest.raises(rd.InputError, match="has no literal"):
        rd.sql(spark, "SELECT ?", [object()])
