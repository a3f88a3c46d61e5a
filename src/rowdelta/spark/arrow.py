"""Converts Arrow tables to DataFrames, and Arrow arrays to the values in Iceberg's metadata.

No value passes through a time zone or through Python's dates. PySpark reads an Arrow timestamp without a zone in the
session's zone unless it is given the type, and Python has neither the year 0 nor the year 10000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException

from rowdelta.errors import FormatError
from rowdelta.spark.single_values import format_value
from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MICROSECONDS: Final = "us"


def make_frame_from_arrow(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Makes a DataFrame of a table: a timestamp with a zone becomes `timestamp`, one without `timestamp_ntz`.

    PySpark stops at the first empty chunk and omits the rows after it, so the table gets a single chunk.

    Raises:
        FormatError: Spark has no such type, or a time is finer than a microsecond.
    """
    table = _convert_to_microseconds(table.combine_chunks())
    try:
        schema = SPARK.read_arrow_schema(table.schema)
    except PySparkException as error:
        raise FormatError(f"Spark has no type for {table.schema.to_string()!r}: {error}") from error
    return SPARK.make_frame(spark, table, schema)


def collect_arrow(frame: DataFrame) -> pa.Table:
    """Collects a DataFrame as an Arrow table."""
    return SPARK.collect_arrow(frame)


def convert_to_plain_values(values: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Converts values to those in Iceberg's metadata: dates become days, times micro- or nanoseconds, structs dicts.

    Examples:
        >>> convert_to_plain_values(pa.array([3789664, None], pa.date32()))
        [3789664, None]
        >>> convert_to_plain_values(pa.array([1], pa.timestamp("us", "UTC")))
        [1]
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    arrow_type = values.type
    if pa.types.is_struct(arrow_type):
        columns = [convert_to_plain_values(column) for column in values.flatten()]
        rows = [dict(zip(arrow_type.names, row, strict=True)) for row in zip(*columns, strict=True)]
        rows = rows if columns else [{}] * len(values)
        return [row if valid else None for row, valid in zip(rows, values.is_valid().to_pylist(), strict=True)]
    if pa.types.is_temporal(arrow_type):
        values = values.view(pa.int32() if arrow_type.bit_width == 32 else pa.int64())  # noqa: PLR2004 - int and long
    return list(values.to_pylist())


def convert_to_display_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Converts a table to rows of Python values. A column with a date or time that Python lacks becomes text.

    Examples:
        >>> convert_to_display_rows(pa.table({"id": [1], "day": pa.array([3789391], pa.date32())}))
        [{'id': 1, 'day': '+12345-01-01'}]
    """
    columns = [_to_python_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _to_python_values(column: pa.ChunkedArray) -> list[Any]:
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        type_name = "date" if pa.types.is_date(column.type) else "timestamp"
        return [None if value is None else format_value(type_name, value) for value in convert_to_plain_values(column)]


def _convert_to_microseconds(table: pa.Table) -> pa.Table:
    """Converts times to Spark's unit. Each must be a whole number of microseconds: PySpark would round it."""
    for index, column in enumerate(table.schema):
        arrow_type = column.type
        if not pa.types.is_timestamp(arrow_type) or arrow_type.unit == _MICROSECONDS:
            continue
        exact = column.with_type(pa.timestamp(_MICROSECONDS, arrow_type.tz))
        try:
            table = table.set_column(index, exact, table.column(index).cast(exact.type))
        except pa.ArrowInvalid as error:
            raise FormatError(
                f"column {column.name!r} has a time that is not a whole number of microseconds: {error}",
                hint="Spark has no finer times",
            ) from error
    return table
