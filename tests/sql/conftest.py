from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.table_pairs import Pair, make_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture
def pair(spark: SparkSession) -> Iterator[Pair]:
    """Tables of one test, which may change them."""
    pair = make_pair(spark)
    yield pair
    pair.drop()
