"""Converts DELETE, UPDATE and MERGE to `t.delete()`, `t.update()` and `t.merge()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import InputError
from rowdelta.sql.identifiers import read_alias, read_reference
from rowdelta.sql.live_tables import find_referenced_table, shorten_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rowdelta.change import Operation
    from rowdelta.spark import Node
    from rowdelta.sql.dml_statement import DmlStatement
    from rowdelta.verbs import Merge

UNNAMED_SOURCE: Final = "__rowdelta_source"


def to_operation(change: DmlStatement) -> Operation[Any]:
    """Converts a statement to the operation of its table."""
    return _OPERATIONS[change.statement.verb](change)


def _to_delete(change: DmlStatement) -> Operation[Any]:
    _shorten_qualifiers(change)
    where = change.node.child("whereClause")
    return change.table.delete(None if where is None else change.read_condition(where), alias=change.alias)


def _to_update(change: DmlStatement) -> Operation[Any]:
    _shorten_qualifiers(change)
    where, values = change.node.child("whereClause"), change.node.child("setClause")
    listed = None if values is None else values.child("assignmentList")
    assert listed is not None
    update = change.table.update(alias=change.alias)
    for column, value in change.read_assignments(listed).items():
        update = update.set(column, value)
    condition = None if where is None else change.read_condition(where)
    return update if condition is None else update.where(condition)


def _shorten_qualifiers(change: DmlStatement) -> None:
    """Gives columns of the target a qualifier of one part, as its alias has."""
    shorten_columns(change.rule, change.references.columns, change.edited, change.qualifier, change.alias)


def _to_merge(change: DmlStatement) -> Operation[Any]:
    node = change.node
    if "EVOLUTION" in node.tokens():
        raise InputError(
            "MERGE WITH SCHEMA EVOLUTION is not supported", hint="add the columns with ALTER TABLE first, then merge"
        )
    source_alias = _read_source_alias(change)
    if change.rule.same(source_alias, change.alias):
        raise InputError(
            f"target and source of the merge are both called {source_alias!r}", hint="give each its own alias"
        )
    shorten_columns(change.rule, change.references.columns, change.edited, change.qualifier, change.alias)
    for clause in node.children_of("notMatchedBySourceClause"):
        change.qualify(clause)
    merge = change.table.merge(
        change.spark.sql(f"SELECT * FROM {_read_source_text(change)}"),
        change.read_condition(node) or "",
        target_alias=change.alias,
        source_alias=source_alias,
    )
    for clause in node.children:
        if clause.rule in _CLAUSES:
            merge = _CLAUSES[clause.rule](change, merge, change.read_condition(clause), clause.children[-1])
    return merge


def _read_source_alias(change: DmlStatement) -> str:
    """Returns the alias of the source, and gives it to columns with a longer qualifier."""
    aliases = list(change.node.children_of("tableAlias"))
    given = read_alias(aliases[1], change.edited.text)
    if given is not None:
        return given
    names = list(change.node.children_of("identifierReference"))
    parts = read_reference(names[1], change.edited.text) if len(names) > 1 else None
    if parts is None:
        return UNNAMED_SOURCE
    reference = next(table for table in change.references.tables if table.start == names[1].start)
    named = find_referenced_table(change.spark, reference)
    qualifier = parts if named is None else named.qualifier
    shorten_columns(change.rule, change.references.columns, change.edited, qualifier, parts[-1])
    return parts[-1]


def _read_source_text(change: DmlStatement) -> str:
    """Returns the text between USING and ON."""
    children = change.node.children
    using = next(child for child in children if child.word.upper() == "USING")
    on = next(child for child in children if child.word.upper() == "ON")
    return change.edited.get_range(using.end, on.start).strip()


def _add_matched(change: DmlStatement, merge: Merge, condition: str | None, action: Node) -> Merge:
    if action.tokens() == ["DELETE"]:
        return merge.when_matched_delete(condition)
    values = action.child("assignmentList")
    if values is None:
        return merge.when_matched_update_all(condition)
    return merge.when_matched_update(change.read_assignments(values), condition)


def _add_not_matched(change: DmlStatement, merge: Merge, condition: str | None, action: Node) -> Merge:
    columns = action.child("multipartIdentifierList")
    if columns is None:
        return merge.when_not_matched_insert_all(condition)
    return merge.when_not_matched_insert(_read_inserted(change, columns, action), condition)


def _add_not_matched_by_source(change: DmlStatement, merge: Merge, condition: str | None, action: Node) -> Merge:
    values = action.child("assignmentList")
    if values is None:
        return merge.when_not_matched_by_source_delete(condition)
    return merge.when_not_matched_by_source_update(change.read_assignments(values), condition)


_CLAUSES: Final = {
    "matchedClause": _add_matched,
    "notMatchedClause": _add_not_matched,
    "notMatchedBySourceClause": _add_not_matched_by_source,
}


def _read_inserted(change: DmlStatement, columns: Node, action: Node) -> dict[str, str]:
    names = [change.read_column(column) for column in columns.children_of("multipartIdentifier")]
    values = [change.read_value(value) for value in action.children_of("expression")]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InputError(f"column {min(repeated)!r} is set twice")
    return dict(zip(names, values, strict=True))


_OPERATIONS: Final[Mapping[str, Callable[[DmlStatement], Operation[Any]]]] = {
    "DELETE": _to_delete,
    "UPDATE": _to_update,
    "MERGE": _to_merge,
}
