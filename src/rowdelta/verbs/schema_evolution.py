"""Columns that changes have and a table does not: added to the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.errors import InputError
from rowdelta.iceberg import draft
from rowdelta.spark import quote, run_sql, sql_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle

_WIDER = {("int", "bigint"), ("float", "double")}


@dataclass(frozen=True)
class Growth:
    """What changes need that a table does not have.

    Attributes:
        new: Columns to add.
        wider: `int` and `float` columns of the table whose changes are wider.
        statements: The same as parts of `ALTER TABLE`.
    """

    new: tuple[str, ...]
    wider: tuple[str, ...]
    statements: tuple[str, ...]

    def rehearse_on(self, handle: TableHandle, changes: DataFrame) -> TableHandle:
        """The table as it would be; it is not changed, so that all that is wrong with the changes can show first."""
        return draft(handle, changes, self.new, self.wider)

    def apply(self, handle: TableHandle) -> None:
        """Changes the table's schema."""
        for statement in self.statements:
            run_sql(handle.spark, f"ALTER TABLE {handle.full_name} {statement}")
        if self.statements:
            handle.refresh()


def plan_growth(handle: TableHandle, changes: DataFrame, new_columns: Sequence[str]) -> Growth:
    """What must become of a table's schema before it can take changes."""
    statements, wider = [], []
    rule = handle.name_rule
    for column in handle.column_types.fields:
        found = rule.find(column.name, changes.columns)
        have = changes.schema[found[0]].dataType.simpleString() if found else ""
        if (column.dataType.simpleString(), have) in _WIDER:
            statements.append(f"ALTER COLUMN {quote(column.name)} TYPE {have}")
            wider.append(column.name)
    for name in new_columns:
        kind = changes.schema[name].dataType.simpleString()
        if "void" in kind:
            raise InputError(
                f"column {name!r} of the changes has no type", hint=f"cast it: col('{name}').cast('string')"
            )
        statements.append(f"ADD COLUMN {quote(name)} {sql_type(changes, name)}")
    return Growth(tuple(new_columns), tuple(wider), tuple(statements))
