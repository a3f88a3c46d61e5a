"""What Spark may leave to Iceberg's reader, and what it must see again.

Spark drops a filter that Iceberg says it applies completely, by choosing partitions. But where a partition is null,
Iceberg takes comparisons for true: `p <> 1 OR p > 5` keeps its rows. And filters on floating-point columns skip files
with rows that Spark would find: the bounds of a file leave NaN out, and Iceberg tells -0.0 from 0.0. See
`docs/faq.md`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rowdelta.iceberg.schema import Field
from rowdelta.spark import analyzed_plan, quote, select_sql, sql_columns

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
    """Whether a data file may be in a partition with a null, as the records of a manifest list tell.

    Examples:
        >>> from rowdelta.iceberg.metadata import PartitionField, PartitionSpec
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


def with_unpartitioned_spec(handle: TableHandle, metadata: Any) -> Any:
    """Metadata with one more spec, of no partitions and no files, so that no filter chooses whole partitions alone."""
    builder = handle.gateway.iceberg.TableMetadata.buildFrom(metadata)
    return builder.addPartitionSpec(handle.gateway.iceberg.PartitionSpec.unpartitioned()).discardChanges().build()


def is_float(column: Field) -> bool:
    """Whether a column is of a floating-point type."""
    return column.type in _FLOATS


def stored_column(column: Field) -> str:
    """A top-level column in SQL, under its own name; one that holds floating-point numbers hides from the scan.

    Examples:
        >>> stored_column(Field(1, "id", "long", True)), stored_column(Field(2, "k", "double", False))
        ('`id`', 'nanvl(`k`, `k`) AS `k`')
    """
    return f"nanvl({column.sql}, {column.sql}) AS {column.sql}" if is_float(column) else column.sql


def select_stored(frame: DataFrame, columns: Sequence[Field], more: Sequence[str] = ()) -> DataFrame:
    """Top-level columns by `stored_column`, which keep their comments, and more columns in SQL."""
    texts = [*map(stored_column, columns), *more]
    commented = [place for place, column in enumerate(columns) if column.doc and is_float(column)]
    if not commented:
        return select_sql(frame, *texts)
    made = sql_columns(texts)
    for place in commented:
        made[place] = with_comment(made[place], columns[place])
    return frame.select(*made)


def with_comment(value: SparkColumn, column: Field) -> SparkColumn:
    """A computed value under the name of a column of the table, with its comment."""
    return value.alias(column.name, metadata={"comment": column.doc}) if column.doc else value.alias(column.name)


def hides_floats(columns: Iterable[Field]) -> bool:
    """Whether `stored_column` hides one of some columns."""
    return any(is_float(column) for column in columns)


def holds_hidden(column: Field, texts: AbstractSet[int] = frozenset()) -> bool:
    """Whether a struct has a field that a filter must not show the scan: a floating-point number, or one of some texts.

    Args:
        column: The struct.
        texts: The ids of the texts.

    Examples:
        >>> field = {"id": 2, "name": "k", "type": "double", "required": False}
        >>> holds_hidden(Field(1, "o", {"type": "struct", "fields": [field]}, False))
        True
    """
    inner = struct_fields(column)
    return any(is_float(field) or field.id in texts or holds_hidden(field, texts) for field in inner)


def hidden_struct(column: Field, texts: AbstractSet[int] = frozenset()) -> str:
    """A struct in SQL with such fields hidden, as `stored_column` hides columns.

    Examples:
        >>> field = {"id": 2, "name": "k", "type": "double", "required": False}
        >>> hidden_struct(Field(1, "o", {"type": "struct", "fields": [field]}, True))
        'struct(nanvl(`o`.`k`, `o`.`k`) AS `k`)'
    """
    if is_float(column):
        return f"nanvl({column.sql}, {column.sql})"
    if column.id in texts:
        return f"coalesce({column.sql}, {column.sql})"
    if not holds_hidden(column, texts):
        return column.sql
    inner = ", ".join(f"{hidden_struct(field, texts)} AS {quote(field.path[-1])}" for field in struct_fields(column))
    built = f"struct({inner})"
    return built if column.required else f"if({column.sql} IS NULL, NULL, {built})"


@dataclass(frozen=True)
class Named:
    """What a condition names.

    Attributes:
        columns: Top-level columns, of whatever relation, in lower case.
        prefixes: Whether it may compare a text with a prefix.
    """

    columns: frozenset[str]
    prefixes: bool


def _named_by(condition: Any) -> Named:
    """What an analyzed condition of Spark's names."""
    columns = str(condition.references().toSeq().mkString("\n")).split("\n")
    names = frozenset(column.rpartition("#")[0].lower() for column in columns)
    return Named(names, prefixes=_PREFIX.search(str(condition.toString())) is not None)


def filter_names(matched: DataFrame) -> Named:
    """What the condition of rows that were filtered last of all names."""
    return _named_by(_analyzed(matched, "Filter").condition())


def join_names(joined: DataFrame) -> Named:
    """What the condition of a join names."""
    return _named_by(_analyzed(joined, "Join").condition().get())


def _analyzed(frame: DataFrame, kind: str) -> Any:
    """What a frame does last of all; Spark may take metadata columns away again above it."""
    plan = analyzed_plan(frame)
    while str(plan.nodeName()) != kind:
        plan = plan.child()
    return plan


def columns_of(handle: TableHandle, condition: RowFilter) -> set[str]:
    """The top-level columns that Iceberg finds in a predicate."""
    struct, schema = handle.java_table.schema().asStruct(), handle.metadata.schema
    ids = handle.gateway.iceberg.expressions.Binder.boundReferences(struct, [condition.expression], True)
    return {schema.by_id[field_id].path[0] for field_id in handle.gateway.members(ids)}


def struct_fields(column: Field) -> list[Field]:
    """The fields of a struct with their paths; none of any other type."""
    if not isinstance(column.type, dict) or column.type["type"] != "struct":
        return []
    above = column.path or (column.name,)
    return [
        Field(field["id"], ".".join((*above, field["name"])), field["type"], field["required"], (*above, field["name"]))
        for field in column.type["fields"]
    ]
