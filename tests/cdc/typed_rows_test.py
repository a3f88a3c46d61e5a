"""Streams of typed rows: which rows are deletes, and which do not fit the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rowdelta as rd
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def source_of(spark: SparkSession, folder: Path, rows: Sequence[tuple[Any, ...]], schema: str) -> DataFrame:
    """A stream of one batch."""
    frame = spark.createDataFrame(list(rows), schema)
    frame.coalesce(1).write.parquet(str(folder / "inbox"))
    return spark.readStream.schema(frame.schema).parquet(str(folder / "inbox"))


def test_deletes_that_the_caller_knows_need_no_required_columns(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, v string NOT NULL, n int", properties=EDV)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'b', 2)")
    rows = [(1, None, 5_000_000_000, "gone"), (3, "c", 3, "there"), (4, None, 4, None)]
    source = source_of(spark, tmp_path, rows, "id bigint, v string, n bigint, what string")
    stream = rd.cdc.stream(source, table, "id", delete_when="what = 'gone'", on_bad="quarantine")
    try:
        running = stream.start(str(tmp_path / "checkpoint"), available_now=True)
        running.await_termination()
        assert_same_rows(table.read(), [(2, "b", 2), (3, "c", 3)])
        assert_same_rows(spark.table(f"{table_name}_quarantine").select("reason"), [("column 'v' is null",)])
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {table_name}_quarantine PURGE")
    (batch,) = running.progress
    assert (batch.records, batch.changes, batch.bad) == (3, 2, 1)


def test_nested_values_that_do_not_fit_are_quarantined(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    folder, _, last = table_name.rpartition(".")
    name, spare = f"{folder}.`{last} two`", f"{folder}.`{last} two_quarantine`"
    table = create(spark, name, "id bigint, s struct<i: int NOT NULL, x: string>, a array<int>, m map<string, int>")
    large = 5_000_000_000
    rows: list[tuple[Any, ...]] = [
        (1, ("x", 1), [1, None], {"k": 1}),
        (2, None, None, None),
        (3, ("x", None), None, None),
        (4, ("x", large), None, None),
        (5, None, [1, large], None),
        (6, None, None, {"k": large}),
    ]
    source = source_of(
        spark, tmp_path, rows, "id bigint, s struct<X: string, i: bigint>, a array<bigint>, m map<string, bigint>"
    )
    try:
        stream = rd.cdc.stream(source, table, "id", on_bad="quarantine")
        stream.start(str(tmp_path / "checkpoint"), available_now=True).await_termination()
        found = table.read().select("id", "s.i", "a", "m")
        assert_same_rows(found, [(1, 1, [1, None], {"k": 1}), (2, None, None, None)])
        reasons = [
            f"column 'a' is array<int>, but the value is [1,{large}]",
            f"column 'm' is map<string,int>, but the value is {{\"k\":{large}}}",
            f'column \'s\' is struct<i:int,x:string>, but the value is {{"X":"x","i":{large}}}',
            'column \'s\' is struct<i:int,x:string>, but the value is {"X":"x"}',
        ]
        assert_same_rows(spark.table(spare).select("reason"), [(reason,) for reason in reasons])
    finally:
        for one in (name, spare):
            spark.sql(f"DROP TABLE IF EXISTS {one} PURGE")


def test_a_change_feed_can_be_kept_to_partitions(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, region string", "region")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'EU'), (2, 'US'), (3, 'US')")
    feed = [
        (1, "EU", "delete", 1, None),
        (2, "US", "update_preimage", 1, None),
        (2, "EU", "update_postimage", 1, None),
    ]
    columns = "id bigint, region string, _change_type string, _commit_version bigint, _commit_timestamp timestamp"
    source = source_of(spark, tmp_path, feed, columns)
    stream = rd.cdc.stream(source, table, "id", format="delta", scope="partition")
    stream.start(str(tmp_path / "checkpoint"), available_now=True).await_termination()
    assert_same_rows(table.read(), [(2, "EU"), (3, "US")])
