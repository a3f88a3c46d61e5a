"""`t.delete()`, compared whole-table with the same DELETE by Iceberg SQL on a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from rowdelta.spark import collect_arrow
from tests.support.copies import COLUMNS, DV, KINDS, Copies, Kind, evolve, numbered, numbered_copies
from tests.support.oracle import assert_same_ids, assert_same_rows
from tests.support.tables import EDV, append_ids, create, head, keys, one_file, set_properties, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, SparkSession

    from rowdelta.change import Result


def delete(pair: Copies, where: str | None = None, **numbers: int | None) -> Result:
    """The same delete of both tables."""
    result = pair.table.delete(where).execute()
    pair.plain_spark("DELETE FROM {t}" + ("" if where is None else f" WHERE {where}"))
    pair.assert_same(result, rows_inserted=0, rows_updated=0, **numbers)
    return result


def delete_files(table: rd.Table) -> list[dict[str, object]]:
    """The live delete files."""
    found: list[dict[str, object]] = collect_arrow(table.delete_files()).to_pylist()
    return found


# --- rows by a predicate, in every kind of table

PARTITIONS = ["region", "region", "bucket(2, id), years(ts)", "", ""]


@pytest.mark.parametrize(("kind", "partitioned_by"), list(zip([*KINDS, KINDS[0]], PARTITIONS, strict=True)), ids=str)
def test_delete_gives_what_iceberg_sql_gives(spark: SparkSession, kind: Kind, partitioned_by: str) -> None:
    with numbered_copies(spark, partitioned_by, kind) as pair:
        delete(pair, "id % 10 = 3", rows_deleted=2)
        delete(pair, "id % 10 = 4 OR region = 'r1' AND id < 5", rows_deleted=3)
        delete(pair, "region IS NULL AND b > 0")
        assert delete(pair, "p.y = 'nobody'", rows_deleted=0).snapshot_id is None
        delete(pair, "region = 'r2'")
        if kind.mode == "copy-on-write":
            assert delete_files(pair.table) == []
        evolve(pair, partitioned_by.split(", years", maxsplit=1)[0])
        delete(pair, "id = 7 OR b = 8 AND c IS NULL", rows_deleted=2)  # a and b have changed their names
        pair.append(numbered(spark, 20, 40).selectExpr("'new' c", "*"))
        delete(pair, "id % 10 = 5", rows_deleted=3)  # of files with the old columns and partitions, and with the new
        delete(pair, "c = 'new' AND b > 2500 OR region = 'r0'")
        if partitioned_by:
            before = pair.table.refresh().metadata.head("main")
            assert before is not None
            result = delete(pair, "region = 'r1'")
            assert result.snapshot_id not in {None, before.id}
        assert delete(pair).snapshot_id is not None
        assert spark.table(pair.ours).count() == 0
        assert delete(pair, "id = 1", rows_deleted=0).snapshot_id is None


@pytest.mark.parametrize("kind", KINDS[1:3], ids=str)
def test_delete_from_an_empty_table_makes_no_snapshot(spark: SparkSession, kind: Kind, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS, version=kind.version, properties=kind.properties)
    for operation in (table.delete("id = 1"), table.delete()):
        assert operation.execute().snapshot_id is None
        assert "none: the table is empty" in str(operation.plan())
    assert head(table) is None


# --- by metadata alone


@pytest.mark.parametrize(
    ("partitioned_by", "where", "rows"),
    [
        ("region", "region = 'r1'", 6),
        ("region", "region IS NULL", 2),
        ("region", "region IN ('r0', 'r2')", 12),
        ("", "id < 10", 10),
        ("", "id >= 10 AND a >= 0", 10),
        ("years(ts)", "ts < TIMESTAMP'2004-01-01 00:00:00'", 4),
        ("", None, 20),
    ],
)
def test_whole_files_are_dropped_without_reading_or_writing_any(
    spark: SparkSession, partitioned_by: str, where: str | None, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_scan(*_: object) -> None:
        pytest.fail("the table was scanned")

    with numbered_copies(spark, partitioned_by) as pair:
        before = pair.table.read().count()
        files = {name for name in stored_files(pair.table) if name.startswith("data/")}
        total = spark.table(f"{pair.table.name}.data_files").count()
        with monkeypatch.context() as patched:
            patched.setattr("rowdelta.verbs.delete.choose_locator", no_scan)
            plan = str(pair.table.delete(where).plan())
            result = pair.table.delete(where).execute()
        assert (result.rows_deleted, result.data_files_added, result.delete_files_added) == (rows, 0, 0)
        assert result.data_files_removed == total - spark.table(f"{pair.table.name}.data_files").count() > 0
        assert "metadata alone" in plan
        assert f"{rows}" in plan
        assert {name for name in stored_files(pair.table) if name.startswith("data/")} == files
        assert pair.table.read().count() == before - rows
        if where is not None:
            assert pair.table.read(where).count() == 0


NEGATIONS: list[tuple[str, Callable[[], Column]]] = [
    ("b <> 9", lambda: F.col("b") != 9),
    ("NOT (b = 9 OR a = 9)", lambda: ~((F.col("b") == 9) | (F.col("a") == 9))),
    ("b <> 9 OR a <> 9", lambda: ~((F.col("b") == 9) & (F.col("a") == 9))),
    ("b NOT IN (8, 9)", lambda: ~F.col("b").isin(8, 9)),
    ("region NOT LIKE 'x%'", lambda: ~F.col("region").startswith("x")),
    ("region LIKE 'r%'", lambda: F.col("region").startswith("r")),
    ("NOT (b <=> 9)", lambda: ~F.col("b").eqNullSafe(9)),
    ("NOT (b < 9)", lambda: ~(F.col("b") < 9)),
]


@pytest.mark.parametrize("partitioned_by", ["", "region", "b"])
def test_a_null_is_never_unequal(spark: SparkSession, table_name: str, partitioned_by: str) -> None:
    """Iceberg SQL drops the rows with nulls here (`b <> 9` by metadata), so Spark on a plain frame is the oracle."""
    rows = [(0, "r0", 1, 1), (1, "r1", 2, None), (2, None, 3, 2), (3, "r1", None, 3), (4, "r1", None, None)]
    schema = "id bigint, region string, a int, b int"
    plain = one_file(spark, rows, schema)
    table = create(spark, table_name, schema, partitioned_by)
    plain.writeTo(table_name).append()
    start = head(table)
    for text, column in NEGATIONS:
        left = plain.where(f"NOT coalesce({text}, false)").collect()
        for where in (column(), text)[: 1 if partitioned_by else 2]:
            table.delete(where).execute()
            assert_same_rows(table.read(), [tuple(row) for row in left])
            spark.sql(f"CALL lake.system.set_current_snapshot('{table_name}', {start})")


SUBQUERIES = [
    "id NOT IN (SELECT id FROM {t} WHERE id >= 10)",
    "id IN (SELECT id + 1 FROM {t} WHERE id >= 15) AND id < 18",
    "NOT EXISTS (SELECT 1 FROM {t} i WHERE i.id = o.id + 1)",
    "o.id < 14 AND EXISTS (SELECT 1 FROM {t} i WHERE i.region = o.region AND i.id > o.id)",
    "o.id >= (SELECT max(i.id) FROM {t} i WHERE i.region = o.region)",
]


def test_a_subquery_decides_row_by_row(spark: SparkSession) -> None:
    """A delete by metadata alone would apply the condition without its subquery."""
    with numbered_copies(spark) as pair:
        for text in SUBQUERIES:
            result = pair.table.delete(text.replace("{t}", pair.ours), alias="o").execute()
            pair.plain_spark(f"DELETE FROM {{t}} o WHERE {text}")
            assert result.rows_deleted
            assert_same_rows(spark.table(pair.ours), spark.table(pair.theirs))


def test_a_condition_with_a_subquery_is_still_used_to_skip_files(spark: SparkSession) -> None:
    with numbered_copies(spark) as pair:
        where = f"o.id < 5 AND o.id IN (SELECT id FROM {pair.ours})"
        steps = pair.table.delete(where, alias="o").plan().to_dict()
        assert steps["files"] == "1 to scan, 1 pruned"
        assert steps["filter"].endswith(", in part")
        assert pair.table.delete("_pos = 3 AND id > 12").plan().to_dict()["files"] == "1 to scan, 1 pruned"


def test_what_was_deleted_before_is_not_counted_again(spark: SparkSession) -> None:
    with numbered_copies(spark) as pair:
        delete(pair, "id IN (1, 2, 11)", rows_deleted=3)
        delete(pair, "id < 10", rows_deleted=None, delete_files_added=0)
        assert [row["dangling"] for row in delete_files(pair.table)] == [False]
        delete(pair, "id IN (11, 12)", rows_deleted=1)


# --- deletion vectors


@pytest.mark.parametrize("partitioned_by", ["", "region"])
def test_a_file_has_one_vector_that_holds_all_its_deletes(spark: SparkSession, partitioned_by: str) -> None:
    with numbered_copies(spark, partitioned_by) as pair:
        first = delete(pair, "id IN (0, 3, 12)", rows_deleted=3)
        second = delete(pair, "id IN (6, 9, 15)")
        assert second.delete_files_removed == first.delete_files_added
        found = delete_files(pair.table)
        assert len({row["referenced_data_file"] for row in found}) == len(found)
        assert {(row["encoding"], row["format"]) for row in found} == {("deletion-vector", "puffin")}
        assert spark.table(pair.ours).count() == 14
        pair.both("DELETE FROM {t} WHERE id IN (1, 16)")  # Iceberg merges with ours
        pair.assert_same()
        delete(pair, "id IN (4, 18)", rows_deleted=2)  # and we with Iceberg's


@pytest.mark.parametrize(
    ("granularity", "partitioned_by"), [("file", "region"), ("partition", ""), ("partition", "region")]
)
def test_version_2_writes_positions_by_file_or_by_partition(
    spark: SparkSession, granularity: str, partitioned_by: str
) -> None:
    kind = Kind(2, "merge-on-read")
    with numbered_copies(spark, partitioned_by, kind, {"write.delete.granularity": granularity}) as pair:
        result = delete(pair, "id % 4 = 1", rows_deleted=5)
        touched = spark.table(f"{pair.theirs}.delete_files").count()
        assert result.delete_files_added == touched == len(delete_files(pair.table))
        delete(pair, "id IN (0, 2, 12, 14)", rows_deleted=4, delete_files_removed=0)
        content = {(row["content"], row["format"]) for row in delete_files(pair.table)}
        assert content == {("position", "parquet")}
        options = "map('rewrite-all', 'true')"
        pair.both(f"CALL lake.system.rewrite_position_delete_files(table => '{{t}}', options => {options})")
        pair.assert_same()


@pytest.mark.parametrize(
    ("granularity", "mode", "partitioned_by"),
    [
        ("file", "merge-on-read", ""),
        ("partition", "merge-on-read", ""),
        ("partition", "merge-on-read", "region"),
        ("partition", "copy-on-write", ""),
    ],
)
def test_positions_of_version_2_stay_deleted_after_an_upgrade(
    spark: SparkSession, granularity: str, mode: str, partitioned_by: str
) -> None:
    kind = Kind(2, "merge-on-read")
    with numbered_copies(spark, partitioned_by, kind, {"write.delete.granularity": granularity}) as pair:
        pair.both("DELETE FROM {t} WHERE id IN (1, 2, 12)")
        delete(pair, "id IN (5, 15)")
        pair.both("ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')")
        pair.ids_compared = 0
        pair.both(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('write.delete.mode' = '{mode}')")
        delete(pair, "id IN (3, 4)", rows_deleted=2)
        delete(pair, "id % 2 = 0 AND id > 5", rows_deleted=6)
        pair.append(numbered(spark, 20, 22))
        delete(pair, "id > 16", rows_deleted=4)
        assert_same_ids(spark.table(pair.ours), [0, 7, 9, 11, 13])


def test_a_vector_of_many_positions_crosses_blocks_and_containers(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint")
    spark.range(0, 200_000, 1, 1).coalesce(1).writeTo(table_name).append()
    for where in ("id % 3 = 0", "id IN (63, 64, 65, 65535, 65536, 65537, 199999)", "id BETWEEN 100000 AND 150000"):
        table.delete(where).execute()
    left = spark.range(200_000).where("id % 3 > 0 AND id NOT IN (64, 65, 65536, 65537, 199999)")
    left = left.where("id NOT BETWEEN 100000 AND 150000")
    assert spark.table(table_name).exceptAll(left).isEmpty()
    assert left.exceptAll(spark.table(table_name)).isEmpty()


# --- equality deletes and vectors that are live


@pytest.mark.parametrize(
    ("encoding", "mode", "partitioned_by"),
    [
        ("deletion-vector", "merge-on-read", "region"),
        ("deletion-vector", "copy-on-write", ""),
        ("full-row", "merge-on-read", ""),
        ("full-row", "copy-on-write", "region"),
    ],
)
def test_every_verb_sees_only_rows_that_no_key_deletes(
    spark: SparkSession, encoding: rd.Encoding, mode: str, partitioned_by: str
) -> None:
    """The copy has standard deletes of the same rows."""
    with numbered_copies(spark, partitioned_by, Kind(3, mode), EDV) as pair:
        table = pair.table
        gone = "id IN (2, 3, 13, 14)"
        listed = numbered(spark, 0, 20).where(gone)
        table.delete_keys(listed, "id", encoding=encoding).execute()
        pair.plain_spark(f"DELETE FROM {{t}} WHERE {gone}")
        pair.append(numbered(spark, 13, 15))  # newer than the deletes: live

        def same() -> None:
            assert_same_rows(table.read(), spark.table(pair.theirs))

        assert table.delete("id IN (3, 4, 13)").execute().rows_deleted == 2
        pair.plain_spark("DELETE FROM {t} WHERE id IN (3, 4, 13)")
        same()
        assert table.update().set("a", "a + 100").where("id < 6 OR id = 14").execute().rows_updated == 4
        pair.plain_spark("UPDATE {t} SET a = a + 100 WHERE id < 6 OR id = 14")
        same()
        source = numbered(spark, 0, 4).unionAll(numbered(spark, 12, 15)).withColumn("a", F.lit(7))
        source.createOrReplaceTempView("dml_source")
        result = table.merge(source, "id").when_matched_update_all().when_not_matched_insert_all().execute()
        assert (result.rows_updated, result.rows_inserted) == (4, 3)
        pair.plain_spark(
            "MERGE INTO {t} t USING dml_source s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        same()
        table.delete("region = 'r1'").execute()
        pair.plain_spark("DELETE FROM {t} WHERE region = 'r1'")
        same()


# --- plans


@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_a_plan_for_version_2_names_the_files_of_positions(
    spark: SparkSession, table_name: str, granularity: str
) -> None:
    properties = {"write.delete.granularity": granularity}
    table = create(spark, table_name, "id bigint, v string", version=2, properties=properties)
    append_ids(spark, table_name, range(10))
    place = "data file" if granularity == "file" else "partition"
    encoding = table.delete("id = 7").plan().to_dict()["encoding"]
    assert encoding == f"position deletes, a file for each {place}: the table is of format version 2"
    encoding = table.delete("id = 7", mode="copy-on-write").plan().to_dict()["encoding"]
    assert encoding == "none: the touched files are rewritten"


def test_a_granularity_is_read_in_any_letters_and_an_unknown_one_is_refused(
    spark: SparkSession, table_name: str
) -> None:
    table = create(spark, table_name, "id bigint, v string", version=2)
    append_ids(spark, table_name, range(10))
    set_properties(spark, table_name, write_delete_granularity="FILE")
    assert "a file for each data file" in table.delete("id = 7").plan().to_dict()["encoding"]
    set_properties(spark, table_name, write_delete_granularity="row")
    before = head(table), stored_files(table)
    for operation in (table.delete("id = 7"), table.update().set("v", "'x'").where("id = 7")):
        with pytest.raises(rd.EncodingError, match=r"(?s)granularity has the value 'row'.*file, partition"):
            operation.execute()
    assert (head(table), stored_files(table)) == before


def test_a_plan_names_mode_filter_and_files_and_changes_nothing(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, range(10))
    append_ids(spark, table_name, range(10, 20))
    table.delete_keys(keys(spark, 1), "id").execute()
    before, files = head(table), stored_files(table)
    steps = table.delete("id = 7", isolation="snapshot").plan().to_dict()
    assert steps["mode"] == "merge-on-read (table property write.delete.mode)"
    assert (steps["isolation"], steps["files"]) == ("snapshot", "1 to scan, 1 pruned")
    assert steps["encoding"] == "deletion-vector, one for each data file touched: the table is of format version 3"
    assert "id" in steps["filter"]
    assert table.delete("v LIKE '%x'").plan().to_dict()["files"] == "2 to scan, 0 pruned"
    sizes = [row[0] for row in spark.table(f"{table_name}.files").select("file_size_in_bytes").collect()]
    assert steps["bytes"] in {f"{size:,}" for size in sizes}
    whole = table.delete("id < 10").plan().to_dict()
    assert whole["mode"] == "metadata alone (every row of these files matches)"
    assert whole["files"] == "1 to drop, 1 pruned"
    assert whole["rows"] == "10 in these files"
    assert whole["bytes"] in {f"{size:,}" for size in sizes}
    assert (head(table), stored_files(table)) == (before, files)


def test_a_mode_in_the_call_wins_over_the_tables(spark: SparkSession) -> None:
    with numbered_copies(spark, kind=DV) as pair:
        result = pair.table.delete("id = 3", mode="copy-on-write").execute()
        assert (result.data_files_added, result.data_files_removed, result.delete_files_added) == (1, 1, 0)
        again = pair.table.delete("id = 4", mode="merge-on-read").execute()
        assert (again.data_files_added, again.delete_files_added) == (0, 1)
        last = pair.table.delete("id = 5", mode="copy-on-write").execute()
        assert (last.data_files_added, delete_files(pair.table)) == (1, [])
        pair.plain_spark("DELETE FROM {t} WHERE id IN (3, 4, 5)")
        assert_same_rows(spark.table(pair.ours), spark.table(pair.theirs))
        summary = pair.table.refresh().metadata.head("main")
        assert summary is not None
        assert summary.summary["total-records"] == "17"
        assert summary.summary["total-delete-files"] == "0"
