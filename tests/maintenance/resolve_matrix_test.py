"""Format version x delete encoding x key x layout: after maintenance, Iceberg's reader finds the rows of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.read.conformance_test import (
    CASES,
    COLUMNS,
    LAYOUTS,
    Donor,
    Scenario,
    alone,
    donors,  # noqa: F401 - a fixture
    mixed,
    name,  # noqa: F401 - a fixture
)
from tests.support.oracle import assert_same_rows
from tests.support.tables import VECTORS, create

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


def named(case: tuple[int, str, str, str]) -> str:
    return "-".join(map(str, case))


@pytest.fixture
def scenario(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    name: str,  # noqa: F811
    donors: Callable[[str], Donor],  # noqa: F811
) -> Scenario:
    version, encoding, key, layout = request.param
    table = create(spark, name, COLUMNS, LAYOUTS[layout].partitioned_by, version=version, properties=VECTORS)
    return Scenario(table, LAYOUTS[layout], key, encoding, donors(layout))


@pytest.mark.parametrize("scenario", CASES, indirect=True, ids=named)
def test_iceberg_reader_finds_the_rows_of_the_model_after_resolve(spark: SparkSession, scenario: Scenario) -> None:
    table = scenario.table
    for told in (alone, mixed):
        told(scenario)
        if table.metadata.format_version > 2 and told is alone:
            continue  # the helper that deletes positions writes first vectors only
        result = table.resolve(verify=False).execute()
        assert result.equality_deletes > 0
        assert {row.content for row in table.delete_files().select("content").collect()} <= {"position"}
        assert_same_rows(spark.table(table.name), scenario.expected())


@pytest.mark.parametrize("scenario", CASES[::5], indirect=True, ids=named)
def test_iceberg_reader_finds_the_rows_of_the_model_after_rewrites_and_compaction(
    spark: SparkSession, scenario: Scenario
) -> None:
    table = scenario.table
    alone(scenario)
    expected = scenario.expected()
    table.rewrite_deletes("full-row", verify=False).execute()
    assert_same_rows(spark.table(table.name), expected)
    result = table.compact(options={"rewrite-all": "true"}, verify=False).execute()
    assert result.equality_deletes > 0
    assert_same_rows(spark.table(table.name), expected)
    assert table.delete_files().isEmpty()
