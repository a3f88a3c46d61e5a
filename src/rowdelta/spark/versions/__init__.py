"""Everything that differs between the supported versions of Spark and Iceberg.

`supported` lists the versions. `SPARK` has what the installed PySpark does in its own way; `spark_api` describes it.
"""

from __future__ import annotations

from typing import Final

from rowdelta.spark.versions.spark_api import SparkApi, SqlPlace
from rowdelta.spark.versions.supported import RELEASE, check_delta, check_iceberg, check_spark


def _choose_api() -> SparkApi:
    if RELEASE.spark < (4, 0):
        from rowdelta.spark.versions.spark_3_5 import Spark35  # noqa: PLC0415 - it cannot be imported on Spark 4

        return Spark35()
    from rowdelta.spark.versions.spark_4_1 import Spark41  # noqa: PLC0415 - it cannot be imported on Spark 3

    return Spark41()


SPARK: Final = _choose_api()

__all__ = ["RELEASE", "SPARK", "SparkApi", "SqlPlace", "check_delta", "check_iceberg", "check_spark"]
