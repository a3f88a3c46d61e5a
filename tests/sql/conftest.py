from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.table_pairs import Pair, make_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def changed_pair(spark: SparkSession) -> Iterator[Pair]:
    """Tables that many tests change, each from the same start."""
    pair = make_pair(spark)
    yield pair
    pair.drop()


@pytest.fixture
def pair(changed_pair: Pair) -> Iterator[Pair]:
    """Tables of one test, which may change them."""
    yield changed_pair
    changed_pair.reset()
