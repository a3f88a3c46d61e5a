"""Equality deletes of a table that has changed since: wider types, dropped columns, other partitions, other clocks."""

# ruff: noqa: DTZ001 - PySpark takes and gives times without a zone
from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.change import collect_integer_batches
from tests.support.oracle import assert_same_rows, ids
from tests.support.tables import VECTORS, create, head, one_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


# Columns that are widened later, by the type before and after.
WIDER = {"i": ("int", "bigint"), "n": ("decimal(10,2)", "decimal(20,2)")}
PROMOTED = [
    (2, "full-row", ["i", "s"]),
    (2, "full-row", ["n"]),
    (3, "hash-map", ["i"]),
    (3, "hash-map", ["i", "s"]),
    (3, "hash-map", ["n"]),
]


@pytest.mark.parametrize(("version", "encoding", "key"), PROMOTED)
def test_deletes_still_apply_after_a_key_column_was_widened_and_in_the_state_from_before(
    spark: SparkSession, table_name: str, *, version: int, encoding: rd.Encoding, key: list[str]
) -> None:
    columns = "id int, i int, n decimal(10,2), s string"
    table = create(spark, table_name, columns, version=version, properties=VECTORS)
    values = spark.range(0, 6, 1, 1).selectExpr(
        "cast(id as int) id", "nullif(cast(id - 2 as int), 1) i", "nullif(cast(id - 2 as decimal(10,2)), 1) n", "'s' s"
    )
    values.writeTo(table_name).append()
    table.delete_keys(values.where("id IN (1, 3)"), key, encoding=encoding).execute()
    before = head(table)
    for name, (_, wider) in WIDER.items():
        spark.sql(f"ALTER TABLE {table_name} ALTER COLUMN {name} TYPE {wider}")
    assert ids(table.refresh()) == ids(table, snapshot_id=before) == [0, 2, 4, 5]
    values = spark.sql("SELECT 10 id, 10000000000L i, 10000000000.5BD n, 's' s")
    spark.sql(f"INSERT INTO {table_name} SELECT 10 + id, -1, -1, 's' FROM range(2)")  # as a deleted row, but younger
    values.write.insertInto(table_name)
    table.delete_keys(values.selectExpr("i", "cast(n as decimal(20,2)) n", "s"), key, encoding=encoding).execute()
    assert ids(table) == [0, 2, 4, 5, 10, 11]
    assert ids(table, snapshot_id=before) == [0, 2, 4, 5]
    if version == 2:
        assert_same_rows(table.read(), spark.table(table_name))


def test_a_delete_stays_in_its_partition_when_the_column_of_the_partition_is_gone(
    spark: SparkSession, table_name: str
) -> None:
    table = create(spark, table_name, "id bigint, v string, w string", "v, bucket(4, w)", version=2)
    values = [(i, v, v) for i in range(3) for v in ("a", "b")]
    one_file(spark, values, "id bigint, v string, w string").writeTo(table_name).append()
    gone = "id bigint, v string, w string"
    table.delete_keys(one_file(spark, [(1, "a", "a")], gone), "id", scope="partition").execute()
    table.delete_keys(one_file(spark, [(2, "b", "b")], gone), ["id", "w"], scope="partition").execute()
    before = head(table)
    for statement in ("DROP PARTITION FIELD v", "DROP PARTITION FIELD bucket(4, w)", "DROP COLUMN v", "DROP COLUMN w"):
        spark.sql(f"ALTER TABLE {table_name} {statement}")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    assert ids(table.refresh()) == [0, 0, 1, 1, 2]
    assert ids(table, snapshot_id=before) == [0, 0, 1, 2]
    assert_same_rows(table.read(), spark.table(table_name))


def test_a_delete_of_another_engine_reaches_rows_of_its_own_spec_only(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "id bigint, v string, w string"
    table = create(spark, table_name, columns, "v", version=2)
    values = one_file(spark, [(i, v, "w") for i in range(3) for v in "ab"], columns)
    monkeypatch.setattr("rowdelta.change.key_scope.has_other_specs", lambda _: False)  # others do not look
    for statement, key in (("ADD PARTITION FIELD bucket(2, w)", 0), ("DROP PARTITION FIELD v", 1), ("", 2)):
        values.writeTo(table_name).append()
        table.refresh().delete_keys(one_file(spark, [(key, "a", "w")], columns), "id", scope="partition").execute()
        if statement:
            spark.sql(f"ALTER TABLE {table_name} {statement}")
    assert ids(table.refresh()) == [0] * 5 + [1] * 5 + [2] * 4
    assert_same_rows(table.read(), spark.table(table_name))


NAMES = ["d_hash", "d_key", "d_words", "d_ages", "d_age", "d_k0", "d_spec_id", "d_p0", "d_container", "d_file"]


@pytest.mark.parametrize("partitioned_by", ["", "p"])
def test_columns_may_have_any_name(spark: SparkSession, table_name: str, partitioned_by: str) -> None:
    columns = ", ".join(["id bigint", "s string", "p string", *(f"{name} bigint" for name in NAMES)])
    table = create(spark, table_name, columns, partitioned_by, properties=VECTORS)
    values = [(i, f"s{i}", "p", *([i] * len(NAMES))) for i in range(6)]
    one_file(spark, values, columns).writeTo(table_name).append()
    table.delete_keys(one_file(spark, [(1, "p")], "id bigint, p string"), "id", scope="partition").execute()
    table.delete_keys(one_file(spark, [("s2", "p")], "s string, p string"), "s", scope="partition").execute()
    gone = one_file(spark, [(3, 3, "p")], "d_k0 bigint, d_hash bigint, p string")
    table.delete_keys(gone, NAMES[:1], scope="partition").execute()
    one_file(spark, values[1:2], columns).writeTo(table_name).append()
    assert ids(table) == [0, 1, 4, 5]
    assert table.update().set("d_hash", "d_hash + d_k0").where("d_age = 4").execute().rows_updated == 1
    assert [row.d_hash for row in table.read("id = 4").collect()] == [8]


@pytest.fixture
def zone(spark: SparkSession) -> Iterator[Any]:
    """Sets the session's time zone until the test ends."""
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    yield lambda name: spark.conf.set("spark.sql.session.timeZone", name)
    spark.conf.set("spark.sql.session.timeZone", before)


# New York's clock skips 02:00 to 03:00, then repeats 01:00 to 02:00; Berlin's had a local time before 1893.
HOURS = [
    dt.datetime(2024, 3, 10, 2, 30),
    dt.datetime(2024, 3, 10, 3, 30),
    dt.datetime(2024, 11, 3, 1, 30, 0, 1),
    dt.datetime(1893, 4, 1, 0, 3, 0, 999999),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1, 1, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
]


@pytest.mark.parametrize("encoding", ["full-row", "deletion-vector"])
def test_times_without_a_zone_are_the_same_keys_in_every_zone(
    spark: SparkSession, table_name: str, zone: Any, encoding: rd.Encoding
) -> None:
    table = create(spark, table_name, "id int, k timestamp_ntz", properties=VECTORS)
    values = list(enumerate(HOURS))
    one_file(spark, values, "id int, k timestamp_ntz").writeTo(table_name).append()
    zone("America/New_York")
    gone = one_file(spark, [(HOURS[i],) for i in (0, 2, 4)], "k timestamp_ntz")
    table.delete_keys(gone, "k", encoding=encoding).execute()
    assert ids(table) == [1, 3, 5, 6]
    zone("Europe/Berlin")
    table.delete_keys(one_file(spark, [(HOURS[i],) for i in (3, 5, 6)], "k timestamp_ntz"), "k").execute()
    assert ids(table) == [1]
    zone("UTC")
    assert ids(rd.table(spark, table_name)) == [1]
    if encoding == "full-row":
        return
    epoch = dt.datetime(1970, 1, 1)
    batch = collect_integer_batches(table.delete_keys(one_file(spark, values, "id int, k timestamp_ntz"), "k")._keys)
    assert batch[0].keys.tolist() == sorted((hour - epoch) // dt.timedelta(microseconds=1) for hour in HOURS)
