"""Names in a statement: their parts, without quotes, and how they compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.spark import unquote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.spark import NameRule, Node

_PART_RULES = ("errorCapturingIdentifier", "identifier", "strictIdentifier")


def name_parts(node: Node, text: str) -> tuple[str, ...]:
    """The parts of a dotted name."""
    return tuple(unquote(text[part.start : part.end]) for part in part_nodes(node))


def part_nodes(node: Node) -> list[Node]:
    """The identifiers that a dotted name consists of."""
    return [child for child in node.children if child.rule in _PART_RULES]


def reference_parts(node: Node, text: str) -> tuple[str, ...] | None:
    """The parts of an `identifierReference`; None for `IDENTIFIER(...)`, whose value only Spark knows."""
    name = node.child("multipartIdentifier")
    return None if name is None else name_parts(name, text)


def alias_of(node: Node | None, text: str) -> str | None:
    """The name that a `tableAlias` gives."""
    name = None if node is None else node.child("strictIdentifier")
    return None if name is None else unquote(text[name.start : name.end])


def same(rule: NameRule, left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether names are equal, part by part."""
    return len(left) == len(right) and all(map(rule.same, left, right))
