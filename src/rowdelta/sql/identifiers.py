"""Reads names in a statement, part by part and without quotes, and compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.spark import unquote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.spark import NameRule, Node

_PART_RULES = ("errorCapturingIdentifier", "identifier", "strictIdentifier")


def read_name(node: Node, text: str) -> tuple[str, ...]:
    """Returns the parts of a dotted name."""
    return tuple(unquote(text[part.start : part.end]) for part in find_parts(node))


def find_parts(node: Node) -> list[Node]:
    """Returns the identifiers of a dotted name."""
    return [child for child in node.children if child.rule in _PART_RULES]


def read_reference(node: Node, text: str) -> tuple[str, ...] | None:
    """Returns the parts of an `identifierReference`; None for `IDENTIFIER(...)`, which only Spark can evaluate."""
    name = node.child("multipartIdentifier")
    return None if name is None else read_name(name, text)


def read_alias(node: Node | None, text: str) -> str | None:
    """Returns the name in a `tableAlias`; None if it has none."""
    name = None if node is None else node.child("strictIdentifier")
    return None if name is None else unquote(text[name.start : name.end])


def are_same_names(rule: NameRule, left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether names are equal, part by part."""
    return len(left) == len(right) and all(map(rule.same, left, right))
