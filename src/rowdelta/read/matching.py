"""Rows that match a predicate, whatever Iceberg's reader would make of it.

What every frame hides from the scan is in `stored_column`. Two kinds of columns are hidden only where a predicate needs
it, since otherwise the scan would read or keep more than it must: structs that hold floating-point numbers, and text
that partitions are made of, also in structs, whose prefixes Iceberg cannot compare where the partition is null.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.iceberg import (
    build_skipping_filter,
    columns_of,
    filter_names,
    filter_of,
    hidden_struct,
    hides_floats,
    holds_hidden,
    join_names,
    names_floats,
    with_comment,
)
from rowdelta.spark import sql_column

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import Named, RowFilter, Schema, TableHandle


@dataclass(frozen=True)
class Match:
    """The rows for which a predicate is true, and the predicate in Iceberg's terms where it had to be known."""

    rows: DataFrame
    condition: RowFilter | None


def find_matching_rows(
    handle: TableHandle,
    rows: DataFrame,
    where: str | Column,
    alias: str | None = None,
    *,
    again: Callable[[Column], DataFrame] | None = None,
    condition: RowFilter | None = None,
) -> Match:
    """The rows for which a predicate is true.

    Args:
        handle: The table.
        rows: Rows of the table, under the names of its columns.
        where: SQL text or a Column.
        alias: What the predicate calls the table.
        again: Makes the rows once more, without files that have none for which another predicate is true.
        condition: The predicate in Iceberg's terms, where it is known.
    """
    matched = rows.where(where)
    schema = handle.metadata.schema
    if not may_hide(handle, schema) and (again is None or not hides_floats(schema.fields)):
        return Match(matched, condition)
    named = filter_names(matched)
    hidden = _hidden(schema, named, frozenset())
    texts = _texts(handle, schema) if named.prefixes else frozenset()
    alternatives = _hidden(schema, named, texts) if texts else hidden
    floats = again is not None and names_floats(handle, named.columns)
    if condition is None and (floats or alternatives != hidden):
        condition = filter_of(handle, matched)
    if condition is not None and alternatives != hidden and _is_alternative(condition):
        used = columns_of(handle, condition)
        hidden |= {name: text for name, text in alternatives.items() if name in used}
    skipped = build_skipping_filter(handle, condition) if condition is not None and floats else None
    if again is not None and skipped is not None:
        rows = again(skipped)
    if hidden:
        rows = _with(rows, schema, hidden)
        rows = rows if alias is None else rows.alias(alias)
    return Match(matched if not hidden and skipped is None else rows.where(where), condition)


def find_matching_rows_of_schema(
    handle: TableHandle, rows: DataFrame, where: str | Column, schema_id: int
) -> DataFrame:
    """The same of rows with the columns of an older schema, of which no file is skipped by what is hidden."""
    matched = rows.where(where)
    schema = handle.metadata.schemas[schema_id]
    if not may_hide(handle, schema):
        return matched
    named = filter_names(matched)
    hidden = _hidden(schema, named, _texts(handle, schema) if named.prefixes else frozenset())
    return _with(rows, schema, hidden).where(where) if hidden else matched


def find_matching_pairs(handle: TableHandle, rows: DataFrame, join: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """The pairs that a join finds.

    Args:
        handle: The table.
        rows: Rows of the table, under the names of its columns.
        join: Joins the rows by a condition, which may say anything of one side alone.
    """
    pairs = join(rows)
    schema = handle.metadata.schema
    if not may_hide(handle, schema):
        return pairs
    named = join_names(pairs)
    hidden = _hidden(schema, named, _texts(handle, schema) if named.prefixes else frozenset())
    return join(_with(rows, schema, hidden)) if hidden else pairs


def may_hide(handle: TableHandle, schema: Schema) -> bool:
    """Whether `find_matching_rows` hides a column of a schema where some predicate names it."""
    return bool(_texts(handle, schema)) or any(map(holds_hidden, schema.fields))


def _with(rows: DataFrame, schema: Schema, hidden: dict[str, str]) -> DataFrame:
    columns = schema.top_level
    return rows.withColumns({name: with_comment(sql_column(text), columns[name]) for name, text in hidden.items()})


def _hidden(schema: Schema, named: Named, texts: AbstractSet[int]) -> dict[str, str]:
    """What stands in for columns that a predicate must not show the scan, by name."""
    columns = [schema.by_id[column.id] for column in schema.fields if column.name.lower() in named.columns]
    found = [column for column in columns if column.id in texts or holds_hidden(column, texts)]
    return {column.name: hidden_struct(column, texts) for column in found}


def _is_alternative(condition: RowFilter) -> bool:
    """Whether a prefix may stand in an OR."""
    return re.search(r"tartsWith\b", condition.text) is not None and " or " in condition.text


def _texts(handle: TableHandle, schema: Schema) -> frozenset[int]:
    """The ids of texts that may be null, and that partitions are or were made of."""
    sources = {part.source_id for spec in handle.metadata.specs.values() for part in spec.fields}
    known = [schema.by_id[source] for source in sources if source in schema.by_id]
    return frozenset(
        column.id for column in known if column.type == "string" and not (column.required and len(column.path) == 1)
    )
