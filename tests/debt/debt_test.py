from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.spark import collect_arrow
from tests.support.oracle import assert_same_ids
from tests.support.tables import append_ids, create, head, keys, set_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.maintenance.progress import Progress


def planned(table: rd.Table) -> dict[str, list[int]]:
    """The number of records in each delete that Iceberg's planner applies, by data file."""
    found = defaultdict(list)
    tasks = table.refresh()._handle.java_table.newScan().planFiles().iterator()
    while tasks.hasNext():
        task = tasks.next()
        for delete in task.deletes():
            found[str(task.file().location())].append(int(delete.recordCount()))
    return found


def fill(spark: SparkSession, name: str) -> None:
    """Two appends of 60 rows in three regions."""
    for first in (0, 60):
        frame = spark.range(first, first + 60, 1, 1).selectExpr("id", "concat('r', id % 3) region", "id * 1.5 v")
        frame.writeTo(name).append()


def test_an_empty_table_has_no_debt(spark: SparkSession, table_name: str) -> None:
    debt = create(spark, table_name, "id bigint", version=2).debt()
    assert (debt.snapshot_id, debt.data_files, debt.delete_files, debt.readers) == (None, 0, 0, "any engine")
    assert [advice.action for advice in debt.advice] == ["nothing"]
    assert debt.oldest_delete_age_seconds is None
    assert "no deletes" in str(debt)


def test_the_debt_of_every_file_partition_and_kind_is_what_the_planner_applies(
    spark: SparkSession, table_name: str
) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, region string, v double", "region")
    fill(spark, table_name)
    spark.sql(f"DELETE FROM {table_name} WHERE id % 10 = 0")
    in_r1 = spark.createDataFrame([(1, "r1"), (61, "r1")], "id bigint, region string")
    table.delete_keys(in_r1, key="id", scope="partition").execute()
    debt = table.debt()
    expected = planned(table)
    assert {file.path: file.delete_files for file in debt.files} == {p: len(found) for p, found in expected.items()}
    assert {file.path: file.positions + file.keys for file in debt.files} == {p: sum(f) for p, f in expected.items()}
    assert (debt.data_files, debt.rows, debt.positions, debt.keys, debt.files_with_deletes) == (6, 120, 12, 2, 6)
    kinds = {kind.kind: (kind.files, kind.records, kind.applies_to) for kind in debt.kinds}
    assert kinds == {"deletion vectors": (6, 12, 6), "equality delete files": (1, 2, 2)}
    assert {p.partition: (p.data_files, p.rows, p.delete_files, p.positions, p.keys) for p in debt.partitions} == {
        "region=r0": (2, 40, 2, 4, 0),
        "region=r1": (2, 40, 3, 4, 2),
        "region=r2": (2, 40, 2, 4, 0),
    }
    assert debt.partitions[0].partition == "region=r1"
    assert debt.key_columns == (("id",),)
    assert debt.iceberg is not None
    assert debt.iceberg.seconds > debt.rowdelta.seconds > 0
    by_name = {found.partition: found for found in debt.partitions}
    assert by_name["region=r0"].rowdelta.seconds == 0
    assert (debt.dangling_files, debt.readers) == (0, "engines that read equality deletes")
    assert debt.delete_bytes == sum(row["bytes"] for row in collect_arrow(table.delete_files()).to_pylist())
    assert debt.oldest_delete_ms == sorted(s.timestamp_ms for s in table.metadata.snapshots.values())[2]
    assert [commit.total_keys for commit in debt.commits] == [0, 0, 0, 2]
    document = json.loads(debt.to_json())
    assert document["partitions"][0]["iceberg"]["seconds"] > 0
    assert document["dangling_share"] == 0
    assert table.debt(debt.commits[1].snapshot_id).delete_files == 0


def test_who_can_read_the_table_follows_its_version_and_its_vectors(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", version=2)
    append_ids(spark, table_name, range(100))
    table.delete_keys(keys(spark, 1, 2), key="id").execute()
    found = table.debt()
    assert found.readers == "engines that read equality deletes"
    assert found.readers_reason == (
        "the table is of format version 2 and has 1 standard equality delete file: Spark, Flink and Trino read them, "
        "PyIceberg, Databricks and Snowflake do not"
    )
    (encoding,) = (item for item in table.advise().recommendations if item.topic == "encoding")
    assert "PyIceberg, Databricks and Snowflake do not" in encoding.reason
    assert "every engine" not in encoding.reason
    set_properties(spark, table_name, format__version="3", write_delete_equality__vector_enabled="true")
    assert table.debt().readers == "engines that read equality deletes"
    table.delete_keys(keys(spark, 5_000), key="id").execute()
    debt = table.debt()  # a vector beyond all bounds blocks no reader
    told = [(kind["content"], kind["encoding"]) for kind in json.loads(debt.to_json())["kinds"]]
    assert sorted(told) == [("equality", "equality-delete-vector"), ("equality", "full-row")]
    assert debt.readers == "engines that read equality deletes"
    assert (debt.delete_files, debt.dangling_files, debt.keys) == (2, 1, 2)
    assert [(advice.action, advice.command) for advice in debt.advice] == [("remove dangling", ("remove-dangling",))]
    table.delete_keys(keys(spark, 3, 4), key="id").execute()
    debt = table.debt()
    assert (debt.readers, debt.iceberg) == ("only rowdelta", None)
    assert debt.advice[0].action == "resolve"
    assert debt.advice[0].gain_seconds is None
    assert "refuses to read" in str(debt)
    table.resolve().execute()
    assert table.debt().readers == "v3 engines"


def test_position_deletes_of_many_files_are_divided_among_them(spark: SparkSession, table_name: str) -> None:
    properties = {"write.delete.granularity": "partition"}
    table = create(spark, table_name, "id bigint NOT NULL, region string, v double", version=2, properties=properties)
    fill(spark, table_name)
    spark.sql(f"DELETE FROM {table_name} WHERE id IN (1, 2, 3, 61)")
    debt = table.debt()
    assert (debt.positions, [file.positions for file in debt.files]) == (4, [2, 2])
    assert [kind.kind for kind in debt.kinds] == ["position delete files"]
    set_properties(spark, table_name, format__version="3")
    assert [(a.action, a.call) for a in table.debt().advice] == [
        ("rewrite deletes", """t.rewrite_deletes(delete_files="content = 'position'").execute()""")
    ]


def test_remove_dangling_leaves_what_still_applies(spark: SparkSession, table_name: str) -> None:
    table = create(
        spark, table_name, "id bigint, v string", properties={"write.delete.equality-vector.enabled": "true"}
    )
    append_ids(spark, table_name, range(100))
    table.delete_keys(keys(spark, 5_000, 5_001), key="id").execute()  # an EDV beyond all bounds
    table.delete_keys(keys(spark, 7_000), key="id", encoding="full-row").execute()
    table.delete_keys(keys(spark, 1, 2), key="id").execute()
    table.delete_keys(keys(spark, 3), key="id", encoding="full-row").execute()
    append_ids(spark, table_name, [5_000])
    live = [0, *range(4, 100), 5_000]
    assert_same_ids(table.read(), live)
    before = head(table)
    assert "2 apply to no data file" in str(table.remove_dangling().plan())
    assert head(table) == before
    seen: list[Progress] = []
    result = table.remove_dangling(progress=seen.append).execute()
    assert [(now.groups_done, now.files_done, now.rows_done) for now in seen] == [(1, 2, 3)]
    assert (result.delete_files_removed, result.snapshot_id) == (2, head(table))
    assert_same_ids(table.read(), live)
    assert {row.dangling for row in table.delete_files().collect()} == {False}
    again = table.remove_dangling().execute()
    assert (again.snapshot_id, again.delete_files_removed) == (None, 0)


def test_a_branch_has_its_own_debt(spark: SparkSession, table_name: str) -> None:
    create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, range(10))
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH audit")
    audit = rd.table(spark, table_name, branch="audit")
    audit.delete_keys(keys(spark, 1), key="id").execute()
    assert (audit.debt().keys, rd.table(spark, table_name).debt().keys) == (1, 0)
    with pytest.raises(rd.InputError, match="no snapshot 42"):
        audit.debt(42)
