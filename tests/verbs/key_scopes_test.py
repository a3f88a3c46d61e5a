"""`t.delete_keys()` where the partitions have changed, or where keys do not contain their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.oracle import assert_same_ids, assert_same_rows
from tests.support.tables import EDV, create, keys, one_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ID_V = "id bigint, v string"
OTHER_SPEC = "some rows were written under another partition spec"
NOT_IN_KEY = "the key does not contain {}, so it does not determine the partition"


@pytest.mark.parametrize(
    "changes", [("", "ADD PARTITION FIELD v"), ("v", "REPLACE PARTITION FIELD v WITH bucket(2, v)")]
)
def test_keys_reach_rows_of_an_older_spec_and_nothing_else(
    spark: SparkSession, table_name: str, changes: tuple[str, str]
) -> None:
    table = create(spark, table_name, ID_V, changes[0], version=2)
    values = one_file(spark, [(i, v) for i in range(4) for v in "ab"], ID_V)
    values.writeTo(table_name).append()
    spark.sql(f"ALTER TABLE {table_name} {changes[1]}")
    values.writeTo(table_name).append()
    table.refresh()
    gone = one_file(spark, [(1, "a"), (7, "b")], ID_V)
    for key in ("id", ["id", "v"]):
        with pytest.raises(rd.InputError, match="spec, to which deletes of this one do not apply"):
            table.delete_keys(gone, key, scope="partition")
    by_id = table.delete_keys(gone, "id")
    assert by_id.plan().to_dict()["scope"] == f"whole table: {NOT_IN_KEY.format('v')}"
    by_id.execute()
    by_both = table.delete_keys(one_file(spark, [(2, "b")], ID_V), ["id", "v"])
    assert by_both.plan().to_dict()["scope"] == f"whole table: {OTHER_SPEC}"
    by_both.execute()
    expected = [(i, v) for i in range(4) for v in "ab" if i != 1 and (i, v) != (2, "b")] * 2
    assert_same_rows(table.read(), expected)
    assert_same_rows(spark.table(table_name), expected)
    table.delete_keys(keys(spark, 3), "id", scope="global").execute()
    assert_same_rows(table.read(), [row for row in expected if row[0] != 3])


@pytest.mark.parametrize(
    ("encoding", "properties"), [(None, EDV), ("full-row", {}), ("hash-map", {"write.delete.hash-map.enabled": "true"})]
)
def test_only_the_key_says_which_rows_go_whatever_else_the_keys_carry(
    spark: SparkSession, table_name: str, encoding: rd.Encoding | None, properties: dict[str, str]
) -> None:
    """Delete events have the time of the deletion, not the time of the row."""
    table = create(spark, table_name, "id bigint, ts timestamp, v string", "days(ts)", properties=properties)
    times = [f"2024-01-0{1 + i % 3} 10:00:00" for i in range(9)]
    rows = one_file(spark, [(i, time, "v") for i, time in enumerate(times)], "id bigint, ts string, v string")
    rows.selectExpr("id", "cast(ts AS timestamp) ts", "v").writeTo(table_name).append()
    table.refresh()
    later = "cast('2024-06-01 00:00:00' AS timestamp) ts"
    for gone, frame in enumerate(
        (
            spark.range(1).selectExpr("id", later),
            spark.range(1, 2).selectExpr("id", "'yesterday' ts", "struct(1) v"),  # not even of the column's type
            spark.range(2, 3),
        )
    ):
        operation = table.delete_keys(frame, "id", encoding=encoding)
        assert operation.plan().to_dict()["scope"] == f"whole table: {NOT_IN_KEY.format('ts')}"
        assert operation.execute().keys == 1
        assert_same_ids(table.read(), range(gone + 1, 9))
    spark.range(3, 4).selectExpr("id", later, "'new' v").createOrReplaceTempView("changes")
    assert table.upsert(spark.table("changes"), "id", encoding=encoding).execute().keys == 1
    assert_same_rows(table.read().select("id", "v"), [(3, "new"), *((i, "v") for i in range(4, 9))])


def test_a_key_that_determines_its_partition_is_filed_there(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string, n int", "bucket(2, id), truncate(1, v)", properties=EDV)
    one_file(spark, [(i, v, 0) for i in range(4) for v in ("ax", "bx")], "id bigint, v string, n int").writeTo(
        table_name
    ).append()
    table.refresh()
    by_both = table.delete_keys(spark.sql("SELECT 1L id, 'ax' v, 'x' n"), ["v", "id"])
    assert by_both.plan().to_dict()["scope"] == "by partition"
    assert by_both.execute().keys == 1
    assert table.delete_keys(spark.range(2, 3), "id").execute().keys == 1
    expected = [(i, v, 0) for i in range(4) for v in ("ax", "bx") if i != 2 and (i, v) != (1, "ax")]
    assert_same_rows(table.read(), expected)
    specs = {file["spec_id"] for file in table.delete_files().collect()}
    assert len(specs) == 2


def test_with_scope_partition_the_other_columns_of_the_keys_say_where(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, at timestamp", "days(at)", properties=EDV)
    spark.sql(
        f"INSERT INTO {table_name} VALUES (1, TIMESTAMP'2024-01-31 18:00:00'), (1, TIMESTAMP'2024-02-01 18:00:00')"
    )
    table.refresh()
    with pytest.raises(rd.InputError, match="is partitioned by at, but the keys have no column at"):
        table.delete_keys(keys(spark, 1), "id", scope="partition")
    gone = spark.sql("SELECT 1L id, TIMESTAMP'2024-01-31 00:00:00' at")
    table.delete_keys(gone, "id", scope="partition").execute()
    assert [row["at"].day for row in table.read().collect()] == [1]


def test_the_values_that_lead_a_key_to_its_partition_do_not_hide_the_delete(
    spark: SparkSession, table_name: str
) -> None:
    table = create(spark, table_name, "s string, at timestamp, id int", "days(at)", version=2)
    spark.sql(
        f"INSERT INTO {table_name} SELECT /*+ COALESCE(1) */ * FROM VALUES ('a', TIMESTAMP'2024-01-31 18:00:00', 1), "
        "('b', TIMESTAMP'2024-01-31 19:00:00', 2)"
    )
    gone = spark.sql("SELECT 'a' s, TIMESTAMP'2024-01-31 00:00:00' at")
    table.delete_keys(gone, "s", scope="partition").execute()
    for where in ("true", "at > TIMESTAMP'2024-01-31 12:00:00'", "at = TIMESTAMP'2024-01-31 18:00:00' OR id = 2"):
        assert_same_ids(spark.table(table_name).where(where), [2])
        assert_same_ids(table.read(where), [2])
    assert spark.table(table_name).where("s = 'a'").count() == 0


def test_keys_cannot_carry_a_partition_inside_a_struct(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, p struct<x: int, y: string>", "p.x", properties=EDV)
    spark.sql(f"INSERT INTO {table_name} SELECT id, named_struct('x', 1, 'y', 'y') FROM range(3)")
    table.refresh()
    for frame in (keys(spark, 1), one_file(spark, [(1, 1)], "id bigint, `p.x` int")):
        with pytest.raises(
            rd.InputError, match=r"is partitioned by p\.x inside a struct, which keys cannot carry"
        ) as error:
            table.delete_keys(frame, "id", scope="partition")
        assert error.value.hint == "scope='global' deletes in all partitions"
    table.delete_keys(keys(spark, 1), "id").execute()
    assert_same_ids(table.read(), [0, 2])
