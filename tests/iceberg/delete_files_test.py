from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.spark import collect_arrow

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def make(spark: SparkSession, name: str, version: int, partitioning: str = "") -> None:
    spark.sql(
        f"CREATE TABLE {name} (id bigint NOT NULL, region string, v double) USING iceberg {partitioning} TBLPROPERTIES "
        f"('format-version'='{version}', 'write.delete.mode'='merge-on-read', 'write.delete.granularity'='partition')"
    )
    spark.range(0, 60, 1, 1).selectExpr("id", "concat('r', id % 3) region", "id * 1.5 v").writeTo(name).append()


def listing(spark: SparkSession, name: str, snapshot_id: int | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = collect_arrow(rd.table(spark, name).delete_files(snapshot_id)).to_pylist()
    return found


def test_a_new_table_without_data_has_no_delete_files(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id bigint) USING iceberg")
    frame = rd.table(spark, table_name).delete_files()
    assert frame.columns[:9] == [
        *("path", "content", "encoding", "records", "bytes", "sequence", "partition", "applies_to", "dangling"),
    ]
    assert frame.count() == 0


def test_deletion_vectors_are_listed_with_their_data_file_and_their_share_of_the_puffin_file(
    spark: SparkSession, table_name: str
) -> None:
    make(spark, table_name, 3, "PARTITIONED BY (region)")
    spark.sql(f"DELETE FROM {table_name} WHERE id % 10 = 0")
    found = listing(spark, table_name)
    assert {row["partition"] for row in found} == {"region=r0", "region=r1", "region=r2"}
    assert sum(row["records"] for row in found) == 6
    for row in found:
        assert (row["content"], row["encoding"], row["format"]) == ("position", "deletion-vector", "puffin")
        assert (row["sequence"], row["applies_to"], row["dangling"], row["key"]) == (2, 1, False, None)
        assert row["bytes"] < 100
        assert f"/{row['partition']}/" in row["referenced_data_file"]


def test_a_position_delete_of_a_partition_applies_to_every_older_file_of_it(
    spark: SparkSession, table_name: str
) -> None:
    make(spark, table_name, 2, "PARTITIONED BY (region)")
    spark.range(60, 120, 1, 1).selectExpr("id", "concat('r', id % 3) region", "id * 1.5 v").writeTo(table_name).append()
    spark.sql(f"DELETE FROM {table_name} WHERE id % 30 = 0")
    spark.sql(f"INSERT INTO {table_name} VALUES (1000, 'r0', 0.0)")
    (row,) = listing(spark, table_name)
    assert (row["content"], row["encoding"], row["records"], row["partition"]) == (
        "position",
        "position",
        4,
        "region=r0",
    )
    assert (row["applies_to"], row["dangling"]) == (2, False)


def test_a_delete_dangles_when_its_data_files_are_gone(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, 2)
    spark.sql(f"DELETE FROM {table_name} WHERE id = 7")
    assert [row["dangling"] for row in listing(spark, table_name)] == [False]
    before = rd.table(spark, table_name).metadata.current_snapshot_id
    spark.sql(f"CALL lake.system.rewrite_data_files(table => '{table_name}', options => map('rewrite-all', 'true'))")
    assert [(row["applies_to"], row["dangling"]) for row in listing(spark, table_name)] == [(0, True)]
    assert [row["dangling"] for row in listing(spark, table_name, before)] == [False]


def test_an_unknown_snapshot_is_named_in_the_error(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, 2)
    with pytest.raises(rd.InputError, match="no snapshot 42"):
        rd.table(spark, table_name).delete_files(42)


def test_a_branch_shows_its_own_delete_files(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, 3)
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH audit")
    spark.sql(f"DELETE FROM {table_name}.branch_audit WHERE id = 7")
    assert rd.table(spark, table_name).delete_files().count() == 0
    assert rd.table(spark, table_name, branch="audit").delete_files().count() == 1
    with pytest.raises(rd.InputError, match="no branch 'audti'") as error:
        rd.table(spark, table_name, branch="audti")
    assert error.value.hint == "the branches are main, audit"


def test_a_delete_of_another_session_is_listed_although_the_catalog_has_cached_the_table(
    spark: SparkSession, warehouse: Path, table_name: str
) -> None:
    make(spark, table_name, 3)
    table = rd.table(spark, table_name)
    spark.sql(f"REFRESH TABLE {table_name}")  # the cache lets go of the table that the handle has ...
    spark.table(table_name).count()  # ... and holds another one
    rd.session(warehouse).sql(f"DELETE FROM {table_name} WHERE id = 7")
    assert table.delete_files().count() == 1


def test_names_and_paths_with_special_characters_work(spark: SparkSession) -> None:
    name = "lake.db.`odd name-1`"
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    try:
        spark.sql(f"CREATE TABLE {name} (id bigint, `a b/ö` string) USING iceberg PARTITIONED BY (`a b/ö`)")
        spark.sql(f"INSERT INTO {name} VALUES (1, 'x y/z=%'), (2, 'x y/z=%')")
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
        spark.sql(f"DELETE FROM {name} WHERE id = 1")
        (row,) = listing(spark, name)
        assert (row["partition"], row["applies_to"]) == ("a b/ö=x y/z=%", 1)
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
