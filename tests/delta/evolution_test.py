from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.iceberg import build_row_filter, measure_scan
from tests.support.delta_tables import delta_rows, iceberg_rows
from tests.support.oracle import assert_same_rows, rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_are_renamed_dropped_and_added_with_column_mapping(
    spark: SparkSession, table_name: str, tmp_path: Path, mode: str
) -> None:
    path = str(tmp_path / "orders")
    name = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {name} (a bigint, b string, s struct<x: int, y: array<struct<z: int>>>, p int) USING delta "
        "PARTITIONED BY (p) TBLPROPERTIES ('delta.enableDeletionVectors'='true', "
        f"'delta.columnMapping.mode'='{mode}')"
    )
    insert = "named_struct('x', cast(id as int), 'y', array(named_struct('z', 1)))"
    spark.sql(f"INSERT INTO {name} SELECT id, 'v' || id, {insert}, id % 2 FROM range(10)")
    rd.from_delta(spark, path, table_name).execute()
    changes = [
        f"DELETE FROM {name} WHERE a = 3",
        f"ALTER TABLE {name} RENAME COLUMN b TO c",
        f"ALTER TABLE {name} RENAME COLUMN p TO part",
        f"ALTER TABLE {name} DROP COLUMN s.x",
        f"ALTER TABLE {name} ADD COLUMNS (b int)",  # the old name, another column
        f"INSERT INTO {name} SELECT id, 'w', named_struct('y', null), id % 3, 5 FROM range(20, 24)",
        f"UPDATE {name} SET c = 'u' WHERE part = 1",
    ]
    for change in changes:
        spark.sql(change)
        rd.from_delta(spark, path, table_name).execute()
    assert spark.table(table_name).columns == ["a", "c", "s", "part", "b"]
    versions = [1, 2, 7, 8]
    assert_same_rows(iceberg_rows(spark, table_name, versions), delta_rows(spark, path, versions))
    assert rows(spark.sql(f"SELECT count(*) FROM {table_name} WHERE part = 2 AND b = 5 AND c = 'w'")) == [(2,)]


@pytest.mark.spark4("Delta Lake 3.3 cannot widen int to bigint")
def test_schema_and_partitions_follow_without_column_mapping(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "orders")
    name = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {name} (a int NOT NULL, p string) USING delta PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.enableDeletionVectors'='true', 'delta.enableTypeWidening'='true')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 'x'), (2, 'y'), (3, 'y')")
    rd.from_delta(spark, path, table_name).execute()
    spark.sql(f"DELETE FROM {name} WHERE a = 3")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (b struct<c: string>)")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN a TYPE bigint")
    spark.sql(f"INSERT INTO {name} VALUES (5000000000, 'x', named_struct('c', 'k'))")
    rd.from_delta(spark, path, table_name).execute()
    # The whole table is replaced: another type, other partitions, a column gone.
    frame = spark.range(4).selectExpr("cast(id as string) a", "cast(id % 2 as string) p", "id q")
    frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").partitionBy("q").save(path)
    rd.from_delta(spark, path, table_name).execute()
    spark.sql(f"DELETE FROM {name} WHERE a = '2'")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('note'='nothing of the data')")
    last = rd.from_delta(spark, path, table_name, verify=True).execute()
    assert last.verified_rows == 3
    versions = list(range(1, last.version + 1))
    assert_same_rows(iceberg_rows(spark, table_name, versions), delta_rows(spark, path, versions))
    assert rd.from_delta(spark, path, table_name).execute().mode == "none", "commits without files are passed, too"
    assert [part.name for part in rd.table(spark, table_name).metadata.spec.fields] == ["q"]
    # Iceberg needs p for the manifests of its older snapshots.
    spark.range(4).selectExpr("id a", "id p").write.format("delta").mode("overwrite").option(
        "overwriteSchema", "true"
    ).save(path)
    with pytest.raises(rd.InputError, match=r"dropped a column that it was partitioned by.*: p, q;"):
        rd.from_delta(spark, path, table_name).execute()
    assert spark.table(table_name).count() == 3


def test_column_mapping_can_be_turned_on_later(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "orders")
    name = f"delta.`{path}`"
    spark.sql(f"CREATE TABLE {name} (a int, s struct<x: int, y: int>, b int) USING delta")
    spark.sql(f"INSERT INTO {name} VALUES (1, named_struct('x', 2, 'y', 3), 4)")
    rd.from_delta(spark, path, table_name).execute()
    spark.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode'='name', 'delta.minReaderVersion'='2', "
        "'delta.minWriterVersion'='5')"
    )
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN a TO z")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (a int)")
    spark.sql(f"INSERT INTO {name} VALUES (5, named_struct('x', 6, 'y', 7), 8, 9)")
    last = rd.from_delta(spark, path, table_name, verify=True).execute()
    versions = [1, last.version]
    assert_same_rows(iceberg_rows(spark, table_name, versions), delta_rows(spark, path, versions))


@pytest.mark.parametrize("stats", ["log", "footer"])
def test_bounds_prune_and_never_answer_wrongly(
    spark: SparkSession, table_name: str, tmp_path: Path, stats: rd.MetricsSource
) -> None:
    """Delta's statistics have milliseconds; min() and max() must still return all digits."""
    path = str(tmp_path / "orders")
    expressions = (
        "id",
        "timestamp_micros(1700000000000123 + id) at",
        "cast(timestamp_micros(1700000000000456 + id) as timestamp_ntz) local",
        "cast(id as double) / 3 d",
        "cast(id as decimal(20, 3)) / 7 e",
        "cast(id as byte) f",
        "case when id % 2 = 0 then 'long text that is cut after thirty-two characters ' || id end t",
        "date_add(date'1960-01-01', cast(id as int)) day",
        "named_struct('at', timestamp_micros(id), 'n', id) s",
    )
    frame = spark.range(0, 100, 1, 4).selectExpr(*expressions)
    frame.write.format("delta").option("delta.enableDeletionVectors", "true").save(path)
    result = rd.from_delta(spark, path, table_name, stats=stats, verify_files=True).execute()
    assert result.data_files_added == 4
    columns = ["id", "at", "local", "d", "e", "f", "t", "day", "s.at", "s.n"]
    aggregates = ", ".join(f"min({c}), max({c}), count({c})" for c in columns)
    queries = [f"SELECT {aggregates} FROM {name}" for name in (table_name, f"delta.`{path}`")]
    assert_same_rows(*map(spark.sql, queries))
    for column, start in (("at", "1700000000000123"), ("local", "1700000000000456"), ("s.at", "0")):
        assert spark.table(table_name).where(f"{column} = timestamp_micros({start} + 60)").count() == 1
    predicate = "s.n > 80 AND day >= '1960-02-01'"
    assert spark.table(table_name).where(predicate).count() == 19
    handle = rd.table(spark, table_name)._handle
    assert result.snapshot_id is not None
    size = measure_scan(handle, result.snapshot_id, build_row_filter(handle, predicate))
    assert size.files == 1, "three of four files are pruned"
    # Both kinds of bounds in one table: neither may be mistaken for the other.
    spark.range(100, 110, 1, 1).selectExpr(*expressions).write.format("delta").mode("append").save(path)
    rd.from_delta(spark, path, table_name, stats="log" if stats == "footer" else "footer").execute()
    assert_same_rows(*map(spark.sql, queries))
