"""Parameters of a statement (`:name` and `?`), written into its text as literals."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rowdelta.errors import InputError
from rowdelta.sql.edits import EditedText
from rowdelta.sql.identifiers import unquote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rowdelta.iceberg.syntax_tree import Node


def bind(text: str, root: Node, args: Mapping[str, Any] | Sequence[Any]) -> str:
    """The statement with the values of its parameters.

    Raises:
        InputError: A parameter has no value, or one that has no literal in SQL.
    """
    edited = EditedText(text)
    positional = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.rule == "namedParameterMarker":
            name = unquote(text[node.start : node.end].removeprefix(":").strip())
            if isinstance(args, (list, tuple)) or name not in args:
                raise InputError(f"the parameter :{name} has no value", hint=f"args={{{name!r}: ...}}")
            edited.replace(node.start, node.end, literal(args[name]))  # type: ignore[call-overload]
        elif node.word == "?":
            if not isinstance(args, (list, tuple)) or positional >= len(args):
                raise InputError(f"parameter {positional + 1} (?) has no value", hint="args=[...]")
            edited.replace(node.start, node.end, literal(args[positional]))
            positional += 1
        waiting.extend(reversed(node.children))
    return edited.all()


def literal(value: object) -> str:  # noqa: C901, PLR0911 - one line for each type
    """A value in Spark SQL.

    Examples:
        >>> literal("it is"), literal(3), literal(2**40), literal(None), literal(True)
        ("'it is'", '3', '1099511627776L', 'NULL', 'TRUE')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value) if -(2**31) <= value < 2**31 else f"{value}L"
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, (bytes, bytearray)):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.datetime):
        return f"{'TIMESTAMP_NTZ' if value.tzinfo is None else 'TIMESTAMP'} '{value.isoformat(' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, (list, tuple)):
        return f"array({', '.join(literal(inner) for inner in value)})"
    raise InputError(
        f"a parameter of type {type(value).__name__} has no literal in SQL",
        hint="use None, bool, int, float, Decimal, str, bytes, date, datetime or a list of these",
    )
