"""Finds the rows that match a predicate, even where Iceberg's reader would skip some of them by mistake.

Some columns must be hidden from the scan, so that it cannot skip files by them. `write_stored_column` hides those
that every frame must hide. Two more are hidden only if a predicate names them, since hiding them makes the scan read
more: structs with floating-point fields, and text that is the source of a partition, whose prefixes Iceberg cannot
compare with a null partition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.iceberg import (
    add_comment,
    build_skipping_filter,
    convert_filter,
    find_columns,
    find_filter_columns,
    find_join_columns,
    has_floats,
    has_hidden_field,
    hide_struct_fields,
    names_floats,
)
from rowdelta.spark import parse_column

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import NamedColumns, RowFilter, Schema, TableHandle


@dataclass(frozen=True)
class Match:
    """The rows for which a predicate is true, and the predicate in Iceberg's terms if it was needed."""

    rows: DataFrame
    condition: RowFilter | None


def find_matching_rows(
    handle: TableHandle,
    rows: DataFrame,
    where: str | Column,
    alias: str | None = None,
    *,
    reread: Callable[[Column], DataFrame] | None = None,
    condition: RowFilter | None = None,
) -> Match:
    """Finds the rows for which a predicate is true.

    Args:
        handle: The table.
        rows: Rows of the table, under the names of its columns.
        where: SQL text or a Column.
        alias: The name of the table in the predicate.
        reread: Reads the rows again, without files that hold no row for which a given predicate is true.
        condition: The predicate in Iceberg's terms, if the caller has it.
    """
    matched = rows.where(where)
    schema = handle.metadata.schema
    if not may_hide(handle, schema) and (reread is None or not has_floats(schema.fields)):
        return Match(matched, condition)
    named = find_filter_columns(matched)
    hidden = _find_hidden(schema, named, frozenset())
    texts = _find_partition_texts(handle, schema) if named.prefixes else frozenset()
    alternatives = _find_hidden(schema, named, texts) if texts else hidden
    floats = reread is not None and names_floats(handle, named.columns)
    if condition is None and (floats or alternatives != hidden):
        condition = convert_filter(handle, matched)
    if condition is not None and alternatives != hidden and _has_prefix_in_or(condition):
        used = find_columns(handle, condition)
        hidden |= {name: text for name, text in alternatives.items() if name in used}
    skipped = build_skipping_filter(handle, condition) if condition is not None and floats else None
    if reread is not None and skipped is not None:
        rows = reread(skipped)
    if hidden:
        rows = _replace_columns(rows, schema, hidden)
        rows = rows if alias is None else rows.alias(alias)
    return Match(matched if not hidden and skipped is None else rows.where(where), condition)


def find_matching_rows_of_schema(
    handle: TableHandle, rows: DataFrame, where: str | Column, schema_id: int
) -> DataFrame:
    """Finds the rows in a frame with the columns of an older schema; hidden columns skip no file."""
    matched = rows.where(where)
    schema = handle.metadata.schemas[schema_id]
    if not may_hide(handle, schema):
        return matched
    named = find_filter_columns(matched)
    hidden = _find_hidden(schema, named, _find_partition_texts(handle, schema) if named.prefixes else frozenset())
    return _replace_columns(rows, schema, hidden).where(where) if hidden else matched


def find_matching_pairs(handle: TableHandle, rows: DataFrame, join: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """Finds the pairs of a join.

    Args:
        handle: The table.
        rows: Rows of the table, under the names of its columns.
        join: Joins the rows by a condition, which may have parts about one side alone.
    """
    pairs = join(rows)
    schema = handle.metadata.schema
    if not may_hide(handle, schema):
        return pairs
    named = find_join_columns(pairs)
    hidden = _find_hidden(schema, named, _find_partition_texts(handle, schema) if named.prefixes else frozenset())
    return join(_replace_columns(rows, schema, hidden)) if hidden else pairs


def may_hide(handle: TableHandle, schema: Schema) -> bool:
    """Whether `find_matching_rows` hides a column of a schema if a predicate names it."""
    return bool(_find_partition_texts(handle, schema)) or any(map(has_hidden_field, schema.fields))


def _replace_columns(rows: DataFrame, schema: Schema, hidden: dict[str, str]) -> DataFrame:
    columns = schema.top_level
    return rows.withColumns({name: add_comment(parse_column(text), columns[name]) for name, text in hidden.items()})


def _find_hidden(schema: Schema, named: NamedColumns, texts: AbstractSet[int]) -> dict[str, str]:
    """Finds the columns to hide from the scan, and the SQL that replaces them, by name."""
    columns = [schema.by_id[column.id] for column in schema.fields if column.name.lower() in named.columns]
    to_hide = [column for column in columns if column.id in texts or has_hidden_field(column, texts)]
    return {column.name: hide_struct_fields(column, texts) for column in to_hide}


def _has_prefix_in_or(condition: RowFilter) -> bool:
    """Whether a comparison of a prefix may be part of an OR."""
    return re.search(r"tartsWith\b", condition.text) is not None and " or " in condition.text


def _find_partition_texts(handle: TableHandle, schema: Schema) -> frozenset[int]:
    """Finds the ids of text columns that may be null, and that are or were the source of a partition."""
    sources = {part.source_id for spec in handle.metadata.specs.values() for part in spec.fields}
    columns = [schema.by_id[source] for source in sources if source in schema.by_id]
    return frozenset(
        column.id for column in columns if column.type == "string" and not (column.required and len(column.path) == 1)
    )
