"""Predicates as Iceberg expressions: for conflict detection, and for deletes that need no scan."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.sql_logic import SqlLogic
from rowdelta.spark import JavaError, analyzed_plan, dotted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg.table_handle import TableHandle


@dataclass(frozen=True)
class RowFilter:
    """A predicate in Iceberg's terms.

    Attributes:
        text: The predicate, much as Iceberg prints it.
        exact: Whether it says all that the predicate says; otherwise it is true for more rows.
        expression: Iceberg's expression, true for every row that the predicate is true for.
        certain: The same where it is true for no other row; None where it may be.
        translated: What Iceberg itself makes of the predicate, with its own idea of nulls and NaN.
    """

    text: str
    exact: bool
    expression: Any = field(repr=False)
    certain: Any = field(default=None, repr=False)
    translated: Any = field(default=None, repr=False)


def build_row_filter(handle: TableHandle, where: str | Column | None, alias: str | None = None) -> RowFilter:
    """Converts a predicate; a part of it that Iceberg cannot express is left out, which is safe for conflict detection.

    Args:
        handle: The table.
        where: SQL text or a Column; None for all rows.
        alias: What the predicate calls the table.
    """
    if where is None:
        return _row_filter(handle, [], exact=True)
    table = handle.spark.table(handle.full_name)
    return filter_of(handle, (table if alias is None else table.alias(alias)).where(where))


def filter_of(handle: TableHandle, matched: DataFrame | None) -> RowFilter:
    """Converts the predicate of rows of the table that were filtered last of all, and so analyzed already.

    None stands for all rows.
    """
    if matched is None:
        return build_row_filter(handle, None)
    parts = _simplified(handle, analyzed_plan(matched))
    converted = [found for found in (_convert(handle, part) for part in parts) if found is not None]
    exact = len(converted) == len(parts) and not any(part.nulls for part in converted)
    return _row_filter(handle, converted, exact=exact)


def _row_filter(handle: TableHandle, parts: list[Translated], *, exact: bool) -> RowFilter:
    expressions = handle.gateway.iceberg.expressions.Expressions
    both = getattr(expressions, "and")
    told, decided = expressions.alwaysTrue(), expressions.alwaysTrue()
    logic = SqlLogic(handle) if parts else None
    for part in parts:
        assert logic is not None
        told = both(told, part.expression)
        decided = both(decided, logic.rewritten(expressions.rewriteNot(part.expression), nulls=part.nulls))
    text = re.sub(r'ref\(name="(.*?)"\)', lambda name: dotted([name[1]]), str(told.toString()))
    return RowFilter(text, exact=exact, expression=decided, certain=decided if exact else None, translated=told)


@dataclass(frozen=True)
class Translated:
    """A part of a predicate as Iceberg translates it, and whether its negations are true for nulls."""

    expression: Any
    nulls: bool


def _convert(handle: TableHandle, part: Any) -> Translated | None:
    """Iceberg's expression of a part; None where it has none, or one of columns that are not stored.

    Iceberg's NOT EQUAL stands both for `<>` and for NOT `<=>`, which differ for nulls.
    """
    gateway = handle.gateway
    strategy = gateway.scala_object(gateway.jvm.org.apache.spark.sql.execution.datasources.v2, "DataSourceV2Strategy")
    try:
        translated = strategy.translateFilterV2(part)
        found = None if translated.isEmpty() else gateway.iceberg.spark.SparkV2Filters.convert(translated.get())
        if found is None:
            return None
        gateway.iceberg.expressions.Binder.bind(handle.java_table.schema().asStruct(), found, True)
    except JavaError:
        return None
    return Translated(found, nulls="<=>" in (text := str(part.toString())) and "NOT" in text)


def _simplified(handle: TableHandle, plan: Any) -> list[Any]:
    """The condition of a filter in parts, with constants folded; parts that have a subquery are as they were.

    The optimizer would make a join of a subquery, and what is left of the filter then says nothing of the rows.
    """
    catalyst = handle.gateway.jvm.org.apache.spark.sql.catalyst
    subqueries = handle.gateway.scala_object(catalyst.expressions, "SubqueryExpression")
    while str(plan.nodeName()) != "Filter":  # Spark takes metadata columns away again above it
        plan = plan.child()
    parts = _conjuncts(_with_stored_names(handle, plan))
    plain = [part for part in parts if not subqueries.hasSubquery(part)]
    others = [part for part in parts if subqueries.hasSubquery(part)]
    if not plain:
        return others
    condition = plain[0]
    for part in plain[1:]:
        condition = catalyst.expressions.And(condition, part)
    datasources = handle.gateway.jvm.org.apache.spark.sql.execution.datasources
    relation = getattr(datasources, "SparkExpressionConverter$DummyRelation")(plan.output())
    state = handle.gateway.session.sessionState()
    filtered = catalyst.plans.logical.Filter(condition, relation)
    optimized = state.executePlan(filtered, getattr(state, "executePlan$default$2")()).optimizedPlan()
    literals = handle.gateway.scala_object(catalyst.expressions, "Literal")
    kind = str(optimized.nodeName())
    if kind == "Filter":
        return [*_conjuncts(optimized.condition()), *others]
    if kind == "LocalRelation":
        return [literals.FalseLiteral()]
    return others  # the filter is gone: it holds for every row


def _with_stored_names(handle: TableHandle, plan: Any) -> Any:
    """A filter's condition with the names of its columns as the table has them: Iceberg looks at their case."""
    jvm = handle.gateway.jvm
    strategy = handle.gateway.scala_object(jvm.org.apache.spark.sql.execution.datasources, "DataSourceStrategy")
    return strategy.normalizeExprs(jvm.PythonUtils.toSeq([plan.condition()]), plan.child().output()).head()


def _conjuncts(condition: Any) -> list[Any]:
    if str(condition.nodeName()) != "And":
        return [condition]
    return [*_conjuncts(condition.left()), *_conjuncts(condition.right())]
