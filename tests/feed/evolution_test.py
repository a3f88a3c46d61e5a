"""The feed of tables whose format version, partitions or schema change, and of rows of every type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.feeds import check_every_commit, check_net, list_history, types
from tests.support.tables import append_ids, create, head, keys, make_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id bigint, v string"


def test_a_table_is_upgraded_from_version_1_to_3(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version'='1')")
    append_ids(spark, table_name, range(6))
    spark.sql(f"UPDATE {table_name} SET v = 'one' WHERE id = 1")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 0")
    table = rd.table(spark, table_name)
    for version in (2, 3):
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version'='{version}')")
        table.update(mode="merge-on-read").set("v", f"'{version}'").where(f"id = {version}").execute()
        table.delete_keys(keys(spark, 2 + version), key="id").execute()
        table.update(mode="copy-on-write").set("v", "concat(v, 'x')").where("id = 3").execute()
    check_every_commit(table, key="id")
    history = list_history(table)
    check_net(table, history[1], history[-1])


def test_the_partitions_of_a_table_change(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, region string, v int", "region", version=2)
    schema = "id bigint, region string, v int"

    def upsert(*rows: tuple[int, str, int]) -> None:
        table.upsert(make_frame(spark, rows, schema), key=["id", "region"]).execute()

    upsert((1, "a", 0), (2, "b", 0), (3, "b", 0))
    upsert((1, "a", 1), (2, "b", 1))
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION FIELD bucket(2, id)")
    upsert((1, "a", 2), (4, "a", 2))
    table.delete_keys(make_frame(spark, [(2, "b"), (9, "c")], "id bigint, region string"), ["id", "region"]).execute()
    spark.sql(f"ALTER TABLE {table_name} DROP PARTITION FIELD region")
    upsert((1, "a", 3), (3, "b", 3))
    table.delete("region = 'a' AND id = 4").execute()
    check_every_commit(table, key="id")
    history = list_history(table)
    check_net(table, history[0], history[-1], key="id")
    check_net(table, history[1], history[-2])


def test_a_key_column_is_dropped_after_its_deletes(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, k bigint, v string", version=2)
    spark.sql(f"INSERT INTO {table_name} SELECT id, id, 'v' FROM range(0, 4, 1, 1)")
    start = head(table)
    table.delete_keys(keys(spark, 1, column="k"), key="k").execute()
    spark.sql(f"ALTER TABLE {table_name} DROP COLUMN k")
    table.delete("id = 2").execute()
    assert types(table.changes(start)) == [("delete", 1, "v"), ("delete", 2, "v")]
    assert types(table.changes(start, net=True)) == [("delete", 1, "v"), ("delete", 2, "v")]


@pytest.mark.parametrize("version", [2, 3])
def test_rows_of_every_type_are_compared(spark: SparkSession, table_name: str, *, version: int) -> None:
    modes = {f"write.{command}.mode": "copy-on-write" for command in ("update", "delete")}
    table = create(
        spark,
        table_name,
        "`a.b` int, `c``d` map<string, array<map<int, double>>>, s struct<m: map<string, int>, x: float>, "
        "l array<struct<y: binary, z: decimal(9, 2)>>, t timestamp, n timestamp_ntz, d date, u boolean",
        version=version,
        properties=modes,
    )
    row = (
        "map('k', array(map(1, double('NaN'), 2, 0.5D))), named_struct('m', map('a', 1, 'b', 2), 'x', float('NaN')), "
        "array(named_struct('y', X'00FF', 'z', 1.50BD)), timestamp'2024-01-01 12:00:00', "
        "timestamp_ntz'2024-01-01 12:00:00', date'2024-01-01', true"
    )
    empty = "NULL, NULL, array(NULL), NULL, NULL, NULL, NULL"
    values = f"(1, {row}), (1, {row}), (2, {empty}), (3, {row})"
    spark.sql(f"INSERT INTO {table_name} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    start = head(table)
    other_order = "named_struct('m', map('b', 2, 'a', 1), 'x', float('NaN'))"
    spark.sql(f"UPDATE {table_name} SET s = {other_order} WHERE s IS NOT NULL")
    assert table.changes(start).collect() == []
    spark.sql(f"UPDATE {table_name} SET `c``d` = map('k', array(map(1, double('NaN')))) WHERE `a.b` = 3")
    feed = table.changes(start, key="`a.b`")
    assert [(row["a.b"], row._change_type) for row in feed.orderBy("_change_type").collect()] == [
        (3, "update_postimage"),
        (3, "update_preimage"),
    ]
    assert feed.columns[:2] == ["a.b", "c`d"]
