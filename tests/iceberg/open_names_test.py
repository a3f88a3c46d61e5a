"""A table object stays bound to the table that it opened, even if the name later means another table."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.events import EventFolder, event
from tests.support.oracle import assert_same_ids, assert_same_rows
from tests.support.tables import EDV, append_ids, create

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def twins(spark: SparkSession, table_name: str) -> Iterator[tuple[rd.Table, str]]:
    """A table that is opened by its last name, and the name of another one that this name stands for now."""
    catalog, namespace = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    home, _, short = table_name.rpartition(".")
    other = f"lake.other_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE NAMESPACE {other}")
    try:
        for name in (table_name, f"{other}.{short}"):
            create(spark, name, "id bigint NOT NULL, v string", properties=EDV)
        append_ids(spark, table_name, range(5))
        append_ids(spark, f"{other}.{short}", range(100, 110))
        spark.sql(f"USE {home}")
        table = rd.table(spark, short)
        spark.sql(f"USE {other}")
        yield table, f"{other}.{short}"
    finally:
        spark.sql(f"USE {catalog}.{namespace}")
        spark.sql(f"DROP TABLE IF EXISTS {other}.{short} PURGE")
        spark.sql(f"DROP NAMESPACE {other}")


def test_use_does_not_move_an_open_table(
    spark: SparkSession, table_name: str, twins: tuple[rd.Table, str], tmp_path: Path
) -> None:
    table, other = twins
    untouched = spark.table(f"{other}.snapshots").collect()
    assert_same_ids(table.read(), range(5))
    assert_same_ids(table.read(snapshot_id=table.metadata.current_snapshot_id), range(5))
    assert table.delete("id = 0").execute().rows_deleted == 1
    table.view("seen")
    changes = spark.createDataFrame([(1, "new"), (9, "new")], "id bigint, v string")
    table.upsert(changes, "id").execute()
    assert_same_ids(spark.table("seen"), [1, 2, 3, 4, 9])
    events = EventFolder(tmp_path)
    events.add([event("d", {"id": 2, "v": ""}, None), "no JSON"])
    events.run(spark, table, branch="ingest", publish="main", on_bad="quarantine")
    assert [row.record for row in spark.table(f"{table_name}_quarantine").collect()] == ["no JSON"]
    spark.sql(f"DROP TABLE {table_name}_quarantine PURGE")
    table.refresh()
    assert table.compact(options={"rewrite-all": "true"}).execute().verified
    assert table.remove_orphans().execute().orphan_files == ()
    expected = [(1, "new"), (3, "v"), (4, "v"), (9, "new")]
    assert_same_rows(table.read(), expected)
    assert_same_rows(spark.table(table_name), expected)
    assert spark.table(f"{other}.snapshots").collect() == untouched
    spark.catalog.dropTempView("seen")
