"""Files that Iceberg writes before a commit and then does not need are removed with the commit."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.change import to_content_file
from rowdelta.encoding import DeleteEncoding
from rowdelta.iceberg import NewDelete, RowChange, commit_change
from tests.support.oracle import assert_same_ids
from tests.support.races import FasterWriter
from tests.support.strays import stray_files
from tests.support.tables import (
    EDV,
    append_ids,
    create,
    head,
    keys,
    live_vectors,
    remove_equality_deletes,
    set_properties,
    stored_files,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.change import Operation

MERGED = {"commit.manifest.min-count-to-merge": "2"}


def folder(table: rd.Table) -> Path:
    return Path(table.metadata.location)


def verbs(table: rd.Table) -> list[Operation[Any]]:
    changes = table._handle.spark.createDataFrame([(5, "new"), (50, "new")], "id bigint, v string")
    return [
        table.delete("id = 1"),
        table.delete("id = 2", mode="copy-on-write"),
        table.update().set("v", "'w'").where("id = 3"),
        table.merge(changes, "id").when_matched_update_all().when_not_matched_insert_all(),
        table.upsert(changes, "id"),
        table.delete("id >= 20 AND id < 40"),
        table.resolve(),
    ]


@pytest.mark.parametrize("properties", [MERGED, MERGED | EDV], ids=["rows", "vectors"])
def test_manifests_that_are_merged_within_a_commit_are_gone(
    spark: SparkSession, table_name: str, properties: dict[str, str]
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=properties)
    for start in (0, 20):
        append_ids(spark, table_name, range(start, start + 20))
    for operation in verbs(table):
        before = head(table)
        operation.execute()
        assert head(table) != before
        assert stray_files(folder(table)) == [], type(operation)
    assert_same_ids(spark.table(table_name), [0, *range(3, 20), 50])


def test_a_table_of_two_specs_with_the_usual_properties_keeps_no_merged_manifest(
    spark: SparkSession, table_name: str
) -> None:
    """Iceberg counts only the manifests of one partition spec before it merges, and merges the others each time."""
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(20))
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION FIELD truncate(20, id)")
    append_ids(spark, table_name, range(20, 40))
    some = [table.delete(f"id IN ({i}, {i + 30})") for i in (7, 8, 9)]
    for operation in [*some, *verbs(table)]:
        operation.execute()
        assert stray_files(folder(table)) == [], type(operation)
    assert_same_ids(spark.table(table_name), [0, *range(3, 7), *range(10, 20), 50])


def test_a_commit_that_iceberg_refuses_in_the_middle_leaves_no_manifest(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(20))
    table.delete_keys(keys(spark, 1), "id").execute()
    table.delete_keys(keys(spark, 2), "id").execute()
    handle, vectors = table._handle, live_vectors(table)
    gone = [to_content_file(handle, entry) for entry in vectors]
    path = handle.new_data_location("never-written.parquet")
    new = replace(gone[0], path=path, file_format="PARQUET", content_offset=None, content_size_in_bytes=None)
    assert remove_equality_deletes(table, at_most=1) == 1
    before = stored_files(table)
    change = RowChange(
        deletes=[NewDelete(new, DeleteEncoding.FULL_ROW, vectors[0].sequence_number)], removed_deletes=gone
    )
    with pytest.raises(rd.CommitConflictError, match="Missing required files to delete"):
        commit_change(handle, change)
    assert stored_files(table) == before


@pytest.mark.parametrize("times", [1, 9], ids=["won at last", "lost for good"])
def test_a_lost_race_leaves_no_manifest(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    properties = MERGED | EDV | {"commit.retry.min-wait-ms": "1", "commit.retry.num-retries": "2"}
    table = create(spark, table_name, "id bigint, v string", properties=properties)
    append_ids(spark, table_name, range(20))
    table.delete_keys(keys(spark, 1), "id").execute()
    numbers = itertools.count()
    FasterWriter(monkeypatch, lambda: set_properties(spark, table_name, n=str(next(numbers))), times)
    if times == 1:
        table.delete("id = 2").execute()
    else:
        with pytest.raises(rd.CommitConflictError, match="faster every time"):
            table.delete("id = 2").execute()
    assert stray_files(folder(table)) == []
    assert sum(name.endswith(".puffin") for name in stored_files(table)) == (2 if times == 1 else 1)
