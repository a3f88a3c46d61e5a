"""Converts predicates to Iceberg expressions, for conflict detection and for deletes that need no scan."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.sql_logic import SqlLogic
from rowdelta.spark import JavaError, get_analyzed_plan, quote_where_needed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg.table_handle import TableHandle


@dataclass(frozen=True)
class RowFilter:
    """A predicate as Iceberg expressions.

    Attributes:
        text: The predicate, close to how Iceberg prints it.
        exact: Whether it is equivalent to the predicate; otherwise it is true for more rows.
        expression: Iceberg's expression, true for every row that the predicate is true for.
        certain: The same expression if it is true for no other row; otherwise None.
        translated: Iceberg's own translation, with Iceberg's rules for nulls and NaN.
    """

    text: str
    exact: bool
    expression: Any = field(repr=False)
    certain: Any = field(default=None, repr=False)
    translated: Any = field(default=None, repr=False)


def build_row_filter(handle: TableHandle, where: str | Column | None, alias: str | None = None) -> RowFilter:
    """Converts a predicate; parts that Iceberg cannot express are omitted, which is safe for conflict detection.

    Args:
        handle: The table.
        where: SQL text or a Column; None for all rows.
        alias: The name of the table in the predicate.
    """
    if where is None:
        return _make_row_filter(handle, [], exact=True)
    table = handle.spark.table(handle.full_name)
    return convert_filter(handle, (table if alias is None else table.alias(alias)).where(where))


def convert_filter(handle: TableHandle, matched: DataFrame | None) -> RowFilter:
    """Converts the last filter of a frame over the table, which Spark has already analyzed.

    None stands for all rows.
    """
    if matched is None:
        return build_row_filter(handle, None)
    parts = _simplify_condition(handle, get_analyzed_plan(matched))
    converted = [
        translated for translated in (_translate_part(handle, part) for part in parts) if translated is not None
    ]
    exact = len(converted) == len(parts) and not any(part.nulls for part in converted)
    return _make_row_filter(handle, converted, exact=exact)


def _make_row_filter(handle: TableHandle, parts: list[Translated], *, exact: bool) -> RowFilter:
    expressions = handle.gateway.iceberg.expressions.Expressions
    both = getattr(expressions, "and")
    translated, rewritten = expressions.alwaysTrue(), expressions.alwaysTrue()
    logic = SqlLogic(handle) if parts else None
    for part in parts:
        assert logic is not None
        translated = both(translated, part.expression)
        rewritten = both(rewritten, logic.rewrite(expressions.rewriteNot(part.expression), nulls=part.nulls))
    text = re.sub(r'ref\(name="(.*?)"\)', lambda name: quote_where_needed([name[1]]), str(translated.toString()))
    return RowFilter(
        text, exact=exact, expression=rewritten, certain=rewritten if exact else None, translated=translated
    )


@dataclass(frozen=True)
class Translated:
    """A part of a predicate as Iceberg translates it, and whether its negations are true for nulls."""

    expression: Any
    nulls: bool


def _translate_part(handle: TableHandle, part: Any) -> Translated | None:
    """Translates a part to Iceberg's expression; None if there is none, or if it uses columns that are not stored.

    Iceberg's NOT EQUAL stands both for `<>` and for NOT `<=>`, which differ for nulls.
    """
    gateway = handle.gateway
    strategy = gateway.scala_object(gateway.jvm.org.apache.spark.sql.execution.datasources.v2, "DataSourceV2Strategy")
    try:
        predicate = strategy.translateFilterV2(part)
        expression = None if predicate.isEmpty() else gateway.iceberg.spark.SparkV2Filters.convert(predicate.get())
        if expression is None:
            return None
        gateway.iceberg.expressions.Binder.bind(handle.java_table.schema().asStruct(), expression, True)
    except JavaError:
        return None
    return Translated(expression, nulls="<=>" in (text := str(part.toString())) and "NOT" in text)


def _simplify_condition(handle: TableHandle, plan: Any) -> list[Any]:
    """Splits the condition of a filter into parts and folds constants. Parts with a subquery stay unchanged.

    The optimizer would turn a subquery into a join, and the remaining filter would no longer describe the rows.
    """
    catalyst = handle.gateway.jvm.org.apache.spark.sql.catalyst
    subqueries = handle.gateway.scala_object(catalyst.expressions, "SubqueryExpression")
    while str(plan.nodeName()) != "Filter":  # Spark removes metadata columns above it
        plan = plan.child()
    parts = _split_conjuncts(_use_stored_names(handle, plan))
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
    node_name = str(optimized.nodeName())
    if node_name == "Filter":
        return [*_split_conjuncts(optimized.condition()), *others]
    if node_name == "LocalRelation":
        return [literals.FalseLiteral()]
    return others  # the filter is gone: it holds for every row


def _use_stored_names(handle: TableHandle, plan: Any) -> Any:
    """Returns a filter's condition with the column names of the table: Iceberg compares their case."""
    jvm = handle.gateway.jvm
    strategy = handle.gateway.scala_object(jvm.org.apache.spark.sql.execution.datasources, "DataSourceStrategy")
    return strategy.normalizeExprs(jvm.PythonUtils.toSeq([plan.condition()]), plan.child().output()).head()


def _split_conjuncts(condition: Any) -> list[Any]:
    if str(condition.nodeName()) != "And":
        return [condition]
    return [*_split_conjuncts(condition.left()), *_split_conjuncts(condition.right())]
