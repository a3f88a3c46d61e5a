"""The versions of Spark and Iceberg that rowdelta works with, and the packages that it loads by itself."""

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
    """Refuses a Spark whose inside is another than the one that rowdelta knows.

    Examples:
        >>> check_spark("4.1.4")
        >>> check_spark("3.5.8")
        Traceback (most recent call last):
        rowdelta.errors.SessionError: Spark 3.5.8 is not supported: rowdelta needs 4.1
        Hint: install pyspark 4.1, or start the job with a Spark of that version
    """
    if not OLDEST_SPARK <= _numbers(version) <= NEWEST_SPARK:
        wanted = " to ".join(dict.fromkeys((_text(OLDEST_SPARK), _text(NEWEST_SPARK))))
        raise SessionError(
            f"Spark {version} is not supported: rowdelta needs {wanted}",
            hint=f"install pyspark {_text(NEWEST_SPARK)}, or start the job with a Spark of that version",
        )


def check_iceberg(version: str) -> None:
    """Refuses an Iceberg that lacks what rowdelta calls.

    Examples:
        >>> check_iceberg("1.9.2")
        Traceback (most recent call last):
        rowdelta.errors.SessionError: Iceberg 1.9.2 is too old: rowdelta needs 1.10 or newer
        Hint: update the iceberg-spark-runtime package of this session
    """
    if _numbers(version) < OLDEST_ICEBERG:
        raise SessionError(
            f"Iceberg {version} is too old: rowdelta needs {_text(OLDEST_ICEBERG)} or newer",
            hint="update the iceberg-spark-runtime package of this session",
        )


def _numbers(version: str) -> tuple[int, int]:
    """Major and minor version; a text that does not start with them is older than all."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (0, 0) if found is None else (int(found[1]), int(found[2]))


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
