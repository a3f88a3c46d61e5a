"""An error names places in the statement as the user wrote it, although Spark runs another text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

import rowdelta as rd
from rowdelta.spark import get_condition

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.support.table_pairs import Pair

STATEMENTS = [
    "SELECT id FROM {t} WHERE id = 1 AND nowhere = 1",
    "SELECT {t}.id\nFROM {t} JOIN {t} AS b ON b.id = b.nowhere",
    "SELECT id FROM {t} GROUP BY id HAVING count(amount, amount) = 1 AND nowhere(id) = 1",
    "INSERT INTO {t} SELECT * FROM {t}, {t} WHERE 1 = 0",
    "DELETE FROM {t} WHERE id = 1 AND\nnowhere = 1",
    "DELETE FROM {t} WHERE id IN (SELECT id FROM {t} WHERE nowhere)",
    "UPDATE {t} SET\namount = nowhere WHERE id = 2",
    "MERGE INTO {t} a USING {t} b ON a.id = b.id\nWHEN MATCHED AND b.nowhere THEN DELETE",
]


MERGE = "MERGE INTO {t} a USING (SELECT 1L id) b ON a.id = b.id\n"
# Statements that fail on a value, and the part of them that Spark then shows.
FAILING = [
    ("DELETE FROM {t} WHERE id = 1 AND\n1 / (amount - amount) > 0", "1 / (amount - amount)"),
    ("UPDATE {t} SET\namount = 1 + 1 DIV (id - 1) WHERE id < 3", "1 DIV (id - 1)"),
    (
        "UPDATE {t} SET amount = 1 DIV (id - (SELECT 1 FROM {t} WHERE id = 1))",
        "1 DIV (id - (SELECT 1 FROM {t} WHERE id = 1))",
    ),
    (MERGE + "WHEN MATCHED AND 1 / (a.id - 1) > 0 THEN DELETE", "1 / (a.id - 1)"),
    (MERGE + "WHEN MATCHED THEN UPDATE SET amount = 1 DIV (a.id - 1)", "1 DIV (a.id - 1)"),
    (MERGE + "WHEN NOT MATCHED BY SOURCE AND amount / (id - id) > 0 THEN DELETE", "amount / (id - id)"),
    (MERGE + "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET amount = amount DIV (id - id)", "amount DIV (id - id)"),
    ("UPDATE {t} SET amount = :value DIV (id - 1) WHERE id = :id", ":value DIV (id - 1)"),
    ("UPDATE {t} SET amount = :value WHERE :value DIV (id - :id) > 1", ":value DIV (id - :id)"),
    ("UPDATE {t} SET amount = id DIV :zero WHERE id = 1", "id DIV :zero"),
    ("UPDATE {t} SET amount = 1 WHERE id = 1 AND amount / (id - 1) > 0", "amount / (id - 1)"),
]


def error(run: Callable[[], object]) -> AnalysisException:
    with pytest.raises(AnalysisException) as found:
        run()
    return found.value


def places(message: str) -> list[tuple[str, ...]]:
    return re.findall(r"line (\d+),? pos (\d+)", message)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_errors_have_sparks_words_and_positions(pair: Pair, spark: SparkSession, statement: str) -> None:
    text = statement.replace("{t}", f"lake.{pair.live}.orders")
    ours, theirs = error(lambda: rd.sql(spark, text)), error(lambda: spark.sql(text))
    assert "__rowdelta" not in str(ours)
    assert (get_condition(ours), places(str(ours))) == (get_condition(theirs), places(str(theirs)))


def test_positions_are_those_before_values_took_the_place_of_parameters(pair: Pair, spark: SparkSession) -> None:
    args: dict[str, Any] = {"a": "a long value", "b": 2**40}
    for statement in ("SELECT :a FROM {t} WHERE id = :b AND\n:a = :b OR nowhere", "DELETE FROM {t} WHERE id = :b + no"):
        text = statement.replace("{t}", f"lake.{pair.live}.orders")
        found = error(lambda text=text: rd.sql(spark, text, args))  # type: ignore[misc]
        wrong = text.index("no", text.index("id ="))
        line, start = text.count("\n", 0, wrong) + 1, text.rfind("\n", 0, wrong) + 1
        assert places(str(found)) == [(str(line), str(wrong - start))]


@pytest.mark.parametrize(("statement", "fragment"), FAILING)
def test_values_that_fail_are_shown_at_their_position(
    pair: Pair, spark: SparkSession, statement: str, fragment: str
) -> None:
    text, fragment = (part.replace("{t}", f"lake.{pair.live}.orders") for part in (statement, fragment))
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO") as found:
        rd.sql(spark, text, {"value": 123456, "id": 1, "zero": 0} if ":" in text else None)
    at = text.index(fragment)
    line, start = text.count("\n", 0, at) + 1, text.rfind("\n", 0, at) + 1
    head, shown, marks = str(found.value).split("== SQL")[1].splitlines()[:3]
    assert head.lstrip() == f"(line {line}, position {at - start + 1}) =="  # Spark 3.5 has no space before it
    assert shown[marks.index("^") : marks.rindex("^") + 1] == fragment
