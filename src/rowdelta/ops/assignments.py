"""SET: new values for columns, checked and stored as ANSI SQL says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import InputError
from rowdelta.iceberg import can_store
from rowdelta.ops.refusals import not_null
from rowdelta.scan import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import Field, TableHandle


def as_column(value: str | Column) -> Column:
    """SQL text or a Column, as a Column."""
    return F.expr(value) if isinstance(value, str) else value


def assigned(
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
    schema = handle.metadata.schema
    by_root: dict[str, dict[tuple[str, ...], Column]] = {}
    for name, value in values.items():
        column = schema.find(name)
        fields = by_root.setdefault(column.path[0], {})
        if column.path in fields:
            raise InputError(f"column {name!r} is set twice")
        fields[column.path] = _stored(handle, rows, column, as_column(value))
    result: dict[str, Column] = {}
    for root, fields in by_root.items():
        if (root,) in fields:
            if len(fields) > 1:
                raise InputError(f"column {root!r} and a field of it are both set", hint="set one or the other")
            result[root] = fields[root,]
            continue
        whole = F.col(quote(root) if origin is None else f"{origin}.{quote(root)}")
        for path, value in fields.items():
            whole = whole.withField(".".join(quote(part) for part in path[1:]), value)
        result[root] = whole
    return result


def _stored(handle: TableHandle, rows: DataFrame, column: Field, value: Column) -> Column:
    """A value cast to the column's type, if ANSI SQL lets it be stored there; overflow and a forbidden null raise."""
    have = rows.select(value.alias("v")).schema["v"].dataType
    want = handle.spark.table(handle.full_name).select(column.sql).schema.fields[0].dataType
    if not can_store(handle, have, want):
        raise InputError(
            f"{have.simpleString()} cannot be stored in column {column.name!r} of type {want.simpleString()}",
            hint=f"cast it: cast(... as {want.simpleString()})",
        )
    stored = value.cast(want)
    if not column.required:
        return stored
    return not_null(stored, f"column {column.name!r} is required, but a row would get null")
