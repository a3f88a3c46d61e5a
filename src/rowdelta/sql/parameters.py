"""Writes the values of parameters (`:name` and `?`) into the text of a statement, as literals.

Every value is one literal. Neither its content nor its neighbours can change the statement.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rowdelta.errors import InputError
from rowdelta.spark import quote_string, unquote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from rowdelta.spark import Node
    from rowdelta.sql.text_edits import EditedText


@dataclass(frozen=True)
class Dialect:
    """The settings of a session that literals depend on.

    Attributes:
        escapes: Whether a backslash in a string escapes what follows.
        zoneless: Whether a time without a zone is a TIMESTAMP_NTZ.
    """

    escapes: bool = True
    zoneless: bool = False

    @staticmethod
    def read(spark: SparkSession) -> Dialect:
        """Reads the dialect of a session."""
        return Dialect(
            escapes=spark.conf.get("spark.sql.parser.escapedStringLiterals", "false") != "true",
            zoneless=spark.conf.get("spark.sql.timestampType", "TIMESTAMP_LTZ") == "TIMESTAMP_NTZ",
        )


def bind_parameters(edited: EditedText, root: Node, args: Mapping[str, Any] | Sequence[Any], dialect: Dialect) -> None:
    """Replaces the parameters of a statement by their values.

    Raises:
        InputError: A parameter has no value, or its value has no literal in SQL.
    """
    text, positional = edited.text, 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if _is_named_parameter(node):
            name = unquote(text[node.start : node.end].removeprefix(":").strip())
            if isinstance(args, (list, tuple)) or name not in args:
                raise InputError(f"the parameter :{name} has no value", hint=f"args={{{name!r}: ...}}")
            edited.replace(node.start, node.end, _separate(write_literal(args[name], dialect)))  # type: ignore[call-overload]
        elif node.word == "?":
            if not isinstance(args, (list, tuple)) or positional >= len(args):
                raise InputError(f"parameter {positional + 1} (?) has no value", hint="args=[...]")
            edited.replace(node.start, node.end, _separate(write_literal(args[positional], dialect)))
            positional += 1
        waiting.extend(reversed(node.children))


def _is_named_parameter(node: Node) -> bool:
    """Whether a node is `:name`, which is a constant in the grammar of Spark 3.5."""
    return node.rule == "namedParameterMarker" or (node.rule == "constant" and node.tokens()[:1] == [":"])


def _separate(text: str) -> str:
    """Separates a literal from its neighbours: `?D` is not a double, and `-:x` does not begin a comment."""
    return f" {text} "


def write_literal(value: object, dialect: Dialect = Dialect()) -> str:  # noqa: B008, C901, PLR0911 - one line for each type
    r"""Writes a value as a literal of Spark SQL, of the type that PySpark gives it.

    Examples:
        >>> write_literal("it is"), write_literal(3), write_literal(2**40), write_literal(None), write_literal(True)
        ("'it is'", '3', '1099511627776L', 'NULL', 'TRUE')
        >>> write_literal(-3), write_literal("${x}")
        ('(-3)', "'\\u0024{x}'")
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return _write_number(str(value) if -(2**31) <= value < 2**31 else f"{value}L")
    if isinstance(value, float):
        return _write_number(f"{value!r}D") if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, Decimal) and value.is_finite():
        return _write_number(f"{value:f}BD")
    if isinstance(value, str):
        return _write_string(value, dialect)
    if isinstance(value, (bytes, bytearray)):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.datetime):
        if value.tzinfo is None and dialect.zoneless:
            return f"TIMESTAMP_NTZ '{value.isoformat(' ')}'"
        return f"TIMESTAMP_LTZ '{value.astimezone(dt.timezone.utc).isoformat(' ')}'"  # naive: in Python's zone
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, (list, tuple)):
        return f"array({', '.join(write_literal(inner, dialect) for inner in value)})"
    raise InputError(
        f"a parameter of type {type(value).__name__} has no literal in SQL: {value!r}",
        hint="use None, bool, int, float, Decimal, str, bytes, date, datetime or a list of these",
    )


def _write_number(text: str) -> str:
    """Writes a number; a negative one gets parentheses, so that a minus before it stays separate."""
    return f"({text})" if text.startswith("-") else text


def _write_string(value: str, dialect: Dialect) -> str:
    """Writes a string in which Spark finds no variable (`${name}`) to replace."""
    if not dialect.escapes and any(mark in value for mark in ("'", "\\", "${")):
        return f"CAST(X'{value.encode().hex()}' AS STRING)"  # without escapes a string cannot hold these
    return quote_string(value).replace("${", "\\u0024{")
