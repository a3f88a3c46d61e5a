"""The files of a test run: Spark writes them without checksums, and some can be moved away for a while."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession


def without_checksums(spark: SparkSession) -> None:
    """Stops Hadoop from writing checksum files: each one would cost another run of chmod."""
    jvm: Any = spark._jvm
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark._jsc.hadoopConfiguration()).setWriteChecksum(False)


@contextmanager
def moved_away(locations: Iterable[str]) -> Iterator[None]:
    """Moves files away: inside, a reader of one of them fails."""
    paths = {Path(location.removeprefix("file:")) for location in locations}
    for path in paths:
        path.rename(path.with_suffix(".away"))
    try:
        yield
    finally:
        for path in paths:
            path.with_suffix(".away").rename(path)
