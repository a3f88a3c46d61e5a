"""Decides which filters Iceberg's reader may apply alone, and hides columns from the others.

Spark drops a filter that Iceberg claims to apply completely, by choosing partitions. But in a null partition, Iceberg
evaluates comparisons as true: `p <> 1 OR p > 5` keeps its rows. And filters on floating-point columns skip files with
rows that Spark would match: the bounds of a file omit NaN, and Iceberg distinguishes -0.0 from 0.0. See `docs/faq.md`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rowdelta.iceberg.schema import Field
from rowdelta.spark import get_analyzed_plan, parse_columns, quote, select_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

    from rowdelta.iceberg.partition_specs import PartitionSpec
    from rowdelta.iceberg.row_filter import RowFilter
    from rowdelta.iceberg.table_handle import TableHandle

_FLOATS: Final = ("float", "double")
_PREFIX: Final = re.compile("like|starts_?with", re.IGNORECASE)


def has_null_partitions(specs: Mapping[int, PartitionSpec], manifests: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a data file may be in a partition with a null, according to the records of a manifest list.

    Examples:
        >>> from rowdelta.iceberg.partition_specs import PartitionField, PartitionSpec
        >>> specs = {0: PartitionSpec(0, (PartitionField(1, 1000, "p", "identity"),))}
        >>> has_null_partitions(specs, [{"partition_spec_id": 0, "partitions": [{"contains_null": True}]}])
        True
        >>> has_null_partitions(specs, [{"partition_spec_id": 0, "partitions": [{"contains_null": False}]}])
        False
    """
    for manifest in manifests:
        spec = specs.get(manifest.get("partition_spec_id") or 0)
        if manifest.get("content") or spec is None or spec.is_unpartitioned:
            continue
        summaries = manifest.get("partitions")
        if summaries is None or len(summaries) != len(spec.fields):
            return True
        for part, summary in zip(spec.fields, summaries, strict=True):
            if part.transform != "void" and (summary.get("contains_null") is not False or summary.get("contains_nan")):
                return True
    return False


def add_unpartitioned_spec(handle: TableHandle, metadata: Any) -> Any:
    """Adds a spec without partitions and files, so that no filter is applied completely by choosing partitions."""
    builder = handle.gateway.iceberg.TableMetadata.buildFrom(metadata)
    return builder.addPartitionSpec(handle.gateway.iceberg.PartitionSpec.unpartitioned()).discardChanges().build()


def is_float(column: Field) -> bool:
    """Whether a column is of a floating-point type."""
    return column.type in _FLOATS


def write_stored_column(column: Field) -> str:
    """Writes a top-level column in SQL, under its own name; a floating-point column is hidden from the scan.

    Examples:
        >>> write_stored_column(Field(1, "id", "long", True)), write_stored_column(Field(2, "k", "double", False))
        ('`id`', 'nanvl(`k`, `k`) AS `k`')
    """
    return f"nanvl({column.sql}, {column.sql}) AS {column.sql}" if is_float(column) else column.sql


def select_stored(frame: DataFrame, columns: Sequence[Field], more: Sequence[str] = ()) -> DataFrame:
    """Top-level columns by `write_stored_column`, which keep their comments, and more columns in SQL."""
    texts = [*map(write_stored_column, columns), *more]
    commented = [place for place, column in enumerate(columns) if column.doc and is_float(column)]
    if not commented:
        return select_sql(frame, *texts)
    parsed = parse_columns(texts)
    for place in commented:
        parsed[place] = add_comment(parsed[place], columns[place])
    return frame.select(*parsed)


def add_comment(value: SparkColumn, column: Field) -> SparkColumn:
    """Gives a computed value the name and the comment of a column of the table."""
    return value.alias(column.name, metadata={"comment": column.doc}) if column.doc else value.alias(column.name)


def has_floats(columns: Iterable[Field]) -> bool:
    """Whether `write_stored_column` hides one of some columns."""
    return any(is_float(column) for column in columns)


def has_hidden_field(column: Field, texts: AbstractSet[int] = frozenset()) -> bool:
    """Whether a struct has a field that must be hidden from the scan: a floating-point number, or one of some texts.

    Args:
        column: The struct.
        texts: The ids of the text fields.

    Examples:
        >>> field = {"id": 2, "name": "k", "type": "double", "required": False}
        >>> has_hidden_field(Field(1, "o", {"type": "struct", "fields": [field]}, False))
        True
    """
    inner = list_struct_fields(column)
    return any(is_float(field) or field.id in texts or has_hidden_field(field, texts) for field in inner)


def hide_struct_fields(column: Field, texts: AbstractSet[int] = frozenset()) -> str:
    """Writes a struct in SQL with such fields hidden, as `write_stored_column` hides columns.

    Examples:
        >>> field = {"id": 2, "name": "k", "type": "double", "required": False}
        >>> hide_struct_fields(Field(1, "o", {"type": "struct", "fields": [field]}, True))
        'struct(nanvl(`o`.`k`, `o`.`k`) AS `k`)'
    """
    if is_float(column):
        return f"nanvl({column.sql}, {column.sql})"
    if column.id in texts:
        return f"coalesce({column.sql}, {column.sql})"
    if not has_hidden_field(column, texts):
        return column.sql
    inner = ", ".join(
        f"{hide_struct_fields(field, texts)} AS {quote(field.path[-1])}" for field in list_struct_fields(column)
    )
    built = f"struct({inner})"
    return built if column.required else f"if({column.sql} IS NULL, NULL, {built})"


@dataclass(frozen=True)
class NamedColumns:
    """The columns that a condition names.

    Attributes:
        columns: Top-level columns of any relation, in lower case.
        prefixes: Whether the condition may compare text with a prefix.
    """

    columns: frozenset[str]
    prefixes: bool


def _find_names(condition: Any) -> NamedColumns:
    """Finds the columns of an analyzed Spark condition."""
    columns = str(condition.references().toSeq().mkString("\n")).split("\n")
    names = frozenset(column.rpartition("#")[0].lower() for column in columns)
    return NamedColumns(names, prefixes=_PREFIX.search(str(condition.toString())) is not None)


def find_filter_columns(matched: DataFrame) -> NamedColumns:
    """Finds the columns of the last filter of a frame."""
    return _find_names(_find_node(matched, "Filter").condition())


def find_join_columns(joined: DataFrame) -> NamedColumns:
    """Finds the columns of the condition of a join."""
    return _find_names(_find_node(joined, "Join").condition().get())


def _find_node(frame: DataFrame, node_name: str) -> Any:
    """Finds the last node of some type in a frame's plan. Spark may remove metadata columns above it."""
    plan = get_analyzed_plan(frame)
    while str(plan.nodeName()) != node_name:
        plan = plan.child()
    return plan


def find_columns(handle: TableHandle, condition: RowFilter) -> set[str]:
    """Finds the top-level columns that Iceberg sees in a predicate."""
    struct, schema = handle.java_table.schema().asStruct(), handle.metadata.schema
    ids = handle.gateway.iceberg.expressions.Binder.boundReferences(struct, [condition.expression], True)
    return {schema.by_id[field_id].path[0] for field_id in handle.gateway.members(ids)}


def list_struct_fields(column: Field) -> list[Field]:
    """Lists the fields of a struct with their paths; empty for any other type."""
    if not isinstance(column.type, dict) or column.type["type"] != "struct":
        return []
    above = column.path or (column.name,)
    return [
        Field(field["id"], ".".join((*above, field["name"])), field["type"], field["required"], (*above, field["name"]))
        for field in column.type["fields"]
    ]
