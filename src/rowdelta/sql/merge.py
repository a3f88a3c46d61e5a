"""MERGE becomes `t.merge()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import InputError
from rowdelta.sql.identifiers import alias_of, reference_parts
from rowdelta.sql.live_tables import find_reference, shorten_columns

if TYPE_CHECKING:
    from rowdelta.change import Operation
    from rowdelta.spark import Node
    from rowdelta.sql.dml_statement import Change
    from rowdelta.verbs import Merge

UNNAMED_SOURCE: Final = "__rowdelta_source"


def merge_operation(change: Change) -> Operation[Any]:
    """The operation of a MERGE."""
    node = change.node
    if "EVOLUTION" in node.tokens():
        raise InputError(
            "MERGE WITH SCHEMA EVOLUTION is not supported", hint="add the columns with ALTER TABLE first, then merge"
        )
    source_alias = _source_alias(change)
    if change.rule.same(source_alias, change.alias):
        raise InputError(
            f"target and source of the merge are both called {source_alias!r}", hint="give each an alias of its own"
        )
    shorten_columns(change.rule, change.found.columns, change.edited, change.qualifier, change.alias)
    for clause in node.children_of("notMatchedBySourceClause"):
        change.qualify(clause)
    merge = change.table.merge(
        change.spark.sql(f"SELECT * FROM {_source_text(change)}"),
        change.condition(node) or "",
        target_alias=change.alias,
        source_alias=source_alias,
    )
    for clause in node.children:
        if clause.rule in _CLAUSES:
            merge = _CLAUSES[clause.rule](change, merge, change.condition(clause), clause.children[-1])
    return merge


def _source_alias(change: Change) -> str:
    """What the source is called; columns with a longer name of it get this one."""
    aliases = list(change.node.children_of("tableAlias"))
    given = alias_of(aliases[1], change.edited.text)
    if given is not None:
        return given
    names = list(change.node.children_of("identifierReference"))
    parts = reference_parts(names[1], change.edited.text) if len(names) > 1 else None
    if parts is None:
        return UNNAMED_SOURCE
    reference = next(known for known in change.found.references if known.start == names[1].start)
    named = find_reference(change.spark, reference)
    qualifier = parts if named is None else named.qualifier
    shorten_columns(change.rule, change.found.columns, change.edited, qualifier, parts[-1])
    return parts[-1]


def _source_text(change: Change) -> str:
    """All between USING and ON."""
    children = change.node.children
    using = next(child for child in children if child.word.upper() == "USING")
    on = next(child for child in children if child.word.upper() == "ON")
    return change.edited.between(using.end, on.start).strip()


def _matched(change: Change, merge: Merge, condition: str | None, action: Node) -> Merge:
    if action.tokens() == ["DELETE"]:
        return merge.when_matched_delete(condition)
    values = action.child("assignmentList")
    if values is None:
        return merge.when_matched_update_all(condition)
    return merge.when_matched_update(change.assignments(values), condition)


def _not_matched(change: Change, merge: Merge, condition: str | None, action: Node) -> Merge:
    columns = action.child("multipartIdentifierList")
    if columns is None:
        return merge.when_not_matched_insert_all(condition)
    return merge.when_not_matched_insert(_inserted(change, columns, action), condition)


def _not_matched_by_source(change: Change, merge: Merge, condition: str | None, action: Node) -> Merge:
    values = action.child("assignmentList")
    if values is None:
        return merge.when_not_matched_by_source_delete(condition)
    return merge.when_not_matched_by_source_update(change.assignments(values), condition)


_CLAUSES: Final = {
    "matchedClause": _matched,
    "notMatchedClause": _not_matched,
    "notMatchedBySourceClause": _not_matched_by_source,
}


def _inserted(change: Change, columns: Node, action: Node) -> dict[str, str]:
    names = [change.column(column) for column in columns.children_of("multipartIdentifier")]
    values = [change.value(value) for value in action.children_of("expression")]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"column {min(twice)!r} is set twice")
    return dict(zip(names, values, strict=True))
