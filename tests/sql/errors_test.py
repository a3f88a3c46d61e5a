"""What is wrong with a statement is said of the statement as it was written, although another text was run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

import rowdelta as rd

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


def error(run: Callable[[], object]) -> AnalysisException:
    with pytest.raises(AnalysisException) as found:
        run()
    return found.value


def places(message: str) -> list[tuple[str, ...]]:
    return re.findall(r"line (\d+),? pos (\d+)", message)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_errors_have_sparks_words_and_positions(pair: Pair, spark: SparkSession, statement: str) -> None:
    text = statement.replace("{t}", f"lake.{pair.live}.orders")
    ours, stock = error(lambda: rd.sql(spark, text)), error(lambda: spark.sql(text))
    assert "__rowdelta" not in str(ours)
    assert (ours.getCondition(), places(str(ours))) == (stock.getCondition(), places(str(stock)))


def test_positions_are_those_before_values_took_the_place_of_parameters(pair: Pair, spark: SparkSession) -> None:
    args: dict[str, Any] = {"a": "a long value", "b": 2**40}
    for statement in ("SELECT :a FROM {t} WHERE id = :b AND\n:a = :b OR nowhere", "DELETE FROM {t} WHERE id = :b + no"):
        text = statement.replace("{t}", f"lake.{pair.live}.orders")
        found = error(lambda text=text: rd.sql(spark, text, args))  # type: ignore[misc]
        wrong = text.index("no", text.index("id ="))
        line, start = text.count("\n", 0, wrong) + 1, text.rfind("\n", 0, wrong) + 1
        assert places(str(found)) == [(str(line), str(wrong - start))]
