"""SQL text that rowdelta generates: quoted here, and parsed alike in every session.

What a text means depends on settings of the session: whether a backslash in a string escapes, whether a name in
backticks is a regular expression, which words are reserved, what `timestamp` stands for, whether `${x}` is replaced.
Text of a user follows them. Text of ours must not: it is parsed with Spark's default settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql.classic import column as classic

from rowdelta.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession


def quote(name: str) -> str:
    """A name in backticks.

    Examples:
        >>> quote("a`b")
        '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def string_literal(text: str) -> str:
    r"""A text in quotes.

    Examples:
        >>> string_literal("o'b"), string_literal("a\\b")
        ("'o\\'b'", "'a\\\\b'")
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def sql_column(text: str) -> Column:
    """The column of a generated expression."""
    spark = _running()
    return classic.Column(spark.expressions.column(spark.parsed("parseExpression", text)))


def sql_columns(texts: Sequence[str]) -> list[Column]:
    """The columns of generated expressions, each with a name; together they take a fraction of the time."""
    if not texts:
        return []
    spark = _running()
    parsed = spark.projections(texts)
    return [classic.Column(spark.expressions.column(parsed.apply(index))) for index in range(len(texts))]


def select_sql(frame: DataFrame, *texts: str) -> DataFrame:
    """As `frame.selectExpr()`, for generated text."""
    spark, java = _running(), _java(frame)
    plan = spark.project(spark.projections(texts), java.logicalPlan())
    return DataFrame(spark.datasets.ofRows(java.sparkSession(), plan), frame.sparkSession)


def where_sql(frame: DataFrame, text: str) -> DataFrame:
    """As `frame.where()`, for generated text."""
    return DataFrame(_java(frame).filter(_java(sql_column(text))), frame.sparkSession)


def run_sql(spark: SparkSession, text: str) -> DataFrame:
    """As `spark.sql()`, for a generated statement."""
    running, session = _running(), spark._jsparkSession
    return DataFrame(running.datasets.ofRows(session, running.parsed("parsePlan", text)), spark)


def _java(value: Any) -> Any:
    return value._jdf if isinstance(value, DataFrame) else value._jc


@dataclass(frozen=True)
class _Spark:
    """The classes of Spark that are needed here, each looked up once: py4j asks all jars for every part of a name."""

    parser: Any
    sessions: Any
    expressions: Any
    datasets: Any
    project: Any

    def parsed(self, method: str, text: str) -> Any:
        """What Spark's parser makes of a text in a thread without a session: there it has its default settings."""
        before = self.sessions.getActiveSession()
        self.sessions.clearActiveSession()
        try:
            return getattr(self.parser, method)(text)
        finally:
            if before.isDefined():
                self.sessions.setActiveSession(before.get())

    def projections(self, texts: Sequence[str]) -> Any:
        """The expressions of a SELECT."""
        return self.parsed("parsePlan", f"SELECT {', '.join(texts)}").projectList()


def _running() -> _Spark:
    context: Any = SparkContext._active_spark_context
    if context is None:
        raise SessionError("Spark has been stopped", hint="start a session: rd.session(...)")
    return _classes(context._jvm)


@lru_cache(maxsize=1)
def _classes(jvm: Any) -> _Spark:
    sql = jvm.org.apache.spark.sql
    return _Spark(
        parser=getattr(getattr(sql.catalyst.parser, "CatalystSqlParser$"), "MODULE$"),
        sessions=sql.classic.SparkSession,
        expressions=sql.classic.ExpressionUtils,
        datasets=sql.classic.Dataset,
        project=sql.catalyst.plans.logical.Project,
    )
