"""Classifies a statement, and finds the parts of it that rowdelta changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rowdelta.spark import Node

ROW_LEVEL: Final = ("DELETE", "UPDATE", "MERGE")


@dataclass(frozen=True)
class Statement:
    """A statement that may read tables.

    Attributes:
        node: The whole statement.
        explain: Whether it is an EXPLAIN.
        change: The part after any WITH, if it is DELETE, UPDATE or MERGE.
        ctes: The WITH before such a part.
    """

    node: Node
    explain: bool = False
    change: Node | None = None
    ctes: Node | None = None

    @property
    def verb(self) -> str:
        """`DELETE`, `UPDATE` or `MERGE`; empty for any other statement."""
        return "" if self.change is None else self.change.children[0].word.upper()


def classify(root: Node) -> Statement | None:
    """Returns the statement of a syntax tree; None if a live view cannot replace a table in it.

    A view definition, for example, would keep the name of a temporary view that no longer exists.
    """
    node = root.child("statement")
    explain = False
    if node is not None and node.tokens()[:1] == ["EXPLAIN"]:
        node, explain = node.child("statement"), True
    if node is None or not node.children:
        return None
    first = node.children[0]
    change = node.child("dmlStatementNoWith")
    if change is not None:
        row_level = change.children[0].word.upper() in ROW_LEVEL
        return Statement(node, explain, change if row_level else None, node.child("ctes"))
    return Statement(node, explain) if first.rule in {"query", "createTableHeader", "replaceTableHeader"} else None
