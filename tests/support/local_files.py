"""The files of a test run: how Spark writes them, and a world without some of them."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession


def without_checksums(spark: SparkSession) -> None:
    """Lets Hadoop write no checksums beside files: it would start chmod more often for every file."""
    jvm: Any = spark._jvm
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark._jsc.hadoopConfiguration()).setWriteChecksum(False)


@contextmanager
def moved_away(locations: Iterable[str]) -> Iterator[None]:
    """Whoever reads one of these files inside fails."""
    paths = {Path(location.removeprefix("file:")) for location in locations}
    for path in paths:
        path.rename(path.with_suffix(".away"))
    try:
        yield
    finally:
        for path in paths:
            path.with_suffix(".away").rename(path)
