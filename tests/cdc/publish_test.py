"""A branch for the stream and one for its readers, to which others commit as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.events import EventFolder, event
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

COLUMNS = "id bigint NOT NULL, v string"
BRANCHES = {"branch": "ingest", "publish": "main"}


@pytest.mark.parametrize("version", [2, 3])
def test_commits_of_others_to_the_published_branch_are_followed(
    spark: SparkSession, table_name: str, tmp_path: Path, version: int
) -> None:
    table = create(spark, table_name, COLUMNS, version=version, properties=EDV)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'old'), (2, 'old'), (3, 'old')")
    events = EventFolder(tmp_path)
    events.add([event("u", None, {"id": 1, "v": "new"})])
    events.run(spark, table, **BRANCHES)
    spark.sql(f"DELETE FROM {table_name} WHERE id = 2")  # by plain Spark on main, after everything is published
    events.add([event("u", None, {"id": 3, "v": "new"}), event("c", None, {"id": 4, "v": "new"})])
    events.run(spark, table, **BRANCHES)
    spark.catalog.refreshTable(table_name)
    assert_same_rows(spark.table(table_name), [(1, "new"), (3, "new"), (4, "new")])
    metadata = table.refresh().metadata
    assert metadata.head("main") == metadata.head("ingest")


def test_diverged_branches_are_not_published(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'old')")
    events = EventFolder(tmp_path)
    events.add([event("u", None, {"id": 1, "v": "new"})])

    def beside(_: rd.cdc.BatchProgress) -> None:
        spark.sql(f"INSERT INTO {table_name} VALUES (9, 'by hand')")

    with pytest.raises(rd.InputError, match="branch 'main' has commits that 'ingest' does not have"):
        events.run(spark, table, progress=beside, **BRANCHES)
    spark.catalog.refreshTable(table_name)
    assert_same_rows(spark.table(table_name), [(1, "old"), (9, "by hand")])
    assert_same_rows(rd.table(spark, table_name, "ingest").read(), [(1, "new")])
    with pytest.raises(rd.InputError, match="no branch 'mian'"):
        rd.cdc.stream(spark.readStream.text(str(tmp_path)), table, "id", branch="ingest", publish="mian")


def test_what_a_stopped_stream_leaves_is_published_at_its_next_start(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    events = EventFolder(tmp_path)
    events.add([event("c", None, {"id": 1, "v": "a"})])
    running = events.start(spark, table, **BRANCHES)
    running.query.awaitTermination()
    running.stop()
    assert running.await_termination()
    assert table.refresh().metadata.head("main") is None
    events.run(spark, table, **BRANCHES)
    metadata = table.refresh().metadata
    assert metadata.head("main") == metadata.head("ingest") is not None


def test_a_restart_publishes_what_a_crash_left(
    spark: SparkSession, table_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, COLUMNS, properties=EDV)
    events = EventFolder(tmp_path)
    events.add([event("c", None, {"id": 1, "v": "a"})])
    with monkeypatch.context() as patch:
        patch.setattr(
            "rowdelta.cdc.maintenance_policy.ResolvePolicy.is_behind", lambda *_: False
        )  # dies before the end
        events.run(spark, table, **BRANCHES)
    assert table.refresh().metadata.head("main") is None
    events.run(spark, table, **BRANCHES)  # nothing new has come
    assert len(events.progress) == 1
    spark.catalog.refreshTable(table_name)
    assert_same_rows(spark.table(table_name), [(1, "a")])
