from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture
def table_name(spark: SparkSession) -> Iterator[str]:
    """A table name for one test. The table must not be purged: its data files belong to Delta."""
    name = f"lake.db.t_{uuid.uuid4().hex[:12]}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")
