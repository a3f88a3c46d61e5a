"""Reads the settings of a session, and types written in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


def list_setting_names(spark: SparkSession) -> list[str]:
    """Lists the names of the session's settings."""
    return SPARK.list_setting_names(spark)


def parse_schema(text: str) -> StructType:
    """Parses the columns of a table, as in CREATE TABLE."""
    return SPARK.parse_schema(text)
