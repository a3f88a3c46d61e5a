from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture
def table_name(spark: SparkSession) -> Iterator[str]:
    """A name for a table of one test; it must not be purged, since its data files are Delta's."""
    name = f"lake.db.t_{uuid.uuid4().hex[:12]}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")
