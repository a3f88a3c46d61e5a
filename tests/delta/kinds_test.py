"""Delta tables of every kind: partition types, clones, names in catalogs, columns that Delta fills itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from tests.support.delta_tables import delta_rows, iceberg_rows, log_actions
from tests.support.oracle import assert_same_rows, rows
from tests.support.spark_versions import SPARK_4_SYNTAX
from tests.support.tables import set_properties, stored_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITH_VECTORS = "TBLPROPERTIES ('delta.enableDeletionVectors'='true')"


@pytest.fixture
def zoned(spark: SparkSession) -> Any:
    """A session whose time zone is an offset. It writes times into the log without a zone, as Delta once did."""
    settings = {
        "spark.sql.session.timeZone": "+05:30",
        "spark.databricks.delta.write.utcTimestampPartitionValues": "false",
    }
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, old in before.items():
        spark.conf.unset(name) if old is None else spark.conf.set(name, old)


@pytest.mark.usefixtures("zoned")
@pytest.mark.parametrize("format_version", [3, 2])
def test_partition_values_of_every_type_are_found_again(
    spark: SparkSession, table_name: str, tmp_path: Path, format_version: int
) -> None:
    path = str(tmp_path / "orders")
    name = f"delta.`{path}`"
    values = {
        "i int": "k - 1",
        "n tinyint": "k",
        "b boolean": "k % 2 = 0",
        "d double": "cast(k as double) / 4",
        "m decimal(20, 3)": "cast(-k as decimal(20, 3)) / 8",
        "day date": "date_add(date'1969-12-31', cast(k as int))",
        "at timestamp": "timestamp_micros(-1 + k * 86400123456)",
        "local timestamp_ntz": "timestamp_micros(k * 123456)",
        "t string": "element_at(array('a=b/c%20d', 'ü : #?', ' '), cast(k as int))",
        "bin binary": "'x' || k",
    }
    exact = {column.split()[0]: f"cast({value} as {column.split(maxsplit=1)[1]})" for column, value in values.items()}
    spark.sql(
        f"CREATE TABLE {name} (id bigint, {', '.join(values)}) USING delta PARTITIONED BY ({', '.join(exact)}) "
        f"{WITH_VECTORS}"
    )
    made = ", ".join(f"CASE WHEN k > 0 THEN {value} END" for value in exact.values())
    spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, {made} FROM (SELECT id, id % 4 k FROM range(16))")
    assert len(log_actions(path, 1, "add")) == 4
    rd.from_delta(spark, path, table_name, format_version=format_version).execute()
    for change in (
        f"DELETE FROM {name} WHERE id IN (0, 1, 2, 3)",  # a vector in each partition
        f"DELETE FROM {name} WHERE i = 0",  # whole files go, by their partition
        f"DELETE FROM {name} WHERE i IS NULL AND id > 8 OR i = 2",
        f"UPDATE {name} SET id = id + 100 WHERE i = 1",
    ):
        spark.sql(change)
        assert rd.from_delta(spark, path, table_name, mode="incremental").execute().mode == "incremental"
    versions = range(1, 6)
    assert_same_rows(iceberg_rows(spark, table_name, versions), delta_rows(spark, path, versions))
    # Each value finds its partition, so it is the value that Delta has.
    condition = " AND ".join(f"{column} = {value.replace('k', '2')}" for column, value in exact.items())
    assert rows(spark.sql(f"SELECT count(*) FROM {table_name} WHERE {condition}")) == [(3,)]
    result = rd.from_delta(spark, path, table_name, "full", 2, verify=True).execute()
    assert (result.data_files_removed, result.verified_rows) == (1, 12)


@SPARK_4_SYNTAX
def test_columns_that_delta_fills_itself_are_columns_like_others(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "orders")
    name = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {name} (k bigint GENERATED ALWAYS AS IDENTITY, v varchar(5) COMMENT 'five at most', "
        "at timestamp, day date GENERATED ALWAYS AS (cast(at as date)), n int NOT NULL DEFAULT 7) "
        "USING delta CLUSTER BY (day) TBLPROPERTIES ('delta.enableDeletionVectors'='true', "
        "'delta.feature.allowColumnDefaults'='supported', 'delta.checkpointPolicy'='v2', "
        "'delta.enableRowTracking'='true', 'delta.enableInCommitTimestamps'='true')"
    )
    spark.sql(f"ALTER TABLE {name} ADD CONSTRAINT few CHECK (n < 100)")
    spark.sql(f"INSERT INTO {name} (v, at) SELECT 'v' || id, timestamp_seconds(id * 80000) FROM range(10)")
    rd.from_delta(spark, path, table_name).execute()
    spark.sql(f"DELETE FROM {name} WHERE v = 'v3'")
    spark.sql(f"INSERT INTO {name} (v, at, n) VALUES ('w', timestamp'2024-02-29 12:00:00', 8)")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN v COMMENT 'five characters'")
    spark.sql(f"OPTIMIZE {name} FULL")
    result = rd.from_delta(spark, path, table_name, verify=True).execute()
    assert (result.mode, result.verified_rows) == ("incremental", 10)
    versions = range(2, result.version + 1)
    assert_same_rows(iceberg_rows(spark, table_name, versions), delta_rows(spark, path, versions))
    comments = {column.name: column.metadata.get("comment") for column in spark.table(table_name).schema}
    assert comments["v"] == "five characters"
    head = rd.table(spark, table_name).metadata.head("main")
    assert head is not None
    stamp = log_actions(path, int(head.summary["rowdelta.delta.version"]), "commitInfo")[0]["inCommitTimestamp"]
    assert head.summary["rowdelta.delta.timestamp"] == str(stamp), "the time of the log, not of the file"


def test_a_shallow_clone_and_a_table_by_its_name_are_followed(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    source, clone = tmp_path / "a source", tmp_path / "clone"
    spark.sql(
        "CREATE TABLE spark_catalog.default.origin (id bigint, p string) USING delta PARTITIONED BY (p) "
        f"LOCATION '{source}' {WITH_VECTORS}"
    )
    try:
        spark.sql("INSERT INTO spark_catalog.default.origin SELECT /*+ COALESCE(1) */ id, 'x y' FROM range(20)")
        spark.sql("DELETE FROM spark_catalog.default.origin WHERE id = 3")
        named = rd.from_delta(spark, "spark_catalog.default.origin", table_name, verify=True).execute()
        assert (named.verified_rows, named.deletion_vectors) == (19, 1)
        spark.sql(f"DROP TABLE {table_name}")
        spark.sql(f"CREATE TABLE delta.`{clone}` SHALLOW CLONE spark_catalog.default.origin")
    finally:
        spark.sql("DROP TABLE spark_catalog.default.origin")
    assert rd.from_delta(spark, clone, table_name, verify=True).execute().verified_rows == 19
    spark.sql(f"DELETE FROM delta.`{clone}` WHERE id = 5")  # the vector is the clone's, the file is not
    spark.sql(f"INSERT INTO delta.`{clone}` VALUES (100, 'x y')")
    assert rd.from_delta(spark, clone, table_name, verify=True).execute().verified_rows == 19
    assert rows(spark.sql(f"SELECT count(*), count(DISTINCT file_path) FROM {table_name}.data_files")) == [(2, 2)]
    spark.sql(f"OPTIMIZE delta.`{clone}`")
    result = rd.from_delta(spark, clone, table_name, verify=True).execute()
    assert (result.data_files_added, result.data_files_removed, result.delete_files_removed) == (1, 2, 1)


def test_a_table_with_columns_renamed_and_dropped_before_is_converted(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    """Its files still have the dropped column, whose id belongs to no column now."""
    path = str(tmp_path / "orders")
    name = f"delta.`{path}`"
    properties = "'delta.columnMapping.mode'='name', 'delta.enableDeletionVectors'='true'"
    spark.sql(f"CREATE TABLE {name} (a int, b int, c int) USING delta TBLPROPERTIES ({properties})")
    spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, id + 1, id + 2 FROM range(10)")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN a")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN b TO a")
    spark.sql(f"DELETE FROM {name} WHERE a = 4")
    result = rd.from_delta(spark, path, table_name, verify=True, verify_files=True).execute()
    assert (result.verified_rows, result.deletion_vectors) == (9, 1)
    frame = spark.sql("SELECT 'x' a, 1 z")
    frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    assert rd.from_delta(spark, path, table_name, verify=True).execute().verified_rows == 1
    spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF {result.version}")
    assert rd.from_delta(spark, path, table_name, verify=True).execute().verified_rows == 9


def test_delete_files_go_to_the_given_folder_and_are_expired_there(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    path, folder = str(tmp_path / "orders"), tmp_path / "deletes"
    spark.sql(f"CREATE TABLE delta.`{path}` (id bigint) USING delta {WITH_VECTORS}")
    spark.range(0, 20, 1, 1).write.format("delta").mode("append").save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    with pytest.raises(rd.InputError, match="the folder of delete files would be at"):
        rd.from_delta(spark, path, table_name, delete_folder=f"{path}/deletes").execute()
    assert not spark.catalog.tableExists(table_name)
    rd.from_delta(spark, path, table_name, delete_folder=str(folder)).execute()
    assert len(list(folder.glob("*.puffin"))) == 1
    with pytest.raises(rd.InputError, match=r"(?s)are in .*deletes, not in other.*omit delete_folder"):
        rd.from_delta(spark, path, table_name, delete_folder="other").execute()
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 4")
    rd.from_delta(spark, path, table_name).execute()
    assert len(list(folder.glob("*.puffin"))) == 2
    table = rd.table(spark, table_name)
    assert not [file for file in stored_files(table) if file.endswith(".puffin")]
    of_delta = {file for file in Path(path).rglob("*") if file.is_file()}

    # Other engines may remove nothing at all, and the marker alone is enough for ours to leave Delta's files.
    with pytest.raises(Exception, match="GC is disabled"):
        spark.sql(f"CALL lake.system.expire_snapshots(table => '{table_name}', retain_last => 1)")
    set_properties(spark, table_name, gc_enabled="true")
    spark.sql(f"REORG TABLE delta.`{path}` APPLY (PURGE)")
    rd.from_delta(spark, path, table_name).execute()
    expired = table.refresh().expire(older_than="2100-01-01T00:00:00", retain_last=1).execute()
    assert (expired.delete_files_removed, expired.data_files_removed) == (2, 0)
    assert not list(folder.glob("*.puffin"))
    assert of_delta <= {file for file in Path(path).rglob("*") if file.is_file()}
    assert spark.table(table_name).count() == 18


def test_a_foreign_snapshot_that_changes_nothing_causes_one_full_conversion(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "orders")
    spark.range(0, 10, 1, 1).write.format("delta").save(path)
    rd.from_delta(spark, path, table_name).execute()
    spark.range(10, 20, 1, 1).write.format("delta").mode("append").save(path)
    rd.from_delta(spark, path, table_name).execute()
    moved = spark.sql(f"CALL lake.system.rewrite_manifests('{table_name}')").collect()[0]
    assert moved["rewritten_manifests_count"] == 2
    repaired = rd.from_delta(spark, path, table_name).execute()
    assert (repaired.mode, repaired.data_files_added, repaired.data_files_removed) == ("full", 0, 0)
    assert rd.from_delta(spark, path, table_name).execute().mode == "none"
    spark.range(20, 30, 1, 1).write.format("delta").mode("append").save(path)
    result = rd.from_delta(spark, path, table_name, mode="incremental", verify=True).execute()
    assert result.verified_rows == 30
