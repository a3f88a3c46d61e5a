"""Equality deletes that other engines wrote: after `resolve`, Iceberg's reader finds the rows of facts.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.read.golden_read_test import as_facts_write_it, fingerprints
from tests.support.golden import GOLDEN, MISSING
from tests.support.golden_tables import golden_tables, install
from tests.support.oracle import assert_same_rows, rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(not GOLDEN.exists(), reason=MISSING)

TABLES = {case.id.rpartition("/")[2]: case for case in golden_tables("iceberg-equality-delete-table")}


@pytest.mark.parametrize("name", TABLES)
def test_a_golden_table_is_resolved(spark: SparkSession, warehouse: Path, name: str) -> None:
    case = TABLES[name]
    table = rd.table(spark, f"lake.{install(case, warehouse, 'golden_resolve', fit_ids=True)}")
    expected = rows(fingerprints(spark.table(table.name)))
    result = table.resolve(verify=True).execute()
    assert result.equality_deletes > 0
    assert result.verified
    assert table.delete_files().where("content = 'equality'").isEmpty()
    resolved = spark.table(table.name)
    assert_same_rows(fingerprints(resolved), expected)
    if "live_rows" in case.facts:
        found = [tuple(as_facts_write_it(value) for value in row) for row in resolved.collect()]
        assert sorted(found, key=repr) == sorted(map(tuple, case.facts["live_rows"]), key=repr)
    else:
        assert len(expected) == case.facts["rows_live"]
