"""SET: new values for columns, checked and stored as ANSI SQL says."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.change.stored_values import store_value
from rowdelta.errors import InputError
from rowdelta.spark import quote, sql_column

if TYPE_CHECKING:
    import datetime as dt
    import decimal
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle

# What a column can be set to: SQL text, a Column, or a value that Python has a type for.
Value: TypeAlias = "str | Column | float | decimal.Decimal | dt.date | bytes | bytearray | None"


def to_column(value: str | Column) -> Column:
    """SQL text or a Column, as a Column."""
    return F.expr(value) if isinstance(value, str) else value


def name_new_value(column: str) -> str:
    """What the new value of a column is called beside the old one."""
    return f"__rd_new_{column}"


def find_default(column: T.StructField) -> Column:
    """What a column of a new row gets that has no value: the table's default for new rows, or null."""
    text = column.metadata.get("CURRENT_DEFAULT")
    return (F.lit(None) if text is None else sql_column(text)).cast(column.dataType)


def compute_assignments(
    handle: TableHandle, rows: DataFrame, values: Mapping[str, str | Column], origin: str | None = None
) -> dict[str, Column]:
    """The new value of every top-level column that is set, by column name.

    Args:
        handle: The table.
        rows: The frame that the values are computed from; they all see the original row.
        values: New values by column name; a dotted name sets a field of a struct.
        origin: The alias of the table's own columns in `rows`, where it has one.

    Raises:
        InputError: A column is unknown, set twice, or gets a value that cannot be stored in it.
    """
    schema, types, rule = handle.metadata.schema, handle.column_types, handle.name_rule
    by_root: dict[str, dict[tuple[str, ...], Column]] = {}
    for name, value in values.items():
        column = schema.find(name, rule)
        fields = by_root.setdefault(column.path[0], {})
        if column.path[1:] in fields:
            raise InputError(f"column {name!r} is set twice")
        fields[column.path[1:]] = store_value(handle, rows, column, to_column(value), _type_at(types, column.path))
    result: dict[str, Column] = {}
    for root, fields in by_root.items():
        whole = F.col(quote(root) if origin is None else f"{quote(origin)}.{quote(root)}")
        result[root] = _with_fields(whole, types[root].dataType, fields, root)
    return result


def _type_at(types: T.StructType, path: tuple[str, ...]) -> T.DataType:
    kind: T.DataType = types
    for name in path:
        assert isinstance(kind, T.StructType)
        kind = kind[name].dataType
    return kind


def _with_fields(whole: Column, kind: T.DataType, fields: Mapping[tuple[str, ...], Column], name: str) -> Column:
    """A column with new values for some of its fields; as in Spark's SQL, a null struct becomes one of nulls."""
    if () in fields:
        if len(fields) > 1:
            raise InputError(f"column {name!r} and a field of it are both set", hint="set one or the other")
        return fields[()]
    assert isinstance(kind, T.StructType)
    parts = []
    for part in kind.fields:
        inner = {path[1:]: value for path, value in fields.items() if path[0] == part.name}
        old = whole.getField(part.name)
        new = _with_fields(old, part.dataType, inner, f"{name}.{part.name}") if inner else old
        parts.append(new.alias(part.name))
    return F.struct(*parts)
