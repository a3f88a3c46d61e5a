"""Verifies in Spark that both tables have the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, MapType, StructType

from rowdelta.errors import VerificationError
from rowdelta.spark import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from rowdelta.iceberg import TableHandle

_EXAMPLES = 3


def check_same_rows(handle: TableHandle, root: str, version: int, mode: str) -> int:
    """Compares the rows of a Delta version with those that Iceberg reads; returns how many there are.

    Args:
        handle: The Iceberg table.
        root: The Delta table.
        version: Its version.
        mode: The mode of the conversion that has just run.

    Raises:
        VerificationError: The rows differ; the message shows some of them, and says that the conversion is committed.
    """
    hint = (
        "a full conversion should never differ: please report it, with the Delta log"
        if mode == "full"
        else "convert again with mode='full'"
    )
    spark = handle.spark
    delta = spark.read.format("delta").option("versionAsOf", version).load(root)
    iceberg = spark.table(handle.full_name)
    if delta.columns != iceberg.columns:
        raise VerificationError(
            f"the conversion is committed, but Delta has the columns {delta.columns}, and {handle.name} has "
            f"{iceberg.columns}",
            hint=hint,
        )
    left = _select_comparable(delta, iceberg).withColumn("d", F.lit(1))
    right = _select_comparable(iceberg, iceberg).withColumn("d", F.lit(-1))
    columns = [name for name in left.columns if name != "d"]
    sums = left.unionByName(right).groupBy(*columns).agg(F.sum("d").alias("d"), F.count("*").alias("n"))
    total = sums.agg(F.sum("n"), F.sum(F.abs("d")), F.sum(F.greatest("d", F.lit(0)))).collect()[0]
    if total[1]:
        # Spark makes the text: Python has no dates before year 1 or after year 9999.
        named = [F.col(name).alias(own) for name, own in zip(columns, iceberg.columns, strict=True)]
        text = F.to_json(F.struct(*named), {"ignoreNullFields": "false"})
        examples = sums.where("d <> 0").limit(_EXAMPLES).select("d", text).collect()
        listed = "; ".join(f"only in {'Delta' if row[0] > 0 else 'Iceberg'}: {row[1]}" for row in examples)
        raise VerificationError(
            f"the conversion is committed, but {handle.name} and version {version} of the Delta table differ in "
            f"{total[1]} rows: {listed}",
            hint=hint,
        )
    return int((total[0] or 0) // 2)


def _select_comparable(frame: DataFrame, like: DataFrame) -> DataFrame:
    """Numbers the columns, and converts them to types of the other table that can be grouped by."""
    types = [field.dataType for field in like.schema.fields]
    return frame.select(
        *(
            _make_groupable(F.col(quote(name)).cast(data_type), data_type).alias(f"c{number}")
            for number, (name, data_type) in enumerate(zip(frame.columns, types, strict=True))
        )
    )


def _make_groupable(column: Column, data_type: DataType) -> Column:
    """Maps cannot be compared; their entries in order can."""
    if not _has_map(data_type):
        return column
    return F.to_json(F.struct(column.alias("v")), {"ignoreNullFields": "false", "sortKeys": "true"})


def _has_map(data_type: DataType) -> bool:
    if isinstance(data_type, MapType):
        return True
    if isinstance(data_type, ArrayType):
        return _has_map(data_type.elementType)
    return isinstance(data_type, StructType) and any(_has_map(field.dataType) for field in data_type.fields)
