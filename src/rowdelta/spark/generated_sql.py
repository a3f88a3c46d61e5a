"""Parses SQL that rowdelta generates, in the same way in every session.

The meaning of SQL depends on settings of the session: whether a backslash in a string is an escape, whether a name in
backticks is a regular expression, which words are reserved, which type `timestamp` is, whether `${x}` is replaced. A
user's SQL follows these settings. Generated SQL must not: it is parsed with Spark's default settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from rowdelta.errors import SessionError
from rowdelta.spark.jvm_packages import get_packages
from rowdelta.spark.launch import find_running_context
from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, SparkSession


_TEXT: Final = "Ljava/lang/String;"
_OBJECT: Final = "Ljava/lang/Object;"
_RESULTS: Final = {
    "parseExpression": "org/apache/spark/sql/catalyst/expressions/Expression",
    "parsePlan": "org/apache/spark/sql/catalyst/plans/logical/LogicalPlan",
}
_CALL: Final = "call"


def parse_column(text: str) -> Column:
    """Parses a generated expression into a column."""
    spark = _find_running_spark()
    return spark.make_column(spark.parse("parseExpression", text))


def parse_columns(texts: Sequence[str]) -> list[Column]:
    """Parses generated expressions, each with an alias. One call for all takes a fraction of the time."""
    if not texts:
        return []
    spark = _find_running_spark()
    expressions = spark.parse_projections(texts)
    return [spark.make_column(expressions.apply(index)) for index in range(len(texts))]


def select_sql(frame: DataFrame, *texts: str) -> DataFrame:
    """Runs `frame.selectExpr()` with generated expressions."""
    spark, java = _find_running_spark(), _to_java(frame)
    plan = spark.project(spark.parse_projections(texts), java.logicalPlan())
    return DataFrame(spark.datasets.ofRows(java.sparkSession(), plan), frame.sparkSession)


def where_sql(frame: DataFrame, text: str) -> DataFrame:
    """Runs `frame.where()` with a generated predicate."""
    return DataFrame(_to_java(frame).filter(_to_java(parse_column(text))), frame.sparkSession)


def run_sql(spark: SparkSession, text: str) -> DataFrame:
    """Runs `spark.sql()` with a generated statement."""
    running, session = _find_running_spark(), spark._jsparkSession
    return DataFrame(running.datasets.ofRows(session, running.parse("parsePlan", text)), spark)


def run_procedure(spark: SparkSession, call: str) -> DataFrame:
    """Runs a stored procedure of Iceberg with generated arguments."""
    running, session = _find_running_spark(), spark._jsparkSession
    text = f"CALL {call}".replace("${", r"\u0024{")  # Iceberg's own parser, on Spark 3.5, replaces variables
    return DataFrame(running.datasets.ofRows(session, running.parse(_CALL, text)), spark)


def _to_java(value: Any) -> Any:
    return value._jdf if isinstance(value, DataFrame) else value._jc


@dataclass(frozen=True)
class _Spark:
    """The Spark classes that this module needs, looked up once: py4j searches all jars for every part of a name.

    Attributes:
        jvm: The Java packages.
        datasets: The class of frames.
        project: The class of a SELECT.
        parsers: The methods of parsers: what is called directly, and the same with Spark's default settings.
    """

    jvm: Any
    datasets: Any
    project: Any
    parsers: dict[str, tuple[Any, Any, Any]]

    def make_column(self, expression: Any) -> Column:
        """Makes a column of an expression."""
        return SPARK.make_column(SPARK.make_expression_column(self.jvm, expression))

    def parse(self, method: str, text: str) -> Any:
        """Parses text with Spark's default settings, whichever session is active in the thread."""
        direct, result, operator = self.parsers[method]
        try:
            return result.accumulateAndGet(text, operator)
        except Py4JJavaError:
            direct(text)  # raises the parser's own error, which the proxy has wrapped
            raise

    def parse_projections(self, texts: Sequence[str]) -> Any:
        """Parses the expressions of a SELECT."""
        return self.parse("parsePlan", f"SELECT {', '.join(texts)}").projectList()


def _find_running_spark() -> _Spark:
    context: Any = find_running_context()
    if context is None:
        raise SessionError("Spark has been stopped", hint="start a session: rd.session(...)")
    return _find_classes(context._jvm)


@lru_cache(maxsize=1)
def _find_classes(jvm: Any) -> _Spark:
    sql = jvm.org.apache.spark.sql
    parser = getattr(getattr(sql.catalyst.parser, "CatalystSqlParser$"), "MODULE$")
    parsers = {method: _compose_parser(jvm, parser, method, result) for method, result in _RESULTS.items()}
    call_parser = SPARK.get_call_parser(jvm, parser)
    if call_parser is parser:
        parsers[_CALL] = parsers["parsePlan"]
    else:
        parsers[_CALL] = _compose_parser(jvm, call_parser, "parsePlan", _RESULTS["parsePlan"])
    return _Spark(
        jvm=get_packages(jvm),
        datasets=SPARK.get_dataset_class(jvm),
        project=sql.catalyst.plans.logical.Project,
        parsers=parsers,
    )


def _compose_parser(jvm: Any, parser: Any, method: str, result: str) -> tuple[Any, Any, Any]:
    """Composes a method of the parser and the default settings into one Java call.

    Several calls might run in different JVM threads (`PYSPARK_PIN_THREAD=false`), and each thread has its own active
    session. `SQLConf.withExistingConf` runs a function without arguments, which gets the text from a `ThreadLocal`. The
    whole is an operator for `AtomicReference.accumulateAndGet`, which py4j can call in every version of Java.
    """
    handles, types = jvm.java.lang.invoke.MethodHandles, jvm.java.lang.invoke.MethodType
    settings = "org/apache/spark/sql/internal/SQLConf"

    def java_class(name: str) -> Any:
        return jvm.org.apache.spark.util.Utils.classForName(name, True, False)

    def signature(text: str) -> Any:
        return types.fromMethodDescriptorString(text, java_class("scala.Function0").getClassLoader())

    def function(interface: str, handle: Any) -> Any:
        return jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(java_class(interface), handle)

    lookup = handles.publicLookup()
    local, local_class = jvm.java.lang.ThreadLocal(), java_class("java.lang.ThreadLocal")
    get = lookup.findVirtual(local_class, "get", signature(f"(){_OBJECT}")).bindTo(local)
    get = get.asType(signature(f"(){_TEXT}"))
    put = lookup.findVirtual(local_class, "set", signature(f"({_OBJECT})V")).bindTo(local)
    parse = lookup.findVirtual(parser.getClass(), method, signature(f"({_TEXT})L{result};")).bindTo(parser)
    run_signature = signature(f"(L{settings};Lscala/Function0;){_OBJECT}")
    run = lookup.findStatic(java_class(settings.replace("/", ".")), "withExistingConf", run_signature)
    run = run.bindTo(SPARK.make_default_settings(jvm))
    run = run.bindTo(function("scala.Function0", handles.foldArguments(parse, get)))
    operator = handles.dropArguments(handles.filterReturnValue(put, run), 0, [java_class("java.lang.Object")])
    reference = jvm.java.util.concurrent.atomic.AtomicReference()
    return getattr(parser, method), reference, function("java.util.function.BinaryOperator", operator)
