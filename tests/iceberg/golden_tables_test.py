"""`t.delete_files()` over tables that other engines wrote."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.spark import collect_arrow
from tests.support.golden import MISSING
from tests.support.golden_tables import GoldenTable, golden_tables, install

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CATEGORIES = ("iceberg-v3-dv-table", "iceberg-position-delete-table", "iceberg-equality-delete-table", "puffin")
TABLES = golden_tables(*CATEGORIES)

# Tables that Iceberg's own Java library cannot open, and what it says.
UNREADABLE = {
    "duckdb__duckdb-iceberg:data/persistent/equality_delete_extra_column": "Cannot parse to a long value",
}
KINDS = {("position", "puffin"): "dv:puffin", ("position", "parquet"): "pos:parquet", ("position", "orc"): "pos:orc"}


def kind(content: str, file_format: str) -> str:
    return KINDS.get((content, file_format), f"eq:{file_format}")


@pytest.mark.skipif(not TABLES, reason=MISSING)
@pytest.mark.parametrize("case", TABLES, ids=lambda case: case.id)
def test_delete_files_lists_what_the_table_is_known_to_hold(
    spark: SparkSession, warehouse: Path, case: GoldenTable
) -> None:
    name = f"lake.{install(case, warehouse)}"
    if case.id in UNREADABLE:
        with pytest.raises(rd.TableError, match=UNREADABLE[case.id]):
            rd.table(spark, name)
        return
    table = rd.table(spark, name)
    found = collect_arrow(table.delete_files()).to_pylist()
    metadata = table.metadata
    assert metadata.format_version == case.facts["format_version"]
    assert metadata.current_snapshot_id == case.facts["current_snapshot_id"]
    assert [column.name for column in metadata.schema.fields] == case.facts["columns"]
    assert Counter(kind(row["content"], row["format"]) for row in found) == case.facts["delete_kinds"]
    assert len(found) == case.facts["delete_files"]
    targets = case.facts.get("dangling_delete_targets", [])
    for row in found:
        if (row["referenced_data_file"] or "").rpartition("/")[2] in targets:
            assert (row["applies_to"], row["dangling"]) == (0, True)
