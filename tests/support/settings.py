"""Changes settings of the session inside a block."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Changes settings, and restores them at the end of the block."""
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name in values:
            old = before.get(name)
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
