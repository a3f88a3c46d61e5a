"""The supported versions of Spark and Iceberg, and the packages that rowdelta loads."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from typing import Final

import pyspark

from rowdelta.errors import SessionError

Version = tuple[int, int]


@dataclass(frozen=True)
class Release:
    """A release of Spark, and the packages that fit it.

    Attributes:
        spark: The version of Spark.
        scala: The version of Scala that its packages are built for.
        oldest_iceberg: The first version of Iceberg that has every method which rowdelta calls.
        iceberg: The version of Iceberg that `rd.session()` loads.
        oldest_delta: The first version of Delta Lake that has every method which rowdelta calls.
        delta: The Maven coordinates of the version that `rd.session(delta=True)` loads.
        java: The versions of Java that it needs, for error messages.
    """

    spark: Version
    scala: str
    oldest_iceberg: Version
    iceberg: str
    oldest_delta: Version
    delta: str
    java: str

    @property
    def name(self) -> str:
        """The version of Spark as text."""
        return _format_version(self.spark)

    @property
    def iceberg_package(self) -> str:
        """The Maven coordinates of Iceberg."""
        return f"org.apache.iceberg:iceberg-spark-runtime-{self.name}_{self.scala}:{self.iceberg}"


RELEASES: Final = (
    Release(
        spark=(3, 5),
        scala="2.12",
        oldest_iceberg=(1, 12),
        iceberg="1.12.0",
        oldest_delta=(3, 3),
        delta="io.delta:delta-spark_2.12:3.3.3",
        java="11 or 17",
    ),
    Release(
        spark=(4, 1),
        scala="2.13",
        oldest_iceberg=(1, 11),  # there is no older Iceberg for Spark 4.1
        iceberg="1.12.0",
        oldest_delta=(4, 1),
        delta="io.delta:delta-spark_4.1_2.13:4.4.0",
        java="17 or 21",
    ),
)
NEWEST: Final = RELEASES[-1]


def parse_version(version: str) -> Version:
    """Parses the major and minor version; text that does not start with them counts as the oldest version.

    Examples:
        >>> parse_version("4.1.4"), parse_version("main")
        ((4, 1), (0, 0))
    """
    match = re.match(r"(\d+)\.(\d+)", version)
    return (0, 0) if match is None else (int(match[1]), int(match[2]))


def find_release(version: str) -> Release | None:
    """Finds the supported release of a version of Spark; None if it is not supported."""
    return next((release for release in RELEASES if release.spark == parse_version(version)), None)


def check_spark(version: str) -> None:
    """Refuses a version of Spark whose internals rowdelta does not support.

    Examples:
        >>> check_spark("4.1.4")
        >>> check_spark("4.0.1")
        Traceback (most recent call last):
        rowdelta.errors.SessionError: Spark 4.0.1 is not supported: rowdelta needs 3.5 or 4.1
        Hint: install pyspark 4.1, or start the job with a Spark of that version
    """
    if find_release(version) is None:
        raise SessionError(
            f"Spark {version} is not supported: rowdelta needs {' or '.join(release.name for release in RELEASES)}",
            hint=f"install pyspark {NEWEST.name}, or start the job with a Spark of that version",
        )
    if RELEASE.spark < (4, 0) and importlib.util.find_spec("distutils") is None:
        raise SessionError(
            f"PySpark {RELEASE.name} needs distutils, which Python no longer has from version 3.12 on",
            hint="use Python 3.10 or 3.11",
        )


def check_iceberg(version: str, spark: str) -> None:
    """Refuses a version of Iceberg that lacks methods which rowdelta calls on this version of Spark.

    Examples:
        >>> check_iceberg("1.11.0", spark="4.1.4")
        >>> check_iceberg("1.9.2", spark="4.1.4")
        Traceback (most recent call last):
        rowdelta.errors.SessionError: Iceberg 1.9.2 is too old: rowdelta needs 1.11 or newer on Spark 4.1
        Hint: update the iceberg-spark-runtime package of this session, for example to 1.12.0
    """
    release = find_release(spark) or NEWEST
    if parse_version(version) < release.oldest_iceberg:
        raise SessionError(
            f"Iceberg {version} is too old: rowdelta needs {_format_version(release.oldest_iceberg)} or newer on "
            f"Spark {release.name}",
            hint=f"update the iceberg-spark-runtime package of this session, for example to {release.iceberg}",
        )


def check_delta(version: str, spark: str) -> None:
    """Refuses a version of Delta Lake that lacks methods which rowdelta calls on this version of Spark.

    Examples:
        >>> check_delta("3.2.1", spark="3.5.9")
        Traceback (most recent call last):
        rowdelta.errors.SessionError: Delta Lake 3.2.1 is too old: rowdelta needs 3.3 or newer on Spark 3.5
        Hint: update Delta Lake in this session, for example to io.delta:delta-spark_2.12:3.3.3
    """
    release = find_release(spark) or NEWEST
    if parse_version(version) < release.oldest_delta:
        raise SessionError(
            f"Delta Lake {version} is too old: rowdelta needs {_format_version(release.oldest_delta)} or newer on "
            f"Spark {release.name}",
            hint=f"update Delta Lake in this session, for example to {release.delta}",
        )


def _format_version(version: Version) -> str:
    return ".".join(map(str, version))


# An unsupported PySpark can be imported, so that an error can say which version is needed.
RELEASE: Final = find_release(pyspark.__version__) or NEWEST
