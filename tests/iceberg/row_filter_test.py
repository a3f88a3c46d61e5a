"""Filters for Iceberg omit the predicates that Iceberg cannot express, whatever Spark makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rowdelta.iceberg import build_row_filter
from tests.support.tables import append_ids, create

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("where", "text", "exact"),
    [
        ("id = 3", "id == 3", True),
        ("id % 2 = 1 AND id > 3", "id > 3", False),
        ("upper(v) = 'A' AND id < 3 + 4", "id < 7", False),
        ("id > 3 AND CASE WHEN cast(v AS boolean) AND id > 3 THEN true ELSE id = 5 END", "id > 3", False),
        ("1 = 0", "false", True),
        ("ID = 3", "id == 3", True),
    ],
)
def test_a_filter_says_what_iceberg_understands(
    spark: SparkSession, table_name: str, where: str, text: str, *, exact: bool
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, [1])
    found = build_row_filter(table._handle, where)
    assert found.exact is exact
    assert text in found.text
