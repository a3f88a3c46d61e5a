"""Splits a condition into the parts that must all hold, with Spark's own parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from rowdelta.spark.gateway import Gateway

# The parts of a column's name: `t.id` has two.
NameParts: TypeAlias = tuple[str, ...]
_SEPARATOR: Final = "\0"  # no name has it, and a dot may be part of one


@dataclass(frozen=True)
class Conjuncts:
    """The parts of a condition that are joined by AND, regardless of parentheses.

    Attributes:
        equalities: The parts that compare two columns with `=`, as the names of both sides.
        others: How many other parts there are.
    """

    equalities: tuple[tuple[NameParts, NameParts], ...]
    others: int


def split_conjuncts(gateway: Gateway, text: str) -> Conjuncts:
    """Parses a condition as the session does, and splits it; no name is resolved.

    Raises:
        ParseException: The text is not an expression.
    """
    waiting: list[Any] = [gateway.session.sessionState().sqlParser().parseExpression(text)]
    equalities: list[tuple[NameParts, NameParts]] = []
    others = 0
    while waiting:
        expression = waiting.pop()
        operator = expression.nodeName()
        if operator == "And":
            waiting += [expression.right(), expression.left()]
            continue
        names = _read_name(expression.left()) if operator == "EqualTo" else None
        other_names = None if names is None else _read_name(expression.right())
        if names is None or other_names is None:
            others += 1
        else:
            equalities.append((names, other_names))
    return Conjuncts(tuple(equalities), others)


def _read_name(expression: Any) -> NameParts | None:
    """Reads the name of a column; None for any other expression."""
    if expression.nodeName() != "UnresolvedAttribute":
        return None
    return tuple(str(expression.nameParts().mkString(_SEPARATOR)).split(_SEPARATOR))
