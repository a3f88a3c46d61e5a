"""A condition is split as Spark's parser reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import ParseException

from rowdelta.spark import Conjuncts, Gateway, split_conjuncts
from tests.support.settings import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ID = (("t", "id"), ("s", "id"))


@pytest.mark.parametrize(
    ("text", "equalities", "others"),
    [
        ("t.id = s.id", (ID,), 0),
        ("t.id == s.id", (ID,), 0),
        ("(((t.id) = s.id) AND ((s.v = t.v)))", (ID, (("s", "v"), ("t", "v"))), 0),
        ("t.id = s.id and t.w > 'a' AND NOT s.gone", (ID,), 2),
        ("T.`Id` = s.ID", ((("T", "Id"), ("s", "ID")),), 0),
        ("t.`a.b` = s.`c ``d`", ((("t", "a.b"), ("s", "c `d")),), 0),
        ("t.s.id = db.t.id", ((("t", "s", "id"), ("db", "t", "id")),), 0),
        ("id = s.id /* AND t.v = s.v */", ((("id",), ("s", "id")),), 0),
        ("t.id = s.id OR t.v = s.v", (), 1),
        ("NOT (t.id = s.id AND t.v = s.v)", (), 1),
        ("t.id <=> s.id", (), 1),
        ("t.id = s.id + 1", (), 1),
        ("t.id = 'AND t.v = s.v'", (), 1),
        ("t.a[0] = s.a AND t.m['k'] = s.k", (), 2),
        ("t.id IN (s.id)", (), 1),
        ("t.id BETWEEN s.id AND s.id", (), None),
        ("true", (), 1),
    ],
)
def test_a_condition_has_equalities_and_other_parts(
    spark: SparkSession, text: str, equalities: tuple[object, ...], others: int | None
) -> None:
    conjuncts = split_conjuncts(Gateway(spark), text)
    assert conjuncts.equalities == equalities
    assert conjuncts.others == others if others is not None else conjuncts.others > 0


def test_the_parser_follows_the_session(spark: SparkSession) -> None:
    quoted = 't."id" = s."id"'
    with settings(spark, {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"}):
        assert split_conjuncts(Gateway(spark), quoted) == Conjuncts((ID,), 0)
    with pytest.raises(ParseException):
        split_conjuncts(Gateway(spark), "t.id = s.id AND (")


def test_a_long_condition_is_split(spark: SparkSession) -> None:
    text = " AND ".join(f"t.c{i} = s.c{i}" for i in range(100))
    assert [left for left, _ in split_conjuncts(Gateway(spark), text).equalities] == [
        ("t", f"c{i}") for i in range(100)
    ]
