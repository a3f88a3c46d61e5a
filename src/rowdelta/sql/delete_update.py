"""DELETE and UPDATE become `t.delete()` and `t.update()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.sql.live_tables import shorten_columns

if TYPE_CHECKING:
    from rowdelta.change import Operation
    from rowdelta.sql.dml_statement import Change


def delete_operation(change: Change) -> Operation[Any]:
    """The operation of a DELETE."""
    _shorten(change)
    where = change.node.child("whereClause")
    return change.table.delete(None if where is None else change.condition(where), alias=change.alias)


def update_operation(change: Change) -> Operation[Any]:
    """The operation of an UPDATE."""
    _shorten(change)
    where, values = change.node.child("whereClause"), change.node.child("setClause")
    listed = None if values is None else values.child("assignmentList")
    assert listed is not None
    update = change.table.update(alias=change.alias)
    for column, value in change.assignments(listed).items():
        update = update.set(column, value)
    condition = None if where is None else change.condition(where)
    return update if condition is None else update.where(condition)


def _shorten(change: Change) -> None:
    """The target has an alias of one part here: so have its columns."""
    shorten_columns(change.rule, change.found.columns, change.edited, change.qualifier, change.alias)
