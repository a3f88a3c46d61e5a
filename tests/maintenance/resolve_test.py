"""`t.resolve()`: what it reads, writes, removes and leaves alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.change import POSITION
from rowdelta.change.written_deletes import WrittenDeletes
from rowdelta.iceberg import ContentFile
from rowdelta.maintenance.resolve_attempt import find_deleted_rows
from rowdelta.read import build_live_rows
from tests.support.oracle import assert_same_ids, assert_same_rows, rows
from tests.support.tables import EDV, VECTORS, append_ids, create, head, keys, one_file, plan_of, stored_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from rowdelta.maintenance import Resolve
    from rowdelta.maintenance.progress import Progress


def content(table: rd.Table) -> list[tuple[str, str, int]]:
    """The delete files as (content, encoding, records)."""
    found = table.delete_files().select("content", "encoding", "records").collect()
    return sorted((row.content, row.encoding, row.records) for row in found)


@pytest.mark.parametrize("version", [2, 3])
def test_every_encoding_becomes_positions_in_one_snapshot(spark: SparkSession, table_name: str, version: int) -> None:
    table = create(spark, table_name, "id bigint, s string, v string", version=version, properties=VECTORS)
    schema = "id bigint, s string, v string"
    one_file(spark, [(i, f"s{i}", "old") for i in range(20)], schema).writeTo(table_name).append()
    table.delete("id IN (0, 1)").execute()
    encodings: list[rd.Encoding] = ["full-row", "deletion-vector", "hash-map"] if version > 2 else ["full-row"] * 3
    table.delete_keys(keys(spark, 1, 2), "id", encoding=encodings[0]).execute()
    table.delete_keys(keys(spark, 2, 3, None), "id", encoding=encodings[1]).execute()
    one_file(spark, [(3, "s3", "new"), (None, "s", "new")], schema).writeTo(table_name).append()
    both = spark.createDataFrame([(4, "s4"), (5, "s6")], "id bigint, s string")
    table.delete_keys(both, ["id", "s"], encoding=encodings[2]).execute()
    table.delete_keys(spark.createDataFrame([("s7",)], "s string"), "s", encoding="full-row").execute()
    before, live = head(table), rows(table.read())
    plan = table.resolve().plan()
    assert head(table) == before
    assert "verify" in str(plan)
    result = table.resolve().execute()
    assert (result.positions, result.equality_deletes, result.dangling) == (4, 4, 0)
    assert result.verified
    assert result.rows_deleted == 0
    assert table.refresh().metadata.snapshots[result.snapshot_id or 0].parent_id == before
    assert_same_rows(spark.table(table_name), live)
    # On version 3 the vector of the file takes up what was deleted before; on version 2 there are two files.
    expected = [("position", "deletion-vector", 6)] if version > 2 else None
    assert content(table) == (expected or [("position", "position", 2), ("position", "position", 4)])
    again = table.resolve().execute()
    assert (again.snapshot_id, again.equality_deletes) == (None, 0)
    assert "nothing to do" in str(table.resolve().plan())


def test_only_files_that_hold_a_key_are_scanned_and_only_key_columns(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    for start in range(0, 1000, 100):
        append_ids(spark, table_name, range(start, start + 100))
    table.delete_keys(keys(spark, 5, 905), "id").execute()  # the bounds of the keys cover every file
    operation = table.resolve(verify=False)
    attempt = operation._plan_attempt()
    assert attempt is not None
    assert sorted(file.records for file in attempt.affected.files) == [100, 100]
    frame = find_deleted_rows(attempt, attempt.affected.files)
    assert "v#" not in plan_of(frame)
    assert [row[POSITION] for row in frame.collect()] == [5, 5]
    assert len({row[0] for row in work_files(spark, operation)}) == 2
    result = operation.execute()
    assert (result.files_scanned, result.files_pruned, result.positions) == (2, 8, 2)
    assert_same_ids(spark.table(table_name).select("id"), [i for i in range(1000) if i not in {5, 905}])


def work_files(spark: SparkSession, operation: Resolve) -> Sequence[tuple[str, ...]]:
    """The files that Iceberg plans for the scan of a resolve."""
    attempt = operation._plan_attempt()
    assert attempt is not None
    only = {file.path for file in attempt.affected.files}
    schema_id = attempt.handle.metadata.current_schema_id
    shadow = build_live_rows(attempt.handle, attempt.files, schema_id, ("_file",), only=only).rows
    return [tuple(row) for row in shadow.select("_file").distinct().collect()]


@pytest.mark.parametrize("version", [2, 3])
def test_dangling_deletes_are_dropped_without_a_scan(spark: SparkSession, table_name: str, version: int) -> None:
    table = create(spark, table_name, "id bigint, v string", version=version, properties=VECTORS)
    encoding: rd.Encoding = "deletion-vector" if version > 2 else "full-row"
    table.delete_keys(keys(spark, 1, 2), "id", encoding=encoding).execute()  # older than all data
    append_ids(spark, table_name, [*range(10), 100])
    table.delete_keys(keys(spark, 1000), "id", encoding="full-row").execute()  # outside of all bounds
    texts = spark.createDataFrame([("zz",)], "v string")
    table.delete_keys(texts, "v", encoding="full-row").execute()
    result = table.resolve().execute()
    assert (result.dangling, result.files_scanned, result.delete_files_added) == (3, 0, 0)
    assert content(table) == []
    assert_same_ids(spark.table(table_name).select("id"), [*range(10), 100])


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("version", [2, 3])
def test_files_without_a_live_row_are_removed(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, version: int, *, partial: bool
) -> None:
    monkeypatch.setattr("rowdelta.maintenance.file_groups._BYTES_PER_FILE", 1 << 20)
    schema = "id bigint, region string"
    table = create(spark, table_name, schema, "region", version=version, properties=VECTORS)
    for start, region in ((0, "EU"), (10, "US"), (20, "EU"), (30, "US")):
        one_file(spark, [(i, region) for i in range(start, start + 10)], schema).writeTo(table_name).append()
    table.delete("id IN (10, 11, 12)").execute()
    table.delete_keys(keys(spark, *range(10), *range(13, 20), 25), "id", scope="global").execute()
    before, left = head(table), [i for i in range(20, 40) if i != 25]
    result = table.resolve(memory="1m" if partial else "512m", partial_progress=partial).execute()
    assert (result.groups > 2, result.positions, result.verified) == (partial, 18, True)
    # Positions that were deleted before are read on version 3 alone, where they are merged with the new ones.
    assert result.data_files_removed == (2 if version > 2 else 1)
    assert spark.table(f"{table_name}.data_files").count() == 4 - result.data_files_removed
    if version > 2:
        assert content(table) == [("position", "deletion-vector", 1)]
    assert_same_ids(spark.table(table_name).select("id"), left)
    assert_same_rows(table.read(columns=["id"]), table.read(columns=["id"], snapshot_id=before))


def test_a_dead_file_that_iceberg_does_not_find_stops_the_resolve(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(5))
    table.delete_keys(keys(spark, *range(5)), "id").execute()
    state = (head(table), stored_files(table))
    elsewhere = ContentFile("/elsewhere.parquet", "PARQUET", record_count=1, file_size_in_bytes=1)
    monkeypatch.setattr("rowdelta.change.file_positions.FilePositions.data_file", elsewhere)
    with pytest.raises(rd.TableError, match="Iceberg did not remove"):
        table.resolve(verify=False).execute()
    assert (head(table), stored_files(table), rows(table.read())) == (*state, [])


@pytest.mark.parametrize(
    ("version", "file_format"),
    [
        (2, "parquet"),
        (3, "orc"),
        (2, "orc"),
        (3, "parquet"),
        (3, "avro"),
    ],
)
def test_a_table_without_a_live_row_has_no_files(
    spark: SparkSession, table_name: str, version: int, file_format: str
) -> None:
    properties = {**VECTORS, "write.format.default": file_format}
    table = create(spark, table_name, "id bigint, v string", version=version, properties=properties)
    append_ids(spark, table_name, range(5))
    append_ids(spark, table_name, range(5, 10))
    table.delete_keys(keys(spark, *range(10)), "id").execute()
    old = head(table)
    result = table.resolve().execute()
    assert (result.data_files_removed, result.delete_files_added, result.positions) == (2, 0, 10)
    made = table.refresh().metadata.snapshots[result.snapshot_id or 0]
    totals = {made.summary[f"total-{kind}"] for kind in ("data-files", "delete-files", "records", "files-size")}
    assert (made.operation, totals) == ("delete", {"0"})
    assert_same_ids(spark.table(table_name).select("id"), [])
    assert (rows(table.read(snapshot_id=old)), content(table)) == ([], [])
    append_ids(spark, table_name, [3])
    assert_same_ids(spark.table(table_name).select("id"), [3])
    assert table.resolve().execute().snapshot_id is None


def test_a_row_inserted_with_or_after_a_delete_stays(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(5), "old")
    changes = spark.createDataFrame([(1, "same commit", "U"), (2, "gone", "D")], "id bigint, v string, op string")
    table.upsert(changes, key="id", delete_when="op = 'D'").execute()
    append_ids(spark, table_name, [2], "later")
    table.resolve().execute()
    expected = [(0, "old"), (1, "same commit"), (2, "later"), (3, "old"), (4, "old")]
    assert_same_rows(spark.table(table_name), expected)


def test_a_predicate_limits_it_to_partitions(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, region string", "region", properties=EDV)
    schema = "id bigint, region string"
    one_file(spark, [(i, r) for i in range(6) for r in ("EU", "US")], schema).writeTo(table_name).append()
    both = spark.createDataFrame([(1, "EU"), (2, "US")], schema)
    table.delete_keys(both, "id", scope="partition").execute()
    live = rows(table.read())
    result = table.resolve("region = 'EU'").execute()
    assert (result.equality_deletes, result.positions, result.omitted) == (1, 1, ())
    assert [kind for kind, _, _ in content(table)] == ["equality", "position"]
    assert_same_rows(table.read(), live)
    before = head(table)
    with pytest.raises(rd.InputError, match="only in part"):
        table.resolve("id = 2").execute()
    with pytest.raises(rd.InputError, match="cannot be checked against partitions"):
        table.resolve("upper(region) = 'EU'").plan()
    table.delete_keys(keys(spark, 3), "id", scope="global").execute()
    result = table.resolve("region = 'US'").execute()
    assert result.equality_deletes == 1
    assert "apply to the whole table" in result.omitted[0]
    result = table.resolve("region = 'US'").execute()
    assert result.snapshot_id is None
    assert result.omitted
    assert before != table.resolve().execute().snapshot_id
    assert_same_rows(spark.table(table_name), [row for row in live if row[0] != 3])


def test_groups_are_committed_one_by_one_with_partial_progress(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    for start in (0, 100, 200):
        append_ids(spark, table_name, range(start, start + 100))
    table.delete_keys(keys(spark, 5, 105, 205), "id").execute()
    monkeypatch.setattr("rowdelta.maintenance.file_groups._BYTES_PER_FILE", 1 << 20)
    seen: list[Progress] = []
    operation = table.resolve(memory="1m", partial_progress=True, progress=seen.append)
    before = table.refresh().metadata.head("main")
    assert before is not None
    result = operation.execute()
    assert (result.groups, result.positions, result.equality_deletes, result.verified) == (3, 3, 1, True)
    assert [(now.groups_done, now.rows_done) for now in seen] == [(1, 100), (2, 200), (3, 300)]
    assert seen[0].seconds_left is not None
    after = table.refresh().metadata.head("main")
    assert after is not None
    assert after.sequence_number == before.sequence_number + 3
    assert_same_ids(spark.table(table_name).select("id"), [i for i in range(300) if i not in {5, 105, 205}])


@pytest.mark.parametrize("partial", [False, True])
def test_an_interrupted_run_leaves_a_valid_table_and_no_stray_file(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, *, partial: bool
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    for start in (0, 100):
        append_ids(spark, table_name, range(start, start + 100))
    table.delete_keys(keys(spark, 5, 105), "id").execute()
    monkeypatch.setattr("rowdelta.maintenance.file_groups._BYTES_PER_FILE", 1 << 20)
    live, before, files = rows(table.read()), head(table), stored_files(table)

    def interrupt(now: Progress) -> None:
        if now.groups_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.resolve(memory="1m", partial_progress=partial, progress=interrupt).execute()
    assert_same_rows(table.read(), live)
    if not partial:
        assert (head(table), stored_files(table)) == (before, files)
    # between writing the vectors and committing them
    state = head(table), stored_files(table)
    with monkeypatch.context() as patched:
        patched.setattr("rowdelta.maintenance.resolve_attempt.build_data_file_check", lambda *_: _interrupted)
        with pytest.raises(KeyboardInterrupt):
            table.resolve().execute()
    assert (head(table), stored_files(table)) == state
    assert table.resolve().execute().positions == (1 if partial else 2)
    assert_same_rows(spark.table(table_name), live)


def _interrupted(_: object) -> None:
    raise KeyboardInterrupt


def test_verification_refuses_a_change_of_rows_with_examples(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "id bigint, m map<string, array<map<string, int>>>, s struct<a: map<int, int>, b: string>"
    table = create(spark, table_name, columns, properties=EDV)
    made = ("map('k', array(map('x', 1))) m", "named_struct('a', map(2, 3), 'b', 'text') s")
    spark.range(0, 10, 1, 1).selectExpr("id", *made).writeTo(table_name).append()
    table.delete_keys(keys(spark, 3, 4), "id").execute()
    before, files = head(table), stored_files(table)
    with monkeypatch.context() as patched:
        patched.setattr(
            "rowdelta.maintenance.resolve_attempt.write_positions", lambda *_: WrittenDeletes([], [], [], {})
        )
        with pytest.raises(rd.VerificationError, match="10 rows instead of 8") as error:
            table.resolve().execute()
    assert '+ {"id":3' in str(error.value)
    assert (head(table), stored_files(table)) == (before, files)
    assert table.resolve(verify=True).execute().verified
    assert_same_ids(spark.table(table_name).select("id"), [0, 1, 2, 5, 6, 7, 8, 9])


def test_a_branch_is_resolved_and_published(spark: SparkSession, table_name: str) -> None:
    main = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(10))
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH ingest")
    ingest = rd.table(spark, table_name, branch="ingest")
    with pytest.raises(rd.InputError, match="nothing to publish"):
        main.resolve(publish="main")
    ingest.delete_keys(keys(spark, 3), "id").execute()
    with pytest.raises(rd.InputError, match="no branch 'mian'"):
        ingest.resolve(publish="mian").execute()
    with pytest.raises(rd.InputError, match="not one that every engine reads"):
        ingest.resolve("id = 3", publish="main").execute()
    main.view("published")
    result = ingest.resolve(publish="main").execute()
    assert result.published == "main"
    assert head(main) == head(ingest) == result.snapshot_id
    assert spark.table("published").count() == 9  # the view follows
    assert_same_ids(spark.table(table_name).select("id"), [0, 1, 2, 4, 5, 6, 7, 8, 9])
    assert ingest.resolve(publish="main").execute().published is None  # it is there already
    append_ids(spark, table_name, [20])  # main moves on by itself
    ingest.delete_keys(keys(spark, 4), "id").execute()
    state = head(main), head(ingest)
    with pytest.raises(rd.InputError, match="has commits that 'ingest' does not have"):
        ingest.resolve(publish="main").execute()
    assert (head(main), head(ingest)) == state


@pytest.mark.parametrize(("memory", "message"), [("much", "is not a size"), ("1k", "too small"), (0, "too small")])
def test_an_invalid_memory_budget_is_refused(
    spark: SparkSession, table_name: str, memory: str | int, message: str
) -> None:
    table = create(spark, table_name, "id bigint")
    with pytest.raises(rd.InputError, match=message):
        table.resolve(memory=memory)
    assert table.resolve().execute().snapshot_id is None  # a table without snapshots
