from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.delta.progress import DeltaProgress
from tests.support.delta_tables import delta_rows, iceberg_rows, log_actions
from tests.support.oracle import assert_same_ids, assert_same_rows, rows
from tests.support.tables import stored_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rowdelta.delta.convert import FromDeltaResult

COLUMNS = (
    "id bigint, region string, amount decimal(9, 2), at timestamp, tags array<string>, "
    "s struct<a: int, m: map<string, int>>"
)
ROWS = (
    "id, case id % 4 when 0 then null when 1 then 'a b/%c' when 2 then '' else 'é' end region, "
    "cast(id / 4 as decimal(9, 2)) amount, timestamp_micros(id * 86400000001) at, "
    "array('x', null) tags, named_struct('a', cast(id as int), 'm', map('k', 1)) s"
)


def _create(spark: SparkSession, path: str, columns: str, partitioned_by: str = "", **properties: str) -> None:
    settings = {"delta.enableDeletionVectors": "true"} | {k.replace("_", "."): v for k, v in properties.items()}
    listed = ", ".join(f"'{key}'='{value}'" for key, value in settings.items())
    parts = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {parts} TBLPROPERTIES ({listed})")


def _append(spark: SparkSession, path: str, start: int, end: int, expressions: str = ROWS) -> None:
    frame = spark.range(start, end, 1, 1).selectExpr(*_split(expressions))
    frame.write.format("delta").mode("append").save(path)


def _split(expressions: str) -> list[str]:
    """Splits at the commas that are not inside parentheses."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(expressions):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(expressions[start:at])
            start = at + 1
    return [*parts, expressions[start:]]


def _operations(spark: SparkSession, name: str) -> list[str]:
    snapshots = spark.sql(f"SELECT operation FROM {name}.snapshots ORDER BY committed_at, snapshot_id").collect()
    return [row[0] for row in snapshots]


def test_every_kind_of_delta_commit_is_followed_by_one_snapshot(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "delta table")
    name = f"delta.`{path}`"
    _create(spark, path, COLUMNS, "region")
    _append(spark, path, 0, 40)
    merge = (
        f"MERGE INTO {name} t USING (SELECT id * 3 id FROM range(5, 20)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET amount = 7 "
        "WHEN NOT MATCHED THEN INSERT (id, region) VALUES (s.id, 'new')"
    )
    statements = {
        f"DELETE FROM {name} WHERE id % 10 = 3": "delete",
        f"DELETE FROM {name} WHERE id % 10 = 7": "delete",  # the same files get new vectors
        f"UPDATE {name} SET amount = amount + 1 WHERE id % 8 = 0": "overwrite",
        merge: "overwrite",
        f"INSERT INTO {name} (id, region) VALUES (1000, 'é')": "append",
        f"DELETE FROM {name} WHERE region = 'é'": "delete",  # whole files
        f"OPTIMIZE {name}": "replace",
        f"DELETE FROM {name} WHERE id < 6": "delete",
        f"RESTORE TABLE {name} TO VERSION AS OF 3": "overwrite",
        f"REORG TABLE {name} APPLY (PURGE)": "replace",
    }
    results: list[FromDeltaResult] = [rd.from_delta(spark, path, table_name).execute()]
    assert results[0].mode == "full"
    assert results[0].rows_inserted == 40
    for statement in statements:
        spark.sql(statement)
        results.append(rd.from_delta(spark, path, table_name).execute())
        assert (results[-1].mode, len(results[-1].snapshot_ids)) == ("incremental", 1), statement
    assert _operations(spark, table_name) == ["append", *statements.values()]
    last = results[-1].version
    versions = list(range(1, last + 1))
    assert_same_rows(iceberg_rows(spark, table_name, versions), delta_rows(spark, path, versions))

    # Partition values are those of the log, nulls and escapes included, and prune; nothing of Delta's was copied.
    partitions = rows(spark.sql(f"SELECT DISTINCT partition.region FROM {table_name}.partitions"))
    assert partitions == [("a b/%c",), ("é",), (None,)]
    table = rd.table(spark, table_name)
    assert not any(file.endswith("snappy.parquet") for file in stored_files(table))
    first, second = results[1], results[2]
    assert (first.deletion_vectors, first.delete_files_removed) == (second.delete_files_removed, 0)
    assert first.bytes_copied == sum(add["deletionVector"]["sizeInBytes"] + 8 for add in log_actions(path, 2, "add")), (
        "only the bytes of the vectors are copied"
    )

    # The summary and the properties record the version of the table.
    metadata = table.refresh().metadata
    head = metadata.head("main")
    assert head is not None
    assert head.summary["rowdelta.delta.version"] == str(last)
    assert head.summary["rowdelta.delta.operation"] == "REORG"
    assert int(head.summary["rowdelta.delta.timestamp"]) > 1_600_000_000_000
    assert metadata.properties["rowdelta.delta.version"] == str(last)
    assert metadata.properties["rowdelta.delta.source"] == f"file:{path}"
    assert metadata.properties["gc.enabled"] == "false"

    # Without new commits, neither an incremental nor a full conversion commits anything.
    before = metadata.current_snapshot_id
    for mode in ("auto", "incremental", "full"):
        result = rd.from_delta(spark, path, table_name, mode).execute()
        assert (result.mode, result.snapshot_id) == ("none", None)
    assert table.refresh().metadata.current_snapshot_id == before
    assert "the table is at version" in str(rd.from_delta(spark, path, table_name).plan())


def test_expired_delete_files_go_and_the_files_of_delta_stay(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "orders")
    _create(spark, path, "id bigint")
    _append(spark, path, 0, 20, "id")
    for version, key in enumerate((3, 4, 5), 2):
        spark.sql(f"DELETE FROM delta.`{path}` WHERE id = {key}")
        rd.from_delta(spark, path, table_name, version=version).execute()
    table = rd.table(spark, table_name)
    vectors = {file for file in stored_files(table) if file.endswith(".puffin")}
    assert len(vectors) == 3
    assert all(file.startswith("deletion-vectors/") for file in vectors)
    of_delta = {file for file in Path(path).rglob("*") if file.is_file()}
    spark.sql(f"REORG TABLE delta.`{path}` APPLY (PURGE)")
    assert rd.from_delta(spark, path, table_name).execute().delete_files_removed == 1
    expired = table.refresh().expire(older_than="2100-01-01T00:00:00", retain_last=1).execute()
    assert (expired.delete_files_removed, expired.data_files_removed) == (3, 0)
    assert not [file for file in stored_files(table.refresh()) if file.endswith(".puffin")]
    assert of_delta <= {file for file in Path(path).rglob("*") if file.is_file()}
    assert_same_ids(spark.table(table_name), {*range(20)} - {3, 4, 5})
    # The next commit follows as if nothing had happened.
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 6")
    assert rd.from_delta(spark, path, table_name, verify=True).execute().verified_rows == 16


def test_a_range_of_commits_can_be_one_snapshot(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "orders")
    _create(spark, path, "id bigint, v string")
    _append(spark, path, 0, 30, "id, 'a' v")
    rd.from_delta(spark, path, table_name).execute()
    for change in ("DELETE FROM {} WHERE id < 3", "UPDATE {} SET v = 'b' WHERE id < 6", "DELETE FROM {} WHERE id = 4"):
        spark.sql(change.format(f"delta.`{path}`"))
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (100, 'c')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 100")  # came and went
    operation = rd.from_delta(spark, path, table_name, snapshots="range", verify=True)
    assert "5 commits after version 1" in str(operation.plan())
    result = operation.execute()
    assert len(result.snapshot_ids) == 1
    assert (result.from_version, result.version, result.verified_rows) == (1, 6, 26)


def test_format_version_2_gets_position_deletes_that_follow_too(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "orders")
    _create(spark, path, "id bigint, p date", "p")
    _append(spark, path, 0, 40, "id, cast(date_add(date'2024-01-01', cast(id % 2 as int)) as date) p")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 5 = 0")
    rd.from_delta(spark, path, table_name, format_version=2).execute()
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 5 = 1")
    rd.from_delta(spark, path, table_name).execute()
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 2")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE p = '2024-01-01'")
    rd.from_delta(spark, path, table_name, verify=True).execute()
    versions = [2, 3, 4, 5]
    assert_same_rows(iceberg_rows(spark, table_name, versions), delta_rows(spark, path, versions))
    files = rd.table(spark, table_name).delete_files().collect()
    assert [(file["path"].rsplit(".", 1)[-1], file["dangling"]) for file in files] == [("parquet", False)]
    # After an upgrade, a vector replaces the positions.
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 17")
    assert rd.from_delta(spark, path, table_name, verify=True).execute().delete_files_removed == 1
    files = rd.table(spark, table_name).delete_files().collect()
    assert [(file["path"].rsplit(".", 1)[-1], file["dangling"]) for file in files] == [("puffin", False)]


def test_a_gap_in_the_log_or_a_foreign_snapshot_is_repaired_by_a_full_conversion(
    spark: SparkSession, table_name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = str(tmp_path / "orders")
    _create(spark, path, "id bigint", delta_checkpointInterval="3")
    _append(spark, path, 0, 10, "id")
    rd.from_delta(spark, path, table_name).execute()
    _append(spark, path, 10, 20, "id")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN (5, 15)")  # version 3, with a checkpoint
    for name in ("00000000000000000002.json", "00000000000000000000.json", "00000000000000000001.json"):
        (Path(path) / "_delta_log" / name).unlink()
    with pytest.raises(rd.InputError, match=r"no complete record of what came after version 1\n.*full"):
        rd.from_delta(spark, path, table_name, mode="incremental").execute()
    with caplog.at_level(logging.WARNING, "rowdelta"):
        result = rd.from_delta(spark, path, table_name, verify=True).execute()
    assert (result.mode, result.from_version, result.verified_rows, result.data_files_added) == ("full", 1, 18, 1)
    assert "no complete record" in caplog.text

    # Another writer changes the Iceberg table: the next call repairs it.
    spark.sql(f"DELETE FROM {table_name} WHERE id < 4")
    with pytest.raises(rd.InputError, match="newest snapshot is not the one"):
        rd.from_delta(spark, path, table_name, mode="incremental").execute()
    assert rd.from_delta(spark, path, table_name, verify=True).execute().verified_rows == 18

    # A table that was rolled back is brought up to date, too.
    first = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots ORDER BY committed_at").collect()[0][0]
    spark.sql(f"CALL lake.system.rollback_to_snapshot('{table_name.removeprefix('lake.')}', {first})")
    assert rd.from_delta(spark, path, table_name, verify=True).execute().verified_rows == 18


def test_versions_can_be_chosen_and_taken_back(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "orders")
    _create(spark, path, "id bigint")
    for start in (0, 10, 20):
        _append(spark, path, start, start + 10, "id")
    seen: list[DeltaProgress] = []
    rd.from_delta(spark, path, table_name, version=2, progress=seen.append).execute()
    assert spark.table(table_name).count() == 20
    assert seen[-1] == DeltaProgress(2, "files", 2, 2)
    with pytest.raises(rd.InputError, match=r"no version 9\n.*newest version is 3"):
        rd.from_delta(spark, path, table_name, version=9).execute()
    with pytest.raises(rd.InputError, match=r"at Delta version 2, after version 1\n.*full"):
        rd.from_delta(spark, path, table_name, version=1).execute()
    assert rd.from_delta(spark, path, table_name, "full", 1, verify=True).execute().verified_rows == 10
    assert rd.from_delta(spark, path, table_name, verify=True).execute().verified_rows == 30


def test_another_delta_table_at_the_same_place_is_noticed(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "orders")
    _create(spark, path, "id bigint")
    _append(spark, path, 0, 10, "id")
    rd.from_delta(spark, path, table_name).execute()
    spark.sql(f"DROP TABLE IF EXISTS delta.`{path}`")
    shutil.rmtree(path)
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    _create(spark, path, "id bigint")
    for start in (100, 110, 120):
        _append(spark, path, start, start + 10, "id")
    with pytest.raises(rd.InputError, match="another Delta table has taken the place"):
        rd.from_delta(spark, path, table_name, mode="incremental").execute()
    assert rd.from_delta(spark, path, table_name, verify=True).execute().verified_rows == 30


def test_a_file_that_is_added_again_with_statistics_does_not_appear_twice(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    """Writers add a file again, without removing it, after they have computed its statistics."""
    path = str(tmp_path / "orders")
    _create(spark, path, "id bigint")
    _append(spark, path, 0, 10, "id")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    rd.from_delta(spark, path, table_name).execute()
    (add,) = log_actions(path, 2, "add")
    again = {"add": {**add, "dataChange": False, "tags": {"statistics": "new"}}}
    (Path(path) / "_delta_log" / f"{3:020}.json").write_text(json.dumps(again))
    result = rd.from_delta(spark, path, table_name).execute()
    assert (result.version, result.data_files_added, result.deletion_vectors) == (3, 0, 1)
    assert spark.sql(f"SELECT count(*) FROM {table_name}.data_files").collect()[0][0] == 1
    assert_same_ids(spark.table(table_name), [0, 1, 2, *range(4, 10)])
