"""Iceberg's tables as Spark sees them, whose classes differ between the versions of Iceberg's Spark module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.spark.gateway import Gateway


def make_spark_table(gateway: Gateway, table: Any) -> Any:
    """Makes Iceberg's table for Spark of one of its table objects. It is never refreshed."""
    return SPARK.make_spark_table(gateway.iceberg, table)


def prepare_staged_write(spark: SparkSession, group: str) -> dict[str, str]:
    """Prepares the session for a write that Iceberg does not commit, and returns the options of that write.

    Args:
        spark: The session of the frame.
        group: The name of the table in Iceberg's cache of tables.
    """
    return SPARK.prepare_staged_write(spark, group)
