"""SQL text that rowdelta generates: quoted here, and parsed alike in every session.

What a text means depends on settings of the session: whether a backslash in a string escapes, whether a name in
backticks is a regular expression, which words are reserved, what `timestamp` stands for, whether `${x}` is replaced.
Text of a user follows them. Text of ours must not: it is parsed with Spark's default settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql.classic import column as classic

from rowdelta.errors import SessionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession


_TEXT: Final = "Ljava/lang/String;"
_OBJECT: Final = "Ljava/lang/Object;"
_RESULTS: Final = {
    "parseExpression": "org/apache/spark/sql/catalyst/expressions/Expression",
    "parsePlan": "org/apache/spark/sql/catalyst/plans/logical/LogicalPlan",
}


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
    expressions: Any
    datasets: Any
    project: Any
    parsers: dict[str, tuple[Any, Any]]

    def parsed(self, method: str, text: str) -> Any:
        """What Spark's parser makes of a text with default settings, whichever session is active in the thread."""
        last, parse = self.parsers[method]
        try:
            return last.accumulateAndGet(text, parse)
        except Py4JJavaError:
            getattr(self.parser, method)(text)  # fails as itself: a proxy wraps what a parser throws
            raise

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
    parser = getattr(getattr(sql.catalyst.parser, "CatalystSqlParser$"), "MODULE$")
    return _Spark(
        parser=parser,
        expressions=sql.classic.ExpressionUtils,
        datasets=sql.classic.Dataset,
        project=sql.catalyst.plans.logical.Project,
        parsers={method: _with_default_settings(jvm, parser, method, kind) for method, kind in _RESULTS.items()},
    )


def _with_default_settings(jvm: Any, parser: Any, method: str, result: str) -> tuple[Any, Any]:
    """A method of the parser as one Java call that has settings of its own.

    Several calls could run in several JVM threads (`PYSPARK_PIN_THREAD=false`), and the active session is a thread's.
    `SQLConf.withExistingConf` runs a function without arguments, so the text comes to it in a `ThreadLocal`. All is put
    into an operator for `AtomicReference.accumulateAndGet`, which py4j can call on every version of Java.
    """
    handles, types = jvm.java.lang.invoke.MethodHandles, jvm.java.lang.invoke.MethodType
    settings = "org/apache/spark/sql/internal/SQLConf"

    def found(name: str) -> Any:
        return jvm.org.apache.spark.util.Utils.classForName(name, True, False)

    def signature(text: str) -> Any:
        return types.fromMethodDescriptorString(text, found("scala.Function0").getClassLoader())

    def function(kind: str, handle: Any) -> Any:
        return jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(found(kind), handle)

    lookup, local, text = handles.publicLookup(), jvm.java.lang.ThreadLocal(), found("java.lang.ThreadLocal")
    get = lookup.findVirtual(text, "get", signature(f"(){_OBJECT}")).bindTo(local).asType(signature(f"(){_TEXT}"))
    put = lookup.findVirtual(text, "set", signature(f"({_OBJECT})V")).bindTo(local)
    parse = lookup.findVirtual(parser.getClass(), method, signature(f"({_TEXT})L{result};")).bindTo(parser)
    run = lookup.findStatic(
        found(settings.replace("/", ".")), "withExistingConf", signature(f"(L{settings};Lscala/Function0;){_OBJECT}")
    )
    run = run.bindTo(jvm.org.apache.spark.sql.internal.SQLConf())
    run = run.bindTo(function("scala.Function0", handles.foldArguments(parse, get)))
    operator = handles.dropArguments(handles.filterReturnValue(put, run), 0, [found("java.lang.Object")])
    return jvm.java.util.concurrent.atomic.AtomicReference(), function("java.util.function.BinaryOperator", operator)
