"""The fingerprint of a table's rows: which states it must distinguish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rowdelta.maintenance.verify import compute_fingerprint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1 a, cast(null as int) b", "cast(null as int) a, 1 b"),
        ("array(1, null) a", "array(null, 1) a"),
        ("array(array(1), array(2)) a", "array(array(1, 2), array()) a"),
        ("struct(1 x, cast(null as int) y) a", "struct(cast(null as int) x, 1 y) a"),
        ("struct(cast(null as int) x) a", "cast(null as struct<x: int>) a"),
        ("map('k', 1, 'l', null) a", "map('k', null, 'l', 1) a"),
    ],
)
def test_rows_that_differ_in_the_place_of_a_null_are_not_the_same(spark: SparkSession, one: str, other: str) -> None:
    assert compute_fingerprint(spark.sql(f"SELECT {one}")) != compute_fingerprint(spark.sql(f"SELECT {other}"))


def test_the_order_of_a_maps_entries_does_not_matter(spark: SparkSession) -> None:
    value = "array(map('k', map(1, named_struct('v', parse_json('1'))), 'l', null)) a"
    turned = "array(map('l', null, 'k', map(1, named_struct('v', parse_json('1'))))) a"
    assert compute_fingerprint(spark.sql(f"SELECT {value}")) == compute_fingerprint(spark.sql(f"SELECT {turned}"))
