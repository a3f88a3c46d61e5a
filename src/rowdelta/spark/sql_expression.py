"""Checks that SQL text is one whole expression: a predicate, a value or a sort key."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark.errors import ParseException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import InputError
from rowdelta.spark.spark_errors import shorten_message
from rowdelta.spark.sql_parser import parse_expression, underline_in_text
from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from rowdelta.spark.gateway import Gateway
    from rowdelta.spark.syntax_tree import Node

_ALIASES: Final = ("Alias", "MultiAlias")
_STARS: Final = ("UnresolvedStar", "UnresolvedRegex", "UnresolvedStarExceptOrReplace", "UnresolvedStarWithColumns")
# Functions that return several rows; Spark itself refuses them inside other expressions.
_GENERATORS: Final = frozenset(
    f"{name}{outer}"
    for name in ("explode", "posexplode", "inline", "stack", "json_tuple", "variant_explode")
    for outer in ("", "_outer")
)
_LONG: Final = 1 << 63
_LITERALS: Final = (bool, int, float, decimal.Decimal, dt.date, bytes, bytearray)


def check_expression(gateway: Gateway, expression: object, role: str) -> str | Column:
    """Checks that SQL text is one whole expression; returns it, or a Column, unchanged.

    Spark's parser reads a trailing word that it cannot use as an alias: `id < 50 limit` is `id < 50` to it.

    Args:
        gateway: The session whose parser is used.
        expression: The text or Column.
        role: The subject of error messages: `the predicate`.

    Raises:
        InputError: The text is incomplete or has more than one expression, or it is neither text nor a Column.
    """
    if isinstance(expression, Column):
        _refuse_generator(_find_generator(expression), role)
        return expression
    if not isinstance(expression, str):
        raise InputError(
            f"{role} must be SQL text or a Column, not {type(expression).__name__}: {expression!r}",
            hint="such as \"status = 'new'\"",
        )
    try:
        parsed: Any = gateway.session.sessionState().sqlParser().parseExpression(expression)
    except ParseException as error:
        raise InputError(
            f"{role} is not a SQL expression: {shorten_message(str(error))}", hint="it must be one whole expression"
        ) from error
    node = str(parsed.nodeName())
    if node in _ALIASES:
        _refuse_alias(gateway, expression, role)
    elif node in _STARS:
        raise InputError(f"{role} cannot be {expression.strip()!r}, which selects columns", hint="name one column")
    elif node == "UnresolvedFunction":
        _refuse_generator(str(parsed.prettyName()), role)
    return expression


def check_value(gateway: Gateway, value: object, role: str) -> str | Column:
    """Checks an expression, or turns a Python number, time, bytes or None into a literal."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    if value is None or isinstance(value, _LITERALS):
        return _to_literal(value, role)
    return check_expression(gateway, value, role)


def _to_literal(value: object, role: str) -> Column:
    if isinstance(value, dt.datetime):
        # PySpark would read the time in the machine's zone, and old dates in Java's calendar.
        if value.tzinfo is None:
            return F.lit(value.isoformat()).cast("timestamp_ntz")
        since = value - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
        return F.timestamp_micros(F.lit(since // dt.timedelta(microseconds=1)))
    if isinstance(value, dt.date):
        return F.lit(value.isoformat()).cast("date")
    if isinstance(value, decimal.Decimal) and not value.is_finite():
        raise InputError(f"{role} cannot be {value}, which no decimal column holds", hint=f"use float('{value}')")
    if isinstance(value, int) and not -_LONG <= value < _LONG:
        value = decimal.Decimal(value)
    return F.lit(bytes(value) if isinstance(value, bytearray) else value)


def _refuse_alias(gateway: Gateway, text: str, role: str) -> None:
    """Raises an error that shows the words which Spark reads as an alias: the expression does not end before them."""
    node = parse_expression(gateway, text)
    named = node
    while named is not None and named.rule != "namedExpression":
        named = next((child for child in named.children if child.rule), None)
    rest = [] if named is None else _find_rest(named)
    if not rest:  # there is no readable tree
        raise InputError(f"{role} is not one whole expression: Spark SQL reads its last word as an alias")
    start, end = rest[0].start, rest[-1].end
    place = underline_in_text(gateway, text, start, end).strip()
    raise InputError(
        f"{role} is not one whole expression: Spark SQL reads {text[start:end]!r} as an alias\n{place}",
        hint="complete the expression, or remove these words; text values are quoted: 'paid'",
    )


def _find_rest(named: Node) -> list[Node]:
    """Finds the nodes that follow the expression."""
    return [child for child in named.children if child.rule != "expression" and child.end > child.start]


def _find_generator(column: Column) -> str:
    """Finds the generator function that a Column calls; empty for anything else, even a column of that name."""
    name = str(column).removeprefix("Column<'").partition("(")[0]
    if name.lower() not in _GENERATORS:
        return ""
    return "" if SPARK.get_expression_name(column) == "UnresolvedAttribute" else name


def _refuse_generator(function: str, role: str) -> None:
    if function.lower() in _GENERATORS:
        raise InputError(
            f"{role} cannot be {function}(...), which makes several rows of one", hint="use one value for each row"
        )
