"""Parses SQL with Spark's own parser into syntax trees with text offsets, and finds a statement's errors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import set_field
from pyspark.errors import AnalysisException

from rowdelta.spark.gateway import Gateway
from rowdelta.spark.java_errors import JavaError
from rowdelta.spark.syntax_tree import RULE, Node, read_tree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The settings that Spark's parser passes to its grammar, with the grammar's names for them.
_FLAGS = {
    "setOpsPrecedenceEnforced": "legacy_setops_precedence_enabled",
    "exponentLiteralAsDecimalEnabled": "legacy_exponent_literal_as_decimal_enabled",
    "enforceReservedKeywords": "SQL_standard_keyword_behavior",
    "doubleQuotedIdentifiers": "double_quoted_identifiers",
}


def parse_statement(spark: SparkSession, text: str) -> Node | None:
    """Parses one statement into a syntax tree; None if Spark's grammar lacks it (an extension's, or wrong)."""
    return _parse(Gateway(spark), text, "singleStatement")


def parse_expression(gateway: Gateway, text: str) -> Node | None:
    """Parses one expression, which may have an alias, into a syntax tree; None if it is wrong."""
    return _parse(gateway, text, "singleExpression")


def _parse(gateway: Gateway, text: str, rule: str) -> Node | None:
    # As Spark does: first the fast mode, which fails on a few valid statements.
    return _parse_in_mode(gateway, text, rule, "SLL") or _parse_in_mode(gateway, text, rule, "LL")


def _parse_in_mode(gateway: Gateway, text: str, rule: str, mode: str) -> Node | None:
    antlr, spark_parser = gateway.jvm.org.antlr.v4.runtime, gateway.jvm.org.apache.spark.sql.catalyst.parser
    lexer = spark_parser.SqlBaseLexer(spark_parser.UpperCaseCharStream(antlr.CharStreams.fromString(text)))
    lexer.removeErrorListeners()
    tokens = antlr.CommonTokenStream(lexer)
    parser = spark_parser.SqlBaseParser(tokens)
    parser.removeErrorListeners()
    parser.getInterpreter().setPredictionMode(getattr(antlr.atn.PredictionMode, mode))
    settings = gateway.session.sessionState().conf()
    for setting, flag in _FLAGS.items():
        if getattr(settings, setting)():
            set_field(parser, flag, True)
    try:
        tree = getattr(parser, rule)()
        if parser.getNumberOfSyntaxErrors():
            return None
        return read_tree(text, str(tokens.getTokens().toString()), str(tree.toStringTree(_find_rule_names(gateway))))
    except (ValueError, *JavaError):  # too deep for Java's stack, or printed in an unknown form
        return None


def check_syntax(spark: SparkSession, text: str) -> None:
    """Raises Spark's ParseException, with its position in the text, if a statement does not parse."""
    Gateway(spark).session.sessionState().sqlParser().parsePlan(text)


def find_analysis_error(spark: SparkSession, text: str) -> AnalysisException | None:
    """Analyzes a statement without running it; returns Spark's error, with its position in the text, if any."""
    state = Gateway(spark).session.sessionState()
    try:
        plan = state.sqlParser().parsePlan(text)
        state.executePlan(plan, getattr(state, "executePlan$default$2")()).assertAnalyzed()
    except AnalysisException as error:
        return error
    return None


def underline_in_text(gateway: Gateway, text: str, start: int, end: int) -> str:
    """Formats a part of a text as Spark's errors do: its line and position, and the text with it underlined."""
    some, none = gateway.jvm.scala.Some, gateway.scala_object(gateway.jvm.scala, "None")
    line, position = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start) - 1
    context = gateway.jvm.org.apache.spark.sql.catalyst.trees.SQLQueryContext(
        some(line), some(position), some(start), some(end - 1), some(text), none, none
    )
    return str(context.summary()).replace("== SQL(", "== SQL (", 1)  # Spark 3.5 has no space there


def substitute_variables(spark: SparkSession, text: str) -> str:
    """Replaces `${name}` as Spark does before it parses a statement."""
    if "${" not in text:
        return text
    return str(Gateway(spark).jvm.org.apache.spark.sql.internal.VariableSubstitution().substitute(text))


def _find_rule_names(gateway: Gateway) -> Any:
    """Lists the marked names of the grammar's rules as a Java list, in one call."""
    pattern = gateway.jvm.java.util.regex.Pattern.compile("\n")
    return pattern.splitAsStream(_read_marked_names(gateway.jvm)).collect(
        gateway.jvm.java.util.stream.Collectors.toList()
    )


@lru_cache(maxsize=1)
def _read_marked_names(jvm: Any) -> str:
    names = jvm.org.apache.spark.sql.catalyst.parser.SqlBaseParser.ruleNames
    return "\n".join(f"{RULE}{name}" for name in names)
