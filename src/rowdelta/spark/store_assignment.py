"""ANSI store assignment: whether and how Spark stores a value of one type in a column of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from rowdelta.spark.gateway import Gateway


def can_store(gateway: Gateway, value: DataType, column: DataType) -> bool:
    """Whether ANSI SQL allows the assignment; an untyped null fits every column."""
    if value == column or value.typeName() == "void":
        return True
    types = gateway.jvm.org.apache.spark.sql.types.DataType
    cast = gateway.jvm.org.apache.spark.sql.catalyst.expressions.Cast
    return bool(cast.canANSIStoreAssign(types.fromJson(value.json()), types.fromJson(column.json())))


def cast_strictly(gateway: Gateway, value: Column, column: DataType) -> Column:
    """Casts a value and fails if it does not fit, even in a session with `spark.sql.ansi.enabled` off."""
    return SPARK.cast_strictly(gateway, value, gateway.jvm.org.apache.spark.sql.types.DataType.fromJson(column.json()))


def try_cast(value: Column, data_type: DataType | str) -> Column:
    """Casts a value; null if it does not fit."""
    return SPARK.try_cast(value, data_type)


def write_sql_type(frame: DataFrame, name: str) -> str:
    """Writes a column's type in SQL; names inside structs are quoted."""
    return str(frame._jdf.schema().apply(name).dataType().sql())
