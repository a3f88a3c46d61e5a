"""What of a predicate may skip files by floating-point columns: a wider one, which misleads no reader."""

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
    """A predicate on floating-point columns alone, true for all rows of another one; None where there is none.

    It is one that Iceberg evaluates as Spark does: made of `RowFilter.expression`.
    """
    columns = {column.name: column for column in handle.metadata.schema.fields if is_float(column)}
    return _column(handle, condition.expression, columns)


def _column(handle: TableHandle, found: Any, columns: Mapping[str, Field]) -> Column | None:
    kind = str(found.op().name())
    if kind in {"AND", "OR"}:
        left, right = _column(handle, found.left(), columns), _column(handle, found.right(), columns)
        if left is not None and right is not None:
            return left & right if kind == "AND" else left | right
        return None if kind == "OR" else left if right is None else right
    column = None if kind in {"TRUE", "FALSE"} else columns.get(str(found.ref().name()))
    return None if column is None else _of_values(handle, kind, found, column)


def _of_values(handle: TableHandle, kind: str, found: Any, column: Field) -> Column | None:
    value, literal = F.col(quote(column.name)), partial(_literal, column)
    made: Column | None = None
    if kind in {"IS_NULL", "NOT_NULL"}:
        made = value.isNull() if kind == "IS_NULL" else value.isNotNull()
    elif kind == "IS_NAN":
        made = value == literal(_NAN)
    elif kind == "IN":
        made = value.isin([literal(known.value()) for known in handle.gateway.members(found.literals())])
    elif kind in _COMPARED:
        made = getattr(value, _COMPARED[kind])(literal(found.literal().value()))
    return made


def _literal(column: Field, value: float) -> Column:
    return F.lit(float(value)).cast(column.type_name)
