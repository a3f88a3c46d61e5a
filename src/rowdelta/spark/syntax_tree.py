"""Reads the syntax tree of a statement from the output of Spark's own parser."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE: Final = "\x01"  # marks the names of rules, so that no token looks like one
_TOKEN: Final = re.compile(r"\[@\d+,(\d+):(-?\d+)='")
_TOKEN_END: Final = re.compile(r"',<-?\d+>(?:,channel=(\d+))?,\d+:\d+\]")
_NAME: Final = re.compile(rf"{RULE}(\w+)")
_END_OF_FILE: Final = "<EOF>"


@dataclass(slots=True)
class Node:
    """A rule of Spark's grammar with its children, or a token (then `rule` is empty).

    `start` and `end` are offsets into the statement. A rule that matches nothing is at the end of the previous token.
    """

    rule: str
    start: int
    end: int
    children: list[Node] = field(default_factory=list)
    word: str = ""

    def child(self, rule: str) -> Node | None:
        """Returns the first child of a rule, if any."""
        return next(self.children_of(rule), None)

    def children_of(self, rule: str) -> Iterator[Node]:
        """Yields the children of a rule."""
        return (node for node in self.children if node.rule == rule)

    def tokens(self) -> list[str]:
        """Lists the tokens among the children, in upper case."""
        return [node.word.upper() for node in self.children if not node.rule]

    def leaves(self) -> list[Node]:
        """Lists all tokens of the tree, in order."""
        tokens, pending = [], [self]
        while pending:
            node = pending.pop()
            if node.word:
                tokens.append(node)
            pending.extend(reversed(node.children))
        return tokens


def read_tree(text: str, tokens: str, tree: str) -> Node:
    r"""Reads a syntax tree from text that ANTLR prints.

    Args:
        text: The statement.
        tokens: ANTLR's list of its tokens.
        tree: ANTLR's tree, with `RULE` before the name of every rule.

    Raises:
        ValueError: The three do not match.

    Examples:
        >>> tokens = "[[@0,0:4='TABLE',<341>,1:0], [@1,5:5=' ',<450>,channel=1,1:5], [@2,6:6='t',<446>,1:6]]"
        >>> read_tree("TABLE t", tokens, "(\x01query TABLE (\x01name t))").child("name")
        Node(rule='name', start=6, end=7, children=[Node(rule='', start=6, end=7, children=[], word='t')], word='')
    """
    leaves = _read_tokens(text, tokens)
    root = Node("", 0, 0)
    open_nodes, at, offset = [root], 0, 0
    while at < len(tree):
        if tree[at] == " ":
            at += 1
        elif tree[at] == ")":
            open_nodes.pop().end = offset
            at += 1
            continue
        opens = tree.startswith(f"({RULE}", at)
        name = _NAME.match(tree, at + opens)
        if name is None:
            leaf = next(leaves)
            if not tree.startswith(_escape(leaf.word), at):
                raise ValueError(f"expected {leaf.word!r} at {tree[at : at + 20]!r}")
            open_nodes[-1].children.append(leaf)
            at, offset = at + len(_escape(leaf.word)), leaf.end
            continue
        node = Node(name[1], offset, offset)
        open_nodes[-1].children.append(node)
        if opens:
            open_nodes.append(node)
        at = name.end()
    if len(open_nodes) > 1 or len(root.children) != 1:
        raise ValueError("the tree is not closed")
    top = root.children[0]
    _set_starts(top)
    return top


def _read_tokens(text: str, tokens: str) -> Iterator[Node]:
    """Yields the tokens that the grammar sees, without spaces and comments."""
    at = 1
    while at < len(tokens) - 1:
        head = _TOKEN.match(tokens, at)
        if head is None:
            raise ValueError(f"no token at {tokens[at : at + 20]!r}")
        start, end = int(head[1]), int(head[2]) + 1
        word = text[start:end] or _END_OF_FILE
        tail = _TOKEN_END.match(tokens, head.end() + len(_escape(word)))
        if tail is None:
            raise ValueError(f"no end of the token {word!r}")
        if tail[1] is None:
            yield Node("", start, end, word=word)
        at = tail.end() + len(", ")


def _escape(word: str) -> str:
    return word.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _set_starts(top: Node) -> None:
    """Makes every rule start at its first token, not at the end of the previous one."""
    order, pending = [], [top]
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(node.children)
    for node in reversed(order):
        nonempty = [child for child in node.children if child.end > child.start or child.word]
        if nonempty:
            node.start = nonempty[0].start
