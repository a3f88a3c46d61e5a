"""How a test run's Spark writes its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def without_checksums(spark: SparkSession) -> None:
    """Lets Hadoop write no checksums beside files: it would start chmod more often for every file."""
    jvm: Any = spark._jvm
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark._jsc.hadoopConfiguration()).setWriteChecksum(False)
