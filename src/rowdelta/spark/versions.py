"""The supported versions of Spark and Iceberg, and the packages that rowdelta loads."""

from __future__ import annotations

import re
from typing import Final

from rowdelta.errors import SessionError

ICEBERG_PACKAGE: Final = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
DELTA_PACKAGE: Final = "io.delta:delta-spark_4.1_2.13:4.4.0"
OLDEST_SPARK: Final = (4, 1)
NEWEST_SPARK: Final = (4, 1)
OLDEST_ICEBERG: Final = (1, 10)


def check_spark(version: str) -> None:
    """Refuses a version of Spark whose internals rowdelta does not support.

    Examples:
        >>> check_spark("4.1.4")
        >>> check_spark("3.5.8")
        Traceback (most recent call last):
        rowdelta.errors.SessionError: Spark 3.5.8 is not supported: rowdelta needs 4.1
        Hint: install pyspark 4.1, or start the job with a Spark of that version
    """
    if not OLDEST_SPARK <= _parse_version(version) <= NEWEST_SPARK:
        supported = " to ".join(dict.fromkeys((_format_version(OLDEST_SPARK), _format_version(NEWEST_SPARK))))
        raise SessionError(
            f"Spark {version} is not supported: rowdelta needs {supported}",
            hint=f"install pyspark {_format_version(NEWEST_SPARK)}, or start the job with a Spark of that version",
        )


def check_iceberg(version: str) -> None:
    """Refuses a version of Iceberg that lacks methods which rowdelta calls.

    Examples:
        >>> check_iceberg("1.9.2")
        Traceback (most recent call last):
        rowdelta.errors.SessionError: Iceberg 1.9.2 is too old: rowdelta needs 1.10 or newer
        Hint: update the iceberg-spark-runtime package of this session
    """
    if _parse_version(version) < OLDEST_ICEBERG:
        raise SessionError(
            f"Iceberg {version} is too old: rowdelta needs {_format_version(OLDEST_ICEBERG)} or newer",
            hint="update the iceberg-spark-runtime package of this session",
        )


def _parse_version(version: str) -> tuple[int, int]:
    """Parses the major and minor version; text that does not start with them counts as the oldest version."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (0, 0) if match is None else (int(match[1]), int(match[2]))


def _format_version(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
