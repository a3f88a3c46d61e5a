"""Plain Spark on a table with a live equality delete vector: what works leaves the vector alone.

A reader that does not know vectors fails, and this failure protects the deleted rows.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from rowdelta.iceberg.vector_manifests import VectorManifests
from rowdelta.spark import collect_arrow
from tests.support.oracle import assert_same_ids, assert_same_rows
from tests.support.shared_files import share_ids
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

    import rowdelta as rd
    from rowdelta.iceberg import AvroFile

TOTAL = "total-equality-deletes"
REFUSAL = "Format model is not registered for format PUFFIN"
COW = {"write.delete.mode": "copy-on-write", "write.update.mode": "copy-on-write", "write.merge.mode": "copy-on-write"}
MOR = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read", "write.merge.mode": "merge-on-read"}
LIVE = [(0, "a"), (2, "a"), (3, "a"), (0, "b"), (1, "b"), (2, "b"), (3, "b"), (0, "c"), (1, "c"), (2, "c"), (3, "c")]


def make(spark: SparkSession, name: str, properties: dict[str, str] | None = None) -> rd.Table:
    """Partitions a, b and c with ids 0 to 3; a vector deletes id 1 of partition a."""
    table = create(spark, name, "id bigint, v string", "v", properties=EDV | (properties or {}))
    for part in ("a", "b", "c"):
        share_ids(table, range(4), part)
    result = table.delete_keys(
        spark.createDataFrame([(1, "a")], "id bigint, v string"), "id", scope="partition"
    ).execute()
    assert result.vectors == 1
    return table


def vectors(table: rd.Table) -> list[tuple[str, int]]:
    """Path and sequence number of the live vectors."""
    listed = collect_arrow(table.delete_files()).to_pylist()
    return sorted((row["path"], row["sequence"]) for row in listed if row["key"] is not None)


def test_a_select_in_plain_spark_fails_loudly(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    assert_same_rows(table.read(), LIVE)
    with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
        spark.table(table_name).collect()
    with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
        spark.sql(f"SELECT sum(id) FROM {table_name} WHERE v = 'a'").collect()
    with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
        spark.sql(f"SELECT count(*) FROM {table_name}").collect()


def test_plain_spark_reads_partitions_without_a_vector(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name)
    assert_same_rows(spark.table(table_name).where("v = 'b'"), [(i, "b") for i in range(4)])


def test_plain_spark_refuses_a_table_whose_vector_applies_to_all_partitions(
    spark: SparkSession, table_name: str
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(4))
    table.delete_keys(keys(spark, 1), "id").execute()
    with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
        spark.table(table_name).collect()


def test_an_append_by_plain_spark_leaves_the_vector_alone(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    known = vectors(table)
    append_ids(spark, table_name, [1], "a")
    assert vectors(table) == known
    assert_same_rows(table.read(), [*LIVE, (1, "a")])


def test_plain_spark_deletes_a_whole_partition_and_leaves_the_vector_alone(
    spark: SparkSession, table_name: str
) -> None:
    table = make(spark, table_name)
    known = vectors(table)
    spark.sql(f"DELETE FROM {table_name} WHERE v = 'b'")
    assert vectors(table) == known
    assert_same_rows(table.read(), [row for row in LIVE if row[1] != "b"])


def test_plain_spark_deletes_the_partition_of_the_vector(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    spark.sql(f"DELETE FROM {table_name} WHERE v = 'a'")
    assert_same_rows(table.read(), [row for row in LIVE if row[1] != "a"])
    append_ids(spark, table_name, [1], "a")
    assert_same_rows(table.read(), [*(row for row in LIVE if row[1] != "a"), (1, "a")])


@pytest.mark.parametrize("dangling", ["true", "false"])
def test_icebergs_rewrite_of_other_partitions_leaves_the_vector_alone(
    spark: SparkSession, table_name: str, dangling: str
) -> None:
    table = make(spark, table_name)
    known = vectors(table)
    before = head(table)
    spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{table_name}', where => 'v = \"b\"', "
        f"options => map('rewrite-all', 'true', 'remove-dangling-deletes', '{dangling}'))"
    )
    assert head(table) != before
    assert vectors(table) == known
    assert_same_rows(table.read(), LIVE)


def test_icebergs_rewrite_refuses_the_partition_of_the_vector_and_changes_nothing(
    spark: SparkSession, table_name: str
) -> None:
    table = make(spark, table_name)
    before = head(table)
    with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
        spark.sql(
            f"CALL lake.system.rewrite_data_files(table => '{table_name}', options => map('rewrite-all', 'true'))"
        )
    assert head(table) == before
    assert_same_rows(table.read(), LIVE)


def test_expiring_snapshots_keeps_the_vectors_file(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    append_ids(spark, table_name, [1], "a")
    known = vectors(table)
    spark.sql(
        f"CALL lake.system.expire_snapshots(table => '{table_name}', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    )
    assert len(table.refresh().metadata.snapshots) == 1
    assert vectors(table) == known
    assert any(name.endswith(".puffin") for name in stored_files(table))
    assert_same_rows(table.read(), [*LIVE, (1, "a")])


@pytest.mark.parametrize("another", [False, True])
def test_rewriting_manifests_leaves_the_vector_alone(spark: SparkSession, table_name: str, *, another: bool) -> None:
    table = make(spark, table_name)
    gone = {(1, "a")}
    if another:
        table.delete_keys(spark.createDataFrame([(2, "b")], "id bigint, v string"), "id", scope="partition").execute()
        gone.add((2, "b"))
    known = vectors(table)
    spark.sql(f"CALL lake.system.rewrite_manifests(table => '{table_name}')")
    assert vectors(table) == known
    assert_same_rows(table.read(), [row for row in LIVE if row not in gone])
    table.delete_keys(spark.createDataFrame([(3, "c")], "id bigint, v string"), "id", scope="partition").execute()
    assert_same_rows(table.read(), [row for row in LIVE if row not in {*gone, (3, "c")}])


def test_removing_orphans_keeps_the_vectors_file(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    stray = Path(table.metadata.location) / "data" / "stray.puffin"
    stray.write_bytes(b"")
    for path in Path(table.metadata.location).rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))  # old enough to be taken for an orphan
    orphans = spark.sql(f"CALL lake.system.remove_orphan_files(table => '{table_name}')").collect()
    assert [Path(row[0]).name for row in orphans] == [stray.name]
    assert_same_rows(table.read(), LIVE)


STATEMENTS = {
    "update": "UPDATE {name} SET id = id + 10 WHERE {where} id = {id}",
    "delete": "DELETE FROM {name} WHERE {where} id = {id}",
    "merge": "MERGE INTO {name} t USING (SELECT {id}L AS id) s ON {where} t.id = s.id WHEN MATCHED THEN DELETE",
}


@pytest.mark.parametrize("modes", [COW, MOR], ids=["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("statement", list(STATEMENTS))
def test_plain_spark_refuses_a_statement_that_must_read_the_vector_and_changes_nothing(
    spark: SparkSession, table_name: str, statement: str, modes: dict[str, str]
) -> None:
    table = make(spark, table_name, modes)
    before, files = head(table), stored_files(table)
    with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
        spark.sql(STATEMENTS[statement].format(name=table_name, where="", id=1))
    assert head(table) == before
    assert files <= stored_files(table)
    assert_same_rows(table.read(), LIVE)


@pytest.mark.parametrize("modes", [COW, MOR], ids=["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("statement", list(STATEMENTS))
def test_a_statement_on_another_partition_leaves_the_vector_alone(
    spark: SparkSession, table_name: str, statement: str, modes: dict[str, str]
) -> None:
    table = make(spark, table_name, modes)
    known = vectors(table)
    spark.sql(STATEMENTS[statement].format(name=table_name, where="v = 'b' AND", id=2))
    assert vectors(table) == known
    changed = [(12, "b")] if statement == "update" else []
    assert_same_rows(table.read(), [*(row for row in LIVE if row != (2, "b")), *changed])


@pytest.mark.parametrize("statement", ["update", "delete"])
def test_merge_on_read_of_rows_outside_the_vectors_bounds_works_and_leaves_the_vector_alone(
    spark: SparkSession, table_name: str, statement: str
) -> None:
    """Iceberg need not read a vector whose bounds say that it holds none of the keys; the data file has both."""
    table = make(spark, table_name, MOR)
    known = vectors(table)
    spark.sql(STATEMENTS[statement].format(name=table_name, where="v = 'a' AND", id=2))
    assert vectors(table) == known
    changed = [(12, "a")] if statement == "update" else []
    assert_same_rows(table.read(), [*(row for row in LIVE if row != (2, "a")), *changed])


@pytest.mark.parametrize("modes", [COW, MOR], ids=["copy-on-write", "merge-on-read"])
def test_a_key_between_the_keys_of_a_vector_is_refused_too(
    spark: SparkSession, table_name: str, modes: dict[str, str]
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV | modes)
    append_ids(spark, table_name, range(5))
    table.delete_keys(keys(spark, 1, 3), "id").execute()
    before = head(table)
    with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
        spark.sql(f"DELETE FROM {table_name} WHERE id = 2")
    assert head(table) == before
    assert_same_rows(table.read(), [(0, "v"), (2, "v"), (4, "v")])


def test_plain_spark_overwrites_the_partition_of_the_vector(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    frame = spark.createDataFrame([(1, "a"), (9, "a")], "id bigint, v string")
    frame.writeTo(table_name).overwritePartitions()
    assert_same_rows(table.read(), [*(row for row in LIVE if row[1] != "a"), (1, "a"), (9, "a")])


def test_plain_spark_reads_again_once_the_vector_is_removed(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    assert remove_equality_deletes(table) == 1
    spark.catalog.refreshTable(table_name)
    assert vectors(table) == []
    assert_same_rows(spark.table(table_name), [*LIVE, (1, "a")])
    assert_same_rows(table.read(), [*LIVE, (1, "a")])


def test_many_vectors_can_be_removed_with_icebergs_own_commit(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", "v", properties=EDV)
    frame = spark.range(0, 24, 1, 1).selectExpr("id", "concat('p', id % 12) AS v")
    frame.writeTo(table_name).append()
    assert table.delete_keys(frame.where("id < 12"), "id", scope="partition").execute().vectors == 12
    assert table.read().count() == 12
    assert delete_manifests(table) == 12  # a part of them can go, and the others are still whole
    spark.sql(f"DELETE FROM {table_name} WHERE v = 'p3'")
    with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
        spark.table(table_name).collect()
    assert remove_equality_deletes(table, 1) == 1
    with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
        spark.table(table_name).collect()
    assert remove_equality_deletes(table) == 10
    spark.catalog.refreshTable(table_name)
    assert spark.table(table_name).count() == 22


def test_more_vectors_than_half_the_manifests_that_iceberg_merges_share_one(
    spark: SparkSession, table_name: str
) -> None:
    merging = {"commit.manifest.min-count-to-merge": "20"}
    table = create(spark, table_name, "id bigint, v string", "v", properties=EDV | merging)
    frame = spark.range(0, 24, 1, 1).selectExpr("id", "concat('p', id % 12) AS v")
    frame.writeTo(table_name).append()
    found = []
    for some in ("id < 5", "id >= 5 AND id < 12", "id = 12"):
        table.delete_keys(frame.where(some), "id", scope="partition").execute()
        found.append(delete_manifests(table))
    assert found == [5, 6, 7]
    assert table.read().count() == 11


def test_offsets_lost_in_a_merge_are_restored_whatever_the_summary_counts(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each snapshot carries the totals of the one before it, with the errors of other writers."""
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(6))
    for key in (1, 2):
        table.delete_keys(keys(spark, key), "id").execute()
    set_properties(spark, table_name, commit_manifest_min__count__to__merge="2")
    append_ids(spark, table_name, [7])
    assert [entry.content_offset for entry in live_vectors(table)] == [None, None]
    real = VectorManifests.complete

    def complete(manifests: VectorManifests, snapshot: dict[str, Any]) -> AvroFile:
        snapshot["summary"][TOTAL] = "0"
        return real(manifests, snapshot)

    monkeypatch.setattr(VectorManifests, "complete", complete)
    table.delete("id = 4").execute()
    assert None not in [entry.content_offset for entry in live_vectors(table)]
    assert_same_ids(table.read(), [0, 3, 5, 7])


def delete_manifests(table: rd.Table) -> int:
    snapshot = table.refresh().metadata.head("main")
    assert snapshot is not None
    return sum(bool(record["content"]) for record in table._handle.manifests.read(snapshot.manifest_list or "").records)


def test_a_vector_lives_through_120_spark_appends_and_the_merge_of_their_manifests(
    spark: SparkSession, table_name: str
) -> None:
    """Iceberg merges manifests when there are a hundred, and its writer drops the place of a vector's blob."""
    table = make(spark, table_name)
    known = vectors(table)
    for number in range(120):
        spark.range(number, number + 1, 1, 1).selectExpr("id", "'d' v").writeTo(table_name).append()
    listed = table._handle.manifests.read(table.refresh().metadata.head("main").manifest_list or "")  # type: ignore[union-attr]
    assert len(listed.records) < 100
    live = [*LIVE, *((number, "d") for number in range(120))]
    assert vectors(table) == known
    assert_same_rows(table.read(), live)
    for statement in ("SELECT * FROM {t}", "DELETE FROM {t} WHERE id = 1", "UPDATE {t} SET id = 9 WHERE id = 1"):
        with pytest.raises((PySparkException, Py4JJavaError), match=REFUSAL):
            spark.sql(statement.replace("{t}", table_name)).collect()
    assert_same_rows(spark.table(table_name).where("v = 'b'"), [(i, "b") for i in range(4)])
    spark.sql(f"DELETE FROM {table_name} WHERE v = 'b'")
    live = [row for row in live if row[1] != "b"]
    assert vectors(table) == known
    table.delete_keys(
        spark.createDataFrame([(7, "d"), (8, "d")], "id bigint, v string"), "id", scope="partition"
    ).execute()
    assert_same_rows(table.read(), [row for row in live if row not in {(7, "d"), (8, "d")}])
    assert remove_equality_deletes(table) == 2
    assert_same_rows(table.read(), [*live, (1, "a")])
