"""Schema evolution: adds the columns that changes have and a table does not, and widens types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.errors import InputError
from rowdelta.iceberg import open_with_new_columns
from rowdelta.spark import quote, run_sql, write_sql_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle

_WIDER = {("int", "bigint"), ("float", "double")}


@dataclass(frozen=True)
class Growth:
    """What the schema of a table lacks for some changes.

    Attributes:
        new: Columns to add.
        wider: `int` and `float` columns of the table whose changes are wider.
        statements: Both, as parts of `ALTER TABLE` statements.
    """

    new: tuple[str, ...]
    wider: tuple[str, ...]
    statements: tuple[str, ...]

    def draft_table(self, handle: TableHandle, changes: DataFrame) -> TableHandle:
        """Makes a draft of the table with its new schema; the table itself does not change."""
        return open_with_new_columns(handle, changes, self.new, self.wider)

    def apply(self, handle: TableHandle) -> None:
        """Changes the table's schema."""
        for statement in self.statements:
            run_sql(handle.spark, f"ALTER TABLE {handle.full_name} {statement}")
        if self.statements:
            handle.refresh()


def plan_growth(handle: TableHandle, changes: DataFrame, new_columns: Sequence[str]) -> Growth:
    """Plans how the schema of a table must change to accept some changes."""
    statements, wider = [], []
    rule = handle.name_rule
    for column in handle.column_types.fields:
        names = rule.find(column.name, changes.columns)
        source_type = changes.schema[names[0]].dataType.simpleString() if names else ""
        if (column.dataType.simpleString(), source_type) in _WIDER:
            statements.append(f"ALTER COLUMN {quote(column.name)} TYPE {source_type}")
            wider.append(column.name)
    for name in new_columns:
        if "void" in changes.schema[name].dataType.simpleString():
            raise InputError(
                f"column {name!r} of the changes has no type", hint=f"cast it: col('{name}').cast('string')"
            )
        statements.append(f"ADD COLUMN {quote(name)} {write_sql_type(changes, name)}")
    return Growth(tuple(new_columns), tuple(wider), tuple(statements))
