"""Row positions are collected row by row, as words, or by file path; all three give the same changes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import rowdelta as rd
from rowdelta.change import ListedFilesLocator, choose_locator, open_target
from rowdelta.change.row_locators import PathLocator
from rowdelta.codec import compute_spark_hashes
from rowdelta.spark import make_frame_from_arrow
from tests.support.copies import KINDS, Kind, numbered, numbered_copies
from tests.support.oracle import assert_same_ids, assert_same_rows
from tests.support.tables import create, one_file, stored_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.copies import Copies

MERGES = [
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    (
        "WHEN MATCHED AND t.a > 3 THEN UPDATE SET b = s.b + 1 WHEN MATCHED AND s.id = 21 THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE AND t.id = 0 THEN UPDATE SET region = 'gone'"
    ),
]


def limits(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Makes every table too large for the earlier ways."""
    target_rows = importlib.import_module("rowdelta.change.target_rows")
    if way != "rows":
        monkeypatch.setattr(target_rows, "_MOST_ROWS_COLLECTED", 0)
    if way == "paths":
        monkeypatch.setattr(target_rows, "_MOST_FILES_LISTED", 0)


def run(pair: Copies, statement: str) -> None:
    rd.sql(pair.spark, statement.replace("{t}", pair.ours))
    pair.plain_spark(statement)
    pair.assert_same()


@pytest.mark.parametrize(
    ("way", "kind"),
    [
        ("rows", KINDS[0]),
        ("words", KINDS[0]),
        ("paths", KINDS[0]),
        ("words", KINDS[2]),
        ("paths", KINDS[1]),
    ],
    ids=str,
)
def test_every_way_gives_what_iceberg_sql_gives(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, way: str, kind: Kind
) -> None:
    limits(monkeypatch, way)
    with numbered_copies(spark, "region", kind) as pair:
        pair.ids_compared = 20
        target = open_target(pair.table._handle)
        places = choose_locator(target, target.read_rows())
        assert isinstance(places, PathLocator if way == "paths" else ListedFilesLocator)
        assert getattr(places, "one_by_one", None) == {"rows": True, "words": False, "paths": None}[way]
        numbered(spark, 15, 26).selectExpr("*", "'x' more").createOrReplaceTempView("positions_changes")
        run(pair, "DELETE FROM {t} WHERE a = 2")
        run(pair, "UPDATE {t} SET b = coalesce(b, 0) + a, region = 'moved' WHERE id % 3 = 1")
        for clauses in MERGES:
            run(pair, f"MERGE INTO {{t}} t USING positions_changes s ON t.id = s.id {clauses}")
        twice = numbered(spark, 15, 17).unionAll(numbered(spark, 16, 18))
        for operation in (
            pair.table.merge(twice, on="id").when_matched_update_all(),
            pair.table.merge(twice, on="id").when_matched_update({"a": "0"}, "t.id <> 16"),
        ):
            with pytest.raises(rd.InputError, match="matched by more than one row"):
                operation.execute()
        pair.assert_same()


def test_paths_are_hashed_as_spark_hashes_them(spark: SparkSession) -> None:
    stem = "s3://lake/db=x y/größe/日本/\U0001f600%20ü/00001-1-c60b1a69.parquet"
    texts = ["", *(stem[start : start + size] for start in range(len(stem)) for size in range(1, 12)), stem * 40]
    frame = make_frame_from_arrow(spark, pa.table({"path": pa.array(texts)})).selectExpr("path", "hash(path) code")
    found = {row.path: row.code for row in frame.collect()}
    assert compute_spark_hashes(texts) == [found[text] for text in texts]


def test_files_whose_hashes_are_equal_are_numbered(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with numbered_copies(spark, "region") as pair:
        locators = importlib.import_module("rowdelta.change.row_locators")
        monkeypatch.setattr(locators, "compute_spark_hashes", lambda paths: [7] * len(paths))
        run(pair, "UPDATE {t} SET b = a WHERE id = 3")
        run(pair, "DELETE FROM {t} WHERE a = 2")
        spark.range(0, 40, 5).selectExpr("id", "90 + id AS a").createOrReplaceTempView("numbered_changes")
        merge = "MERGE INTO {t} t USING numbered_changes s ON t.id = s.id "
        run(pair, merge + "WHEN MATCHED AND t.a < 50 THEN UPDATE SET a = cast(s.a AS int)")
        run(pair, merge + "WHEN MATCHED AND s.a > 100 THEN DELETE")
        table = pair.table
        table.delete_keys(spark.createDataFrame([(1,), (18,)], "id bigint"), "id", scope="global").execute()
        table.resolve().execute()
        pair.plain_spark("DELETE FROM {t} WHERE id IN (1, 18)")
        assert_same_rows(spark.table(pair.ours).select("id"), spark.table(pair.theirs).select("id"))


@pytest.mark.parametrize("version", [2, 3])
def test_rows_of_a_partition_whose_column_was_dropped_must_be_rewritten_before_they_are_deleted(
    spark: SparkSession, table_name: str, version: int
) -> None:
    columns = "id bigint, v string"
    create(spark, table_name, columns, "v", version=version)
    one_file(spark, [(i, p) for i in range(3) for p in ("a", "b")], columns).writeTo(table_name).append()
    spark.sql(f"ALTER TABLE {table_name} DROP PARTITION FIELD v")
    spark.sql(f"ALTER TABLE {table_name} DROP COLUMN v")
    table = rd.table(spark, table_name)
    before = stored_files(table)
    for mode in ("merge-on-read", "copy-on-write"):
        with pytest.raises(rd.TableError, match=r"(?s)partitioned by v, whose column was dropped.*compact"):
            table.delete("id = 1", mode=mode).execute()  # nor can Iceberg's own DELETE write positions for them
    assert stored_files(table) == before
    table.compact(options={"rewrite-all": "true"}).execute()
    table.delete("id = 1").execute()
    for frame in (table.read(), spark.table(table_name)):
        assert_same_ids(frame, [0, 0, 2, 2])
