"""Whether both tables hold the same rows, compared in Spark."""

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

_SHOWN = 3


def check_same_rows(handle: TableHandle, root: str, version: int, mode: str) -> int:
    """Compares the rows of a Delta version with those that Iceberg reads; returns how many there are.

    Args:
        handle: The Iceberg table.
        root: The Delta table.
        version: Its version.
        mode: How the Iceberg table has just been converted.

    Raises:
        VerificationError: With some rows that differ. The conversion is committed by then, which the message says.
    """
    hint = (
        "a conversion as a whole should never differ: please report it, with the Delta log"
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
    left = _comparable(delta, iceberg).withColumn("d", F.lit(1))
    right = _comparable(iceberg, iceberg).withColumn("d", F.lit(-1))
    columns = [name for name in left.columns if name != "d"]
    sums = left.unionByName(right).groupBy(*columns).agg(F.sum("d").alias("d"), F.count("*").alias("n"))
    total = sums.agg(F.sum("n"), F.sum(F.abs("d")), F.sum(F.greatest("d", F.lit(0)))).collect()[0]
    if total[1]:
        # As text that Spark makes: Python has no dates beyond the years 1 and 9999.
        named = [F.col(name).alias(own) for name, own in zip(columns, iceberg.columns, strict=True)]
        text = F.to_json(F.struct(*named), {"ignoreNullFields": "false"})
        some = sums.where("d <> 0").limit(_SHOWN).select("d", text).collect()
        told = "; ".join(f"only in {'Delta' if row[0] > 0 else 'Iceberg'}: {row[1]}" for row in some)
        raise VerificationError(
            f"the conversion is committed, but {handle.name} and version {version} of the Delta table differ in "
            f"{total[1]} rows: {told}",
            hint=hint,
        )
    return int((total[0] or 0) // 2)


def _comparable(frame: DataFrame, like: DataFrame) -> DataFrame:
    """Numbered columns that can be grouped by, in the types of the other table."""
    kinds = [field.dataType for field in like.schema.fields]
    return frame.select(
        *(
            _groupable(F.col(quote(name)).cast(kind), kind).alias(f"c{number}")
            for number, (name, kind) in enumerate(zip(frame.columns, kinds, strict=True))
        )
    )


def _groupable(column: Column, kind: DataType) -> Column:
    """Maps cannot be compared; their entries in order can."""
    if not _has_map(kind):
        return column
    return F.to_json(F.struct(column.alias("v")), {"ignoreNullFields": "false", "sortKeys": "true"})


def _has_map(kind: DataType) -> bool:
    if isinstance(kind, MapType):
        return True
    if isinstance(kind, ArrayType):
        return _has_map(kind.elementType)
    return isinstance(kind, StructType) and any(_has_map(field.dataType) for field in kind.fields)
