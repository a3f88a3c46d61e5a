"""Spark's rules for storing a value of one type in a column of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

    from rowdelta.iceberg.handle import TableHandle


def can_store(handle: TableHandle, value: DataType, column: DataType) -> bool:
    """Whether ANSI SQL allows the assignment; a null of no type may go anywhere."""
    if value == column or value.typeName() == "void":
        return True
    types = handle.gateway.jvm.org.apache.spark.sql.types.DataType
    cast = handle.gateway.jvm.org.apache.spark.sql.catalyst.expressions.Cast
    return bool(cast.canANSIStoreAssign(types.fromJson(value.json()), types.fromJson(column.json())))
