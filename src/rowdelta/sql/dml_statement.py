"""A DELETE, UPDATE or MERGE: its target, and the texts of its conditions and values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rowdelta.errors import InputError
from rowdelta.spark import quote, quote_where_needed, read_name_rule
from rowdelta.sql.identifiers import are_same_names, read_alias, read_name
from rowdelta.sql.live_tables import count_qualifier_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from rowdelta._table import Table
    from rowdelta.spark import NamedTable, NameRule, Node
    from rowdelta.sql.live_views import LiveViews
    from rowdelta.sql.references import ColumnName, References
    from rowdelta.sql.statement import Statement
    from rowdelta.sql.text_edits import EditedText


@dataclass(frozen=True)
class DmlStatement:
    """A statement that changes rows of an Iceberg table."""

    spark: SparkSession
    statement: Statement
    references: References
    edited: EditedText
    named: NamedTable
    table: Table

    @property
    def node(self) -> Node:
        """The statement after any WITH."""
        assert self.statement.change is not None
        return self.statement.change

    @cached_property
    def alias(self) -> str:
        """The name of the target in the statement."""
        return self._given_alias or self.named.qualifier[-1]

    @cached_property
    def qualifier(self) -> tuple[str, ...]:
        """The qualifier that columns of the target may have."""
        return self.named.qualifier if self._given_alias is None else (self._given_alias,)

    @property
    def _given_alias(self) -> str | None:
        return read_alias(self.node.child("tableAlias"), self.edited.text)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The target's columns, folded by `rule`."""
        return frozenset(self.rule.fold(column.name) for column in self.table.metadata.schema.fields)

    @cached_property
    def rule(self) -> NameRule:
        """How the session compares names."""
        return read_name_rule(self.spark)

    def find_target_columns(self, node: Node) -> Iterator[tuple[ColumnName, int]]:
        """Yields the qualified columns of the target in a node, and the lengths of their qualifiers."""
        for column in self.references.columns:
            if node.start <= column.starts[0] and column.ends[-1] <= node.end:
                length = count_qualifier_parts(self.rule, column, self.qualifier)
                if length and self.rule.fold(column.parts[length]) in self.columns:
                    yield column, length

    def qualify(self, node: Node) -> None:
        """Qualifies columns of the target, because the source may have columns of the same name."""
        qualified = {column for column, _ in self.find_target_columns(node)}
        for column in self.references.columns:
            first = self.rule.fold(column.parts[0])
            inside = node.start <= column.starts[0] and column.ends[-1] <= node.end
            bare = not column.in_query and first not in column.lambda_names and column not in qualified
            if inside and bare and first in self.columns:
                self.edited.replace(column.starts[0], column.starts[0], f"{quote(self.alias)}.")

    def use_common_tables(self, views: LiveViews) -> None:
        """Replaces the tables of a WITH by views, because conditions run on their own, without the WITH."""
        ctes = self.statement.ctes
        if ctes is None:
            return
        for reference in self.references.tables:
            if reference.common_table and reference.start >= ctes.end:
                name = quote(reference.parts[0])
                view = views.make_query_view(f"{self.edited.take(ctes)} SELECT * FROM {name}")
                self.edited.replace(reference.start, reference.end, view)
                if reference.alias_at is not None:
                    self.edited.replace(reference.alias_at, reference.alias_at, f" AS {name}")

    def read_condition(self, node: Node) -> str | None:
        """Returns the condition that is a child of a node, in parentheses; None if there is none."""
        condition = node.child("booleanExpression")
        return None if condition is None else f"({self.edited.take(condition)})"

    def read_assignments(self, node: Node) -> dict[str, str]:
        """Returns the new values of an `assignmentList`, by column."""
        values: dict[str, str] = {}
        for assignment in node.children_of("assignment"):
            key, value = assignment.children[0], assignment.children[-1]
            name = self.read_column(key)
            if name in values:
                raise InputError(f"column {name!r} is set twice")
            values[name] = self.read_value(value)
        return values

    def read_column(self, node: Node) -> str:
        """Returns the column of the target that is set, without the target's name."""
        parts = read_name(node, self.edited.text)
        for length in range(min(len(parts) - 1, len(self.qualifier)), 0, -1):
            if (
                are_same_names(self.rule, parts[:length], self.qualifier[-length:])
                and self.rule.fold(parts[length]) in self.columns
            ):
                return quote_where_needed(parts[length:])
        return quote_where_needed(parts)

    def read_value(self, node: Node) -> str:
        """Returns the text of a new value."""
        if [leaf.word.upper() for leaf in node.leaves()] == ["DEFAULT"] and not self.rule.find("default", self.columns):
            raise InputError("DEFAULT is not supported as a value", hint="write the value itself, or NULL")
        return self.edited.take(node)
