"""`t.delete_keys()` where partitions are not what they were, or not what keys can carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.ops.scopes import REMEDY
from tests.support.frames import assert_same_rows
from tests.support.tables import EDV, create, head, keys, one_file, stored_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ID_V = "id bigint, v string"
OTHER_SPEC = "some rows were written under another partition spec"


@pytest.mark.parametrize(
    "changes", [("", "ADD PARTITION FIELD v"), ("v", "REPLACE PARTITION FIELD v WITH bucket(2, v)")]
)
def test_keys_reach_rows_of_an_older_spec_and_nothing_beside_them(
    spark: SparkSession, table_name: str, changes: tuple[str, str]
) -> None:
    table = create(spark, table_name, ID_V, changes[0], version=2)
    values = one_file(spark, [(i, v) for i in range(4) for v in "ab"], ID_V)
    values.writeTo(table_name).append()
    spark.sql(f"ALTER TABLE {table_name} {changes[1]}")
    values.writeTo(table_name).append()
    table.refresh()
    gone = one_file(spark, [(1, "a"), (7, "b")], ID_V)
    with pytest.raises(rd.InputError, match="under another partition spec, where deletes of this one do not reach"):
        table.delete_keys(gone, "id", scope="partition")
    by_id = table.delete_keys(gone, "id")
    assert by_id.plan().to_dict()["scope"] == f"whole table: {OTHER_SPEC}, so that v must be equal too"
    by_id.execute()
    by_both = table.delete_keys(one_file(spark, [(2, "b")], ID_V), ["id", "v"])
    assert by_both.plan().to_dict()["scope"] == f"whole table: {OTHER_SPEC}"
    by_both.execute()
    expected = [(i, v) for i in range(4) for v in "ab" if (i, v) not in {(1, "a"), (2, "b")}] * 2
    assert_same_rows(table.read(), expected)
    assert_same_rows(spark.table(table_name), expected)
    table.delete_keys(keys(spark, 3), "id", scope="global").execute()
    assert_same_rows(table.read(), [row for row in expected if row[0] != 3])


def test_a_day_does_not_say_which_rows_of_an_older_spec_are_meant(spark: SparkSession, table_name: str) -> None:
    columns = "id bigint, at timestamp"
    table = create(spark, table_name, columns, properties=EDV)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, TIMESTAMP'2024-01-31 18:00:00')")
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION FIELD days(at)")
    table.refresh()
    gone = spark.sql("SELECT 1L id, TIMESTAMP'2024-01-31 00:00:00' at")
    before = (head(table), stored_files(table))
    with pytest.raises(
        rd.InputError, match="the partition at_day of a key does not tell which of them are meant"
    ) as error:
        table.delete_keys(gone, "id")
    assert error.value.hint == f"add at to the key, or {REMEDY}"
    assert (head(table), stored_files(table)) == before
    table.compact(options={"rewrite-all": "true"}).execute()
    assert table.delete_keys(gone, "id").execute().keys == 1
    assert table.read().count() == 0


def test_the_values_that_lead_a_key_to_its_partition_do_not_hide_the_delete(
    spark: SparkSession, table_name: str
) -> None:
    table = create(spark, table_name, "s string, at timestamp, id int", "days(at)", version=2)
    spark.sql(
        f"INSERT INTO {table_name} SELECT /*+ COALESCE(1) */ * FROM VALUES ('a', TIMESTAMP'2024-01-31 18:00:00', 1), "
        "('b', TIMESTAMP'2024-01-31 19:00:00', 2)"
    )
    table.delete_keys(spark.sql("SELECT 'a' s, TIMESTAMP'2024-01-31 00:00:00' at"), "s").execute()
    for where in ("true", "at > TIMESTAMP'2024-01-31 12:00:00'", "at = TIMESTAMP'2024-01-31 18:00:00' OR id = 2"):
        assert [row.id for row in spark.table(table_name).where(where).collect()] == [2]
        assert [row.id for row in table.read(where).collect()] == [2]
    assert spark.table(table_name).where("s = 'a'").count() == 0


def test_keys_cannot_carry_a_partition_inside_a_struct(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, p struct<x: int, y: string>", "p.x", properties=EDV)
    spark.sql(f"INSERT INTO {table_name} SELECT id, named_struct('x', 1, 'y', 'y') FROM range(3)")
    table.refresh()
    for frame in (keys(spark, 1), one_file(spark, [(1, 1)], "id bigint, `p.x` int")):
        with pytest.raises(
            rd.InputError, match=r"is partitioned by p\.x inside a struct, which keys cannot carry"
        ) as error:
            table.delete_keys(frame, "id")
        assert error.value.hint == "scope='global' deletes in all partitions"
    table.delete_keys(keys(spark, 1), "id", scope="global").execute()
    assert sorted(row.id for row in table.read().collect()) == [0, 2]
