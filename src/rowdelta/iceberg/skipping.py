"""Builds a wider predicate on floating-point columns by which files can be skipped safely."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.iceberg.pushdown import is_float
from rowdelta.spark import quote

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Column

    from rowdelta.iceberg.row_filter import RowFilter
    from rowdelta.iceberg.schema import Field
    from rowdelta.iceberg.table_handle import TableHandle

_COMPARED: Final = {"LT": "__lt__", "LT_EQ": "__le__", "GT": "__gt__", "GT_EQ": "__ge__", "EQ": "__eq__"}
_NAN: Final = float("nan")


def names_floats(handle: TableHandle, named: AbstractSet[str]) -> bool:
    """Whether a top-level floating-point column is among some names in lower case."""
    return any(is_float(column) and column.name.lower() in named for column in handle.metadata.schema.fields)


def build_skipping_filter(handle: TableHandle, condition: RowFilter) -> Column | None:
    """Builds a predicate on floating-point columns only, true for all rows of another predicate; None if there is none.

    Iceberg evaluates it as Spark does, since it is made from `RowFilter.expression`.
    """
    columns = {column.name: column for column in handle.metadata.schema.fields if is_float(column)}
    return _convert_expression(handle, condition.expression, columns)


def _convert_expression(handle: TableHandle, expression: Any, columns: Mapping[str, Field]) -> Column | None:
    operation = str(expression.op().name())
    if operation in {"AND", "OR"}:
        left, right = (
            _convert_expression(handle, expression.left(), columns),
            _convert_expression(handle, expression.right(), columns),
        )
        if left is not None and right is not None:
            return left & right if operation == "AND" else left | right
        return None if operation == "OR" else left if right is None else right
    column = None if operation in {"TRUE", "FALSE"} else columns.get(str(expression.ref().name()))
    return None if column is None else _convert_comparison(handle, operation, expression, column)


def _convert_comparison(handle: TableHandle, operation: str, expression: Any, column: Field) -> Column | None:
    value, literal = F.col(quote(column.name)), partial(_make_literal, column)
    predicate: Column | None = None
    if operation in {"IS_NULL", "NOT_NULL"}:
        predicate = value.isNull() if operation == "IS_NULL" else value.isNotNull()
    elif operation == "IS_NAN":
        predicate = value == literal(_NAN)
    elif operation == "IN":
        predicate = value.isin([literal(member.value()) for member in handle.gateway.members(expression.literals())])
    elif operation in _COMPARED:
        predicate = getattr(value, _COMPARED[operation])(literal(expression.literal().value()))
    return predicate


def _make_literal(column: Field, value: float) -> Column:
    return F.lit(float(value)).cast(column.type_name)
