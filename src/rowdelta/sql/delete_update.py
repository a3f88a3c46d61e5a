"""DELETE and UPDATE become `t.delete()` and `t.update()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.sql.substitution import shorten_columns

if TYPE_CHECKING:
    from rowdelta.iceberg.syntax_tree import Node
    from rowdelta.ops import Merge, Operation
    from rowdelta.sql.change import Change

_ONE_ROW = "__rowdelta_one_row"


def delete_operation(change: Change) -> Operation[Any]:
    """The operation of a DELETE."""
    where = change.node.child("whereClause")
    if where is None:
        return change.table.delete()
    if _names_target_in_query(change, where):
        condition = _with_alias(change, where)
        return _merge(change).when_matched_delete(condition)
    change.unqualify(where)
    return change.table.delete(change.condition(where))


def update_operation(change: Change) -> Operation[Any]:
    """The operation of an UPDATE."""
    where, values = change.node.child("whereClause"), change.node.child("setClause")
    assert values is not None
    listed = values.child("assignmentList")
    assert listed is not None
    parts = [node for node in (where, values) if node is not None]
    if any(_names_target_in_query(change, node) for node in parts):
        conditions = [_with_alias(change, node) for node in parts]
        return _merge(change).when_matched_update(change.assignments(listed), conditions[0] if where else None)
    for assignment in listed.children_of("assignment"):
        change.unqualify(assignment.children[-1])
    update = change.table.update()
    if where is not None:
        change.unqualify(where)
        condition = change.condition(where)
        assert condition is not None
        update = update.where(condition)
    for column, value in change.assignments(listed).items():
        update = update.set(column, value)
    return update


def _names_target_in_query(change: Change, node: Node) -> bool:
    """Whether a subquery has columns of the target under its name, so that the name must be there."""
    return any(column.in_query for column, _ in change.target_columns(node))


def _with_alias(change: Change, node: Node) -> str | None:
    shorten_columns(change.found.columns, change.edited, change.qualifier, change.alias)
    return change.condition(node)


def _merge(change: Change) -> Merge:
    """A merge with a source of one row that every row matches: in a merge the target has a name."""
    source = change.spark.range(1).toDF(_ONE_ROW)
    return change.table.merge(source, "1 = 1", target_alias=change.alias, source_alias=_ONE_ROW)
