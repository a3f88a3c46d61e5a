"""Tables with partitions in years outside the range of Python's dates: every verb, compared with a plain model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.oracle import assert_same_rows
from tests.support.tables import VECTORS, create
from tests.support.zones import DAYS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    import rowdelta as rd

COLUMNS = "id bigint, v string, t timestamp, n timestamp_ntz, d date"
EACH = 6  # of each day and time


def rows_of(spark: SparkSession, first: int, last: int, text: str) -> DataFrame:
    """Rows by id; their days and times cycle through the years."""
    some = [(i, DAYS[i % len(DAYS)]) for i in range(first, last)]
    return (
        spark.createDataFrame(some, "id bigint, day int")
        .coalesce(1)
        .selectExpr(
            "id",
            f"'{text}' v",
            "timestamp_micros(day * 86400000000L + 1) t",
            "cast(timestamp_micros(day * 86400000000L) as timestamp_ntz) n",
            "date_from_unix_date(day) d",
        )
    )


def check(table: rd.Table, spark: SparkSession, model: dict[int, str], *, plain: bool = False) -> None:
    frame = spark.table(table.name) if plain else table.read()
    assert_same_rows(frame.select("id", "v"), model.items())


@pytest.mark.parametrize("version", [2, 3])
def test_every_verb_works_in_years_that_python_does_not_know(
    spark: SparkSession, table_name: str, version: int
) -> None:
    table = create(spark, table_name, COLUMNS, "days(t), n, d", version=version, properties=VECTORS)
    count = EACH * len(DAYS)
    rows_of(spark, 0, count, "a").sortWithinPartitions("d").writeTo(table_name).append()
    model = dict.fromkeys(range(count), "a")

    assert table.delete("id < 7").execute().rows_deleted == 7
    model = {i: v for i, v in model.items() if i >= 7}
    table.update().set("v", "'u'").where("id BETWEEN 7 AND 13").execute()
    model |= dict.fromkeys(range(7, 14), "u")
    table.merge(rows_of(spark, 10, 12, "m"), on="id").when_matched_update_all().execute()
    model |= {10: "m", 11: "m"}
    check(table, spark, model, plain=True)

    keys = rows_of(spark, 14, 21, "")
    table.delete_keys(keys, key="id", scope="partition").execute()
    table.delete_keys(rows_of(spark, 21, 28, ""), key=["id", "n"], scope="partition").execute()
    table.delete_keys(rows_of(spark, 28, 29, "").select("id"), key="id", scope="global").execute()
    model = {i: v for i, v in model.items() if not 14 <= i < 29}
    table.upsert(rows_of(spark, 35, 42, "new"), key=["id", "t", "n", "d"]).execute()
    model |= dict.fromkeys(range(35, 42), "new")
    check(table, spark, model)

    partitions = {row.partition for row in table.delete_files().where("partition IS NOT NULL").collect()}
    assert "t_day=+12345-01-01/n=+12345-01-01 00:00:00/d=+12345-01-01" in partitions
    assert "t_day=0000-01-01/n=0000-01-01 00:00:00/d=0000-01-01" in partitions
    assert "t_day=-0001-12-31/n=-0001-12-31 00:00:00/d=-0001-12-31" in partitions
    assert table.debt().keys > 0
    table.rewrite_deletes("hash-map" if version == 3 else "full-row", delete_files="content = 'equality'").execute()
    check(table, spark, model)
    table.resolve(partitions="d = DATE'+12345-01-01'").execute()
    table.resolve().execute()
    check(table, spark, model, plain=True)
    table.compact(options={"rewrite-all": "true"}).execute()
    table.rewrite_deletes().execute()
    table.expire(retain_last=1).execute()
    check(table, spark, model, plain=True)
