"""New values for columns, as `SET` of an UPDATE: checked and stored by the rules of ANSI SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.change.stored_values import store_value
from rowdelta.errors import InputError
from rowdelta.spark import parse_column, quote

if TYPE_CHECKING:
    import datetime as dt
    import decimal
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle

# What a column can be set to: SQL text, a Column, or a Python value.
Value: TypeAlias = "str | Column | float | decimal.Decimal | dt.date | bytes | bytearray | None"


def to_column(value: str | Column) -> Column:
    """Makes a Column of SQL text or a Column."""
    return F.expr(value) if isinstance(value, str) else value


def name_new_value(column: str) -> str:
    """Names the column that holds a new value next to the old one."""
    return f"__rd_new_{column}"


def find_default(column: T.StructField) -> Column:
    """Finds what a column gets in a new row that has no value for it: the default of the table, or null."""
    text = column.metadata.get("CURRENT_DEFAULT")
    return (F.lit(None) if text is None else parse_column(text)).cast(column.dataType)


def compute_assignments(
    handle: TableHandle, rows: DataFrame, values: Mapping[str, str | Column], origin: str | None = None
) -> dict[str, Column]:
    """Computes the new value of every top-level column that is set, by column name.

    Args:
        handle: The table.
        rows: The frame that the values are computed from; every value sees the original row.
        values: New values by column name; a dotted name sets a field of a struct.
        origin: The alias of the table's own columns in `rows`, if they have one.

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
        fields[column.path[1:]] = store_value(handle, rows, column, to_column(value), _find_type(types, column.path))
    new_values: dict[str, Column] = {}
    for root, fields in by_root.items():
        old = F.col(quote(root) if origin is None else f"{quote(origin)}.{quote(root)}")
        new_values[root] = _set_fields(old, types[root].dataType, fields, root)
    return new_values


def _find_type(types: T.StructType, path: tuple[str, ...]) -> T.DataType:
    data_type: T.DataType = types
    for name in path:
        assert isinstance(data_type, T.StructType)
        data_type = data_type[name].dataType
    return data_type


def _set_fields(struct: Column, data_type: T.DataType, fields: Mapping[tuple[str, ...], Column], name: str) -> Column:
    """Sets some fields of a column. As in Spark's SQL, a null struct becomes a struct of nulls."""
    if () in fields:
        if len(fields) > 1:
            raise InputError(f"column {name!r} and a field of it are both set", hint="set one or the other")
        return fields[()]
    assert isinstance(data_type, T.StructType)
    parts = []
    for part in data_type.fields:
        inner = {path[1:]: value for path, value in fields.items() if path[0] == part.name}
        old = struct.getField(part.name)
        new = _set_fields(old, part.dataType, inner, f"{name}.{part.name}") if inner else old
        parts.append(new.alias(part.name))
    return F.struct(*parts)
