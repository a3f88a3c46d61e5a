"""Finds the tables and columns that a statement names, with their places in the text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from rowdelta.spark import unquote
from rowdelta.sql.identifiers import find_parts, read_reference

if TYPE_CHECKING:
    from rowdelta.spark import NameRule, Node


@dataclass(frozen=True)
class Reference:
    """A place where a table is read.

    Attributes:
        parts: The table's name.
        start: Where the name starts.
        end: Where the name and any time travel end.
        alias_at: Where an alias can be inserted; None if there is one, or none is allowed.
        version: The SQL text after VERSION AS OF.
        timestamp: The SQL text after TIMESTAMP AS OF.
        from_clause: Where its FROM starts.
        common_table: Whether it names a table of the statement's own WITH.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    alias_at: int | None = None
    version: str | None = None
    timestamp: str | None = None
    from_clause: int = -1
    common_table: bool = False


@dataclass(frozen=True)
class ColumnName:
    """The name of a column, dotted or not, or of all columns of a table (then the last part is `*`).

    Attributes:
        parts: The parts of the name.
        starts: Where each part starts.
        ends: Where each part ends.
        in_query: Whether it is in a query (of a change: inside parentheses).
        lambda_names: Names of the arguments of lambda functions around it.
    """

    parts: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    in_query: bool
    lambda_names: frozenset[str]


@dataclass
class References:
    """The tables and columns that a statement names, in the order of the text."""

    tables: list[Reference] = field(default_factory=list)
    columns: list[ColumnName] = field(default_factory=list)


@dataclass(frozen=True)
class _Scope:
    outer_ctes: frozenset[str] = frozenset()  # of the statement itself
    inner_ctes: frozenset[str] = frozenset()  # of queries inside it
    from_clause: int = -1
    in_query: bool = False
    lambda_names: frozenset[str] = frozenset()


_ARROW: Final = "->"


def find_references(node: Node, text: str, rule: NameRule) -> References:
    """Finds the tables and columns that a statement names."""
    return _ReferenceFinder(text, rule).run(node)


class _ReferenceFinder:
    def __init__(self, text: str, rule: NameRule) -> None:
        self._text = text
        self._rule = rule
        self._references = References()
        self._waiting: list[tuple[Node, _Scope]] = []

    def run(self, top: Node) -> References:
        self._waiting.append((top, _Scope()))
        while self._waiting:
            node, scope = self._waiting.pop()
            self._visit(node, scope)
        self._references.tables.sort(key=lambda reference: reference.start)
        self._references.columns.sort(key=lambda column: column.starts)
        return self._references

    def _visit(self, node: Node, scope: _Scope) -> None:
        if node.rule in {"relationPrimary", "queryPrimary", "functionTableSubqueryArgument", "dmlStatementNoWith"}:
            self._add_reference(node, scope)
        if node.rule == "primaryExpression" and self._add_column(node, scope):
            return
        if node.rule == "query":
            scope = replace(scope, in_query=True)
        elif node.rule == "fromClause":
            scope = replace(scope, from_clause=node.start)
        elif _ARROW in node.tokens():
            names = {self._rule.fold(unquote(self._slice(child))) for child in node.children_of("identifier")}
            scope = replace(scope, lambda_names=scope.lambda_names | names)
        ctes = node.child("ctes")
        if ctes is not None:
            scope = self._visit_ctes(ctes, scope)
        self._waiting.extend((child, scope) for child in node.children if child is not ctes)

    def _visit_ctes(self, ctes: Node, scope: _Scope) -> _Scope:
        """Visits common tables: each sees those before it, and itself if it is recursive."""
        recursive = "RECURSIVE" in ctes.tokens()
        for named in ctes.children_of("namedQuery"):
            name = self._rule.fold(unquote(self._slice(named.children[0])))
            after = (
                replace(scope, inner_ctes=scope.inner_ctes | {name})
                if scope.in_query
                else replace(scope, outer_ctes=scope.outer_ctes | {name}, inner_ctes=scope.inner_ctes - {name})
            )
            self._waiting.extend((child, after if recursive else scope) for child in named.children)
            scope = after
        return scope

    def _add_reference(self, node: Node, scope: _Scope) -> None:
        names = list(node.children_of("identifierReference"))
        aliases = list(node.children_of("tableAlias"))
        if node.rule == "dmlStatementNoWith":  # the target is not read; the source of MERGE is
            names, aliases = names[1:], aliases[1:]
        parts = read_reference(names[0], self._text) if names else None
        if parts is None or node.child("optionsClause") is not None:  # options are for Iceberg's own reader
            return
        only = self._rule.fold(parts[0]) if len(parts) == 1 else None
        if only in scope.inner_ctes:
            return
        version, timestamp, end = None, None, names[0].end
        temporal = node.child("temporalClause")
        if temporal is not None:
            last = temporal.children[-1]
            version, timestamp = (self._slice(last), None) if last.rule == "version" else (None, self._slice(last))
            end = temporal.end
        bare = bool(aliases) and not aliases[0].children
        self._references.tables.append(
            Reference(
                parts=parts,
                start=names[0].start,
                end=end,
                alias_at=aliases[0].end if bare else None,
                version=version,
                timestamp=timestamp,
                from_clause=scope.from_clause,
                common_table=only in scope.outer_ctes,
            )
        )

    def _add_column(self, node: Node, scope: _Scope) -> bool:
        parts = self._find_star_parts(node) or self._find_dotted_parts(node)
        if parts is None:
            return False
        self._references.columns.append(
            ColumnName(
                parts=tuple(unquote(self._slice(part)) for part in parts),
                starts=tuple(part.start for part in parts),
                ends=tuple(part.end for part in parts),
                in_query=scope.in_query,
                lambda_names=scope.lambda_names,
            )
        )
        return True

    def _find_star_parts(self, node: Node) -> list[Node] | None:
        name, tokens = node.child("qualifiedName"), [child for child in node.children if not child.rule]
        if name is None or [token.word for token in tokens[:2]] != [".", "*"]:
            return None
        return [*find_parts(name), tokens[1]]

    def _find_dotted_parts(self, node: Node) -> list[Node] | None:
        parts: list[Node] = []
        while [child.rule for child in node.children] == ["primaryExpression", "", "identifier"]:
            if node.children[1].word != ".":
                return None
            parts.append(node.children[2])
            node = node.children[0]
        if [child.rule for child in node.children] != ["identifier"]:
            return None
        return [node.children[0], *reversed(parts)]

    def _slice(self, node: Node) -> str:
        return self._text[node.start : node.end]
