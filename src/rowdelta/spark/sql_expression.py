"""SQL text that must be one whole expression: a predicate, a value, something to order by."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyspark.errors import ParseException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import InputError
from rowdelta.spark.spark_errors import short_message
from rowdelta.spark.sql_parser import parse_expression, place_in_text

if TYPE_CHECKING:
    from rowdelta.spark.gateway import Gateway
    from rowdelta.spark.syntax_tree import Node

_ALIASES: Final = ("Alias", "MultiAlias")
_STARS: Final = ("UnresolvedStar", "UnresolvedRegex", "UnresolvedStarExceptOrReplace", "UnresolvedStarWithColumns")
# Functions that make rows; Spark finds them inside other expressions by itself.
_GENERATORS: Final = frozenset(
    f"{name}{outer}"
    for name in ("explode", "posexplode", "inline", "stack", "json_tuple", "variant_explode")
    for outer in ("", "_outer")
)
_LONG: Final = 1 << 63
_LITERALS: Final = (bool, int, float, decimal.Decimal, dt.date, bytes, bytearray)


def check_expression(gateway: Gateway, given: object, what: str) -> str | Column:
    """SQL text that is one whole expression, or a Column, just as it is.

    Spark's parser takes a last word that it cannot use for an alias: `id < 50 limit` is `id < 50` to it.

    Args:
        gateway: The session whose parser decides.
        given: What was given.
        what: What it is to be, for the message: `the predicate`.

    Raises:
        InputError: The text is cut off, or holds more than one expression; or it is neither text nor a Column.
    """
    if isinstance(given, Column):
        _refuse_generator(_function_of(given), what)
        return given
    if not isinstance(given, str):
        raise InputError(
            f"{what} must be SQL text or a Column, not {type(given).__name__}: {given!r}",
            hint="such as \"status = 'new'\"",
        )
    try:
        parsed: Any = gateway.session.sessionState().sqlParser().parseExpression(given)
    except ParseException as error:
        raise InputError(
            f"{what} is not a SQL expression: {short_message(str(error))}", hint="it must be one whole expression"
        ) from error
    node = str(parsed.nodeName())
    if node in _ALIASES:
        _refuse_alias(gateway, given, what)
    elif node in _STARS:
        raise InputError(f"{what} cannot be {given.strip()!r}, which stands for columns", hint="name one column")
    elif node == "UnresolvedFunction":
        _refuse_generator(str(parsed.prettyName()), what)
    return given


def check_value(gateway: Gateway, given: object, what: str) -> str | Column:
    """As `check_expression`, for a value: what Python has for numbers, times, bytes and nothing is a literal."""
    if isinstance(given, np.generic) and not isinstance(given, np.datetime64):
        given = given.item()
    if given is None or isinstance(given, _LITERALS):
        return _literal(given, what)
    return check_expression(gateway, given, what)


def _literal(value: object, what: str) -> Column:
    if isinstance(value, dt.datetime):
        # PySpark would take the time for one of the machine's zone, and Java's calendar for that of old dates.
        if value.tzinfo is None:
            return F.lit(value.isoformat()).cast("timestamp_ntz")
        since = value - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
        return F.timestamp_micros(F.lit(since // dt.timedelta(microseconds=1)))
    if isinstance(value, dt.date):
        return F.lit(value.isoformat()).cast("date")
    if isinstance(value, decimal.Decimal) and not value.is_finite():
        raise InputError(f"{what} cannot be {value}, which no decimal column holds", hint=f"use float('{value}')")
    if isinstance(value, int) and not -_LONG <= value < _LONG:
        value = decimal.Decimal(value)
    return F.lit(bytes(value) if isinstance(value, bytearray) else value)


def _refuse_alias(gateway: Gateway, text: str, what: str) -> None:
    """What Spark took for an alias is the rest of an expression that was cut off, or of another one."""
    node = parse_expression(gateway, text)
    named = node
    while named is not None and named.rule != "namedExpression":
        named = next((child for child in named.children if child.rule), None)
    rest = [] if named is None else _after_expression(named)
    if not rest:  # the tree cannot be read
        raise InputError(f"{what} is not one whole expression: Spark SQL takes its last word for an alias")
    start, end = rest[0].start, rest[-1].end
    place = place_in_text(gateway, text, start, end).strip()
    raise InputError(
        f"{what} is not one whole expression: Spark SQL takes {text[start:end]!r} for an alias\n{place}",
        hint="complete the expression, or remove these words; text values are quoted: 'paid'",
    )


def _after_expression(named: Node) -> list[Node]:
    """What stands after the expression in a named one."""
    return [child for child in named.children if child.rule != "expression" and child.end > child.start]


def _function_of(column: Column) -> str:
    """The generator that a Column calls last of all; empty for anything else, also for a column that is named so."""
    name = str(column).removeprefix("Column<'").partition("(")[0]
    if name.lower() not in _GENERATORS:
        return ""
    node: Any = column
    return "" if str(node._jc.node().getClass().getSimpleName()) == "UnresolvedAttribute" else name


def _refuse_generator(function: str, what: str) -> None:
    if function.lower() in _GENERATORS:
        raise InputError(
            f"{what} cannot be {function}(...), which makes several rows of one", hint="use one value for each row"
        )
