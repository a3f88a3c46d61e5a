"""Rows that match a predicate, whatever Iceberg's reader would make of it.

What every frame hides from the scan is in `stored_column`. Two kinds of columns are hidden only where a predicate needs
it, since otherwise the scan would read or keep more than it must: structs that hold floating-point numbers, and text
that partitions are made of, whose prefixes Iceberg cannot compare where the partition is null.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rowdelta.iceberg import columns_of, filter_of, hidden_struct, holds_floats, names_floats, skipping, sql_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import Field, RowFilter, TableHandle


def matching(
    handle: TableHandle,
    rows: DataFrame,
    where: str | Column,
    alias: str | None = None,
    *,
    again: Callable[[Column], DataFrame] | None = None,
) -> DataFrame:
    """The rows for which a predicate is true.

    Args:
        handle: The table.
        rows: Rows of the table, under the names of its columns.
        where: SQL text or a Column.
        alias: What the predicate calls the table.
        again: Makes the rows once more, without files that have none for which another predicate is true.
    """
    matched = rows.where(where)
    structs = [column for column in handle.metadata.schema.fields if holds_floats(column)]
    texts = _partition_texts(handle)
    floats = again is not None and names_floats(handle, matched)
    if not structs and not texts and not floats:
        return matched
    condition = filter_of(handle, matched)
    skipped = skipping(handle, condition) if floats else None
    hidden = _hidden(handle, condition, structs, texts)
    if not hidden and skipped is None:
        return matched
    if again is not None and skipped is not None:
        rows = again(skipped)
    if hidden:
        rows = rows.withColumns({name: sql_column(text) for name, text in hidden.items()})
        rows = rows if alias is None else rows.alias(alias)
    return rows.where(where)


def may_hide(handle: TableHandle) -> bool:
    """Whether `matching` hides a column where some predicate names it."""
    return bool(_partition_texts(handle)) or any(map(holds_floats, handle.metadata.schema.fields))


def _hidden(handle: TableHandle, condition: RowFilter, structs: list[Field], texts: list[Field]) -> dict[str, str]:
    """What stands in for columns that a predicate must not show the scan."""
    used = columns_of(handle, condition)
    found = {column.name: hidden_struct(column) for column in structs if column.name in used}
    if re.search(r"tartsWith\b", condition.text) and " or " in condition.text:
        found |= {column.name: f"coalesce({column.sql}, {column.sql})" for column in texts if column.name in used}
    return found


def _partition_texts(handle: TableHandle) -> list[Field]:
    """Top-level columns of text that may be null, and that partitions are or were made of."""
    sources = {part.source_id for spec in handle.metadata.specs.values() for part in spec.fields}
    columns = handle.metadata.schema.fields
    return [column for column in columns if column.id in sources and column.type == "string" and not column.required]
