"""DELETE, UPDATE and MERGE on a branch, and on files other than Parquet: compared whole-table with Iceberg SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.copies import KINDS, Copies, Kind, numbered, numbered_copies
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, head

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MERGE = (
    "MERGE INTO {t} t USING dml_rows s ON t.id = s.id WHEN MATCHED AND s.id = 17 THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
    "WHEN NOT MATCHED BY SOURCE AND t.id = 9 THEN UPDATE SET b = -9"
)


def change(spark: SparkSession, table: rd.Table) -> list[int | None]:
    """One of each verb; the numbers of rows deleted, updated, and deleted, updated and inserted by the merge."""
    source = numbered(spark, 15, 23).selectExpr("id", "concat(region, '!') region", "-a a", "b", "p", "ts")
    source.createOrReplaceTempView("dml_rows")
    deleted = table.delete("id % 5 = 1 OR region IS NULL AND id < 10").execute()
    updated = table.update().set("a", "b").set("region", "'x'").set("p.y", "'new'").where("id % 4 = 2").execute()
    merge = table.merge(source, "t.id = s.id").when_matched_delete("s.id = 17").when_matched_update_all()
    merge.when_not_matched_insert_all().when_not_matched_by_source_update({"b": "-9"}, "t.id = 9")
    merged = merge.execute()
    return [
        deleted.rows_deleted,
        updated.rows_updated,
        merged.rows_deleted,
        merged.rows_updated,
        merged.rows_inserted,
    ]


def change_by_iceberg(pair: Copies, where: str = "") -> None:
    pair.plain_spark(f"DELETE FROM {{t}}{where} WHERE id % 5 = 1 OR region IS NULL AND id < 10")
    pair.plain_spark(f"UPDATE {{t}}{where} SET a = b, region = 'x', p.y = 'new' WHERE id % 4 = 2")
    pair.plain_spark(MERGE.replace("{t}", f"{{t}}{where}"))


NUMBERS = [4, 4, 1, 4, 4]  # id 16 is deleted first, and then inserted again


@pytest.mark.parametrize(
    ("kind", "partitioned_by"), list(zip(KINDS, ["region", "", "", "region"], strict=True)), ids=str
)
def test_a_branch_is_changed_and_main_stays(spark: SparkSession, kind: Kind, partitioned_by: str) -> None:
    with numbered_copies(spark, partitioned_by, kind) as pair:
        pair.both("ALTER TABLE {t} CREATE BRANCH audit")
        pair.append(numbered(spark, 40, 42))  # main changes independently
        before = head(pair.table)
        branch = rd.table(spark, pair.ours, branch="audit")
        assert change(spark, branch) == NUMBERS
        change_by_iceberg(pair, ".branch_audit")
        found, expected = (spark.table(f"{name}.branch_audit") for name in (pair.ours, pair.theirs))
        assert_same_rows(found, expected)
        assert_same_rows(branch.read(), expected)
        if kind.version > 2:
            lineage = [frame.selectExpr("id", "_row_id").where("_row_id < 20") for frame in (found, expected)]
            assert_same_rows(*lineage)
        assert branch.delete().execute().snapshot_id is not None  # whole files
        assert branch.read().count() == 0
        assert head(pair.table) == before
        pair.assert_same()


def test_a_branch_with_vectors_is_changed_and_main_stays_readable(spark: SparkSession) -> None:
    with numbered_copies(spark, "region", properties=EDV) as pair:
        pair.both("ALTER TABLE {t} CREATE BRANCH ingest")
        branch = rd.table(spark, pair.ours, branch="ingest")
        assert branch.delete_keys(numbered(spark, 0, 20).where("id IN (3, 4, 16)"), "id").execute().vectors > 0
        pair.plain_spark("DELETE FROM {t}.branch_ingest WHERE id IN (3, 4, 16)")
        change(spark, branch)
        change_by_iceberg(pair, ".branch_ingest")
        assert_same_rows(branch.read(), spark.table(f"{pair.theirs}.branch_ingest"))
        pair.assert_same()


@pytest.mark.parametrize(
    ("file_format", "kind", "partitioned_by"),
    [
        ("orc", KINDS[0], "region"),
        ("orc", KINDS[1], ""),
        ("avro", KINDS[0], ""),
        ("avro", KINDS[3], "region"),
        ("orc", KINDS[2], ""),
    ],
    ids=str,
)
def test_other_file_formats_are_changed_too(
    spark: SparkSession, file_format: str, kind: Kind, partitioned_by: str
) -> None:
    with numbered_copies(spark, partitioned_by, kind, {"write.format.default": file_format}) as pair:
        pair.ids_compared = 20
        assert change(spark, pair.table) == NUMBERS
        change_by_iceberg(pair)
        pair.assert_same()
        formats = {row.file_format for row in spark.table(f"{pair.ours}.data_files").collect()}
        assert formats == {file_format.upper()}
        pair.both("ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default' = 'parquet')")  # from here on both formats
        pair.table.update().set("a", "a + 1").where("id > 7").execute()
        pair.plain_spark("UPDATE {t} SET a = a + 1 WHERE id > 7")
        pair.assert_same()
