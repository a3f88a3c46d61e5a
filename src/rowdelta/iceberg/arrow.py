"""Arrow tables as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def arrow_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A DataFrame of all rows of a table.

    PySpark 4.1 stops at the first empty chunk and leaves out what comes after it, so there must be one chunk only.
    """
    return spark.createDataFrame(table.combine_chunks())
