"""Columns that changes have and a table does not: added to the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.errors import InputError
from rowdelta.iceberg import sql_type
from rowdelta.scan import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle

_WIDER = {("int", "bigint"), ("float", "double")}


def grow_schema(handle: TableHandle, changes: DataFrame, new_columns: Sequence[str]) -> list[str]:
    """Adds columns, and widens `int` and `float` columns whose changes are wider; returns what was done."""
    statements = []
    types = handle.column_types
    for column in types.fields:
        found = [name for name in changes.columns if name.lower() == column.name.lower()]
        have = changes.schema[found[0]].dataType.simpleString() if found else ""
        if (column.dataType.simpleString(), have) in _WIDER:
            statements.append(f"ALTER COLUMN {quote(column.name)} TYPE {have}")
    for name in new_columns:
        kind = changes.schema[name].dataType.simpleString()
        if "void" in kind:
            raise InputError(
                f"column {name!r} of the changes has no type", hint=f"cast it: col('{name}').cast('string')"
            )
        statements.append(f"ADD COLUMN {quote(name)} {sql_type(changes, name)}")
    for statement in statements:
        handle.spark.sql(f"ALTER TABLE {handle.full_name} {statement}")
    if statements:
        handle.refresh()
    return statements
