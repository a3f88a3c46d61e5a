from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.catalog import Catalog

import rowdelta as rd
from rowdelta.iceberg import delete_from_storage, select_own_files
from rowdelta.iceberg import expire as expiry
from rowdelta.iceberg.expire import ExpiredFiles
from tests.support.oracle import assert_same_ids
from tests.support.tables import append_ids, create, keys, remove_equality_deletes, set_properties, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from rowdelta.maintenance.progress import Progress

VECTORS = {"write.delete.equality-vector.enabled": "true"}


def puffins(table: rd.Table) -> set[str]:
    return {path for path in stored_files(table) if path.endswith(".puffin")}


def live_deletes(table: rd.Table) -> set[str]:
    folder = table.metadata.location
    return {row.path.removeprefix(f"{folder}/") for row in table.delete_files().collect()}


def steps(operation: Any) -> dict[str, str]:
    found: dict[str, str] = operation.plan().to_dict()
    return found


def test_expiry_removes_old_vectors_and_keeps_live_ones(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=VECTORS)
    append_ids(spark, table_name, range(100))
    table.delete_keys(keys(spark, 1, 2), key="id").execute()
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG kept")
    table.delete_keys(keys(spark, 3, 4), key="id").execute()
    assert remove_equality_deletes(table) == 2
    table.refresh()
    table.delete_keys(keys(spark, 5, 6), key="id").execute()
    first, second, third = sorted(puffins(table), key=lambda p: (Path(table.metadata.location) / p).stat().st_mtime_ns)
    before = stored_files(table)
    assert steps(table.expire(older_than="7d", retain_last=1))["snapshots"].startswith("0 ")
    assert steps(table.expire(older_than=" 36 h ", retain_last=1))["snapshots"].startswith("0 ")
    operation = table.expire(older_than="0m", retain_last=1)
    plan = steps(operation)
    assert plan["snapshots"] == "3 of 5 expire"
    assert plan["delete files"] == "1 are removed"
    assert stored_files(table) == before
    result = operation.execute()
    assert (result.snapshots_expired, result.delete_files_removed, result.data_files_removed) == (3, 1, 0)
    assert plan["metadata files"] == f"{result.manifests_removed + result.manifest_lists_removed} are removed"
    assert puffins(table) == {first, third}
    assert second not in stored_files(table)
    assert_same_ids(table.read(), sorted(set(range(100)) - {5, 6}))
    assert_same_ids(table.read(tag="kept"), set(range(100)) - {1, 2})
    assert len(table.refresh().metadata.snapshots) == 2
    again = table.expire(older_than=dt.timedelta(0)).execute()
    assert (again.snapshots_expired, again.manifests_removed) == (0, 0)


def test_a_puffin_file_with_a_vector_that_is_still_live_stays(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, range(50))
    append_ids(spark, table_name, range(50, 100))
    table.delete("id in (1, 51)").execute()
    (shared,) = puffins(table)
    table.delete("id = 2").execute()  # replaces one of its two vectors
    append_ids(spark, table_name, [100])  # the snapshot that replaced it expires, too
    assert shared in live_deletes(table)
    result = table.expire(older_than=dt.datetime.now(dt.timezone.utc)).execute()
    assert (result.snapshots_expired, result.delete_files_removed) == (4, 0)
    assert live_deletes(table) <= puffins(table)
    assert_same_ids(spark.table(table_name), set(range(101)) - {1, 2, 51})


def test_branches_and_tags_keep_what_they_need_and_compacted_files_go(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", version=2)
    append_ids(spark, table_name, range(10))
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH audit")
    append_ids(spark, table_name, range(10, 20))
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG before_delete")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 11")
    append_ids(spark, table_name, range(20, 30))
    spark.sql(f"CALL lake.system.rewrite_data_files(table => '{table_name}', options => map('rewrite-all', 'true'))")
    plan = steps(table.expire(dt.timedelta(0)))
    result = table.expire(dt.timedelta(0)).execute()
    # The files of the branch and of the tag stay, the one that only main had goes; its newest snapshot has the delete.
    assert (plan["data files"], result.data_files_removed) == ("1 are removed", 1)
    assert plan["branches and tags"] == "all stay"
    assert_same_ids(table.read(), [*range(11), *range(12, 30)])
    assert_same_ids(rd.table(spark, table_name, branch="audit").read(), list(range(10)))
    assert_same_ids(table.read(tag="before_delete"), range(20))


def test_retention_is_respected_and_bad_values_are_refused(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    for first in range(4):
        append_ids(spark, table_name, [first])
    assert table.expire().execute().snapshots_expired == 0  # none is 5 days old
    assert table.expire("2020-01-01T00:00:00Z").execute().snapshots_expired == 0
    assert table.expire(dt.timedelta(0), retain_last=3).execute().snapshots_expired == 1
    with pytest.raises(rd.InputError, match="older_than is 'last week'"):
        table.expire("last week")
    with pytest.raises(rd.InputError, match="retain_last is 0"):
        table.expire(retain_last=0)
    with pytest.raises(rd.InputError, match="negative"):
        table.expire(dt.timedelta(days=-1))
    set_properties(spark, table_name, gc_enabled="false")
    before = stored_files(table)
    for run in (table.expire(dt.timedelta(0)).plan, table.expire(dt.timedelta(0)).execute):
        with pytest.raises(rd.TableError, match=r"gc\.enabled is 'false'"):
            run()
    assert stored_files(table) == before
    assert len(table.refresh().metadata.snapshots) == 3
    set_properties(spark, table_name, gc_enabled="true")  # or it could not be dropped


@pytest.mark.strays("data files are Delta's, and stay")
def test_a_table_from_delta_expires_its_own_deletes_and_never_a_data_file(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, range(50))
    append_ids(spark, table_name, range(50, 100))
    set_properties(spark, table_name, gc_enabled="false", rowdelta_delta_source="/somewhere/delta")
    table.refresh()
    table.delete("id in (1, 51)").execute()
    table.delete("id in (2, 52)").execute()  # replaces both vectors
    table.delete("id >= 50").execute()  # drops a whole data file from the table
    before = stored_files(table)
    operation = table.expire(dt.timedelta(0))
    plan = steps(operation)
    assert stored_files(table) == before
    result = operation.execute()
    assert (plan["snapshots"], result.snapshots_expired) == ("4 of 5 expire", 4)
    assert (plan["delete files"], result.delete_files_removed) == ("1 are removed", 1)
    assert plan["metadata files"] == f"{result.manifests_removed + result.manifest_lists_removed} are removed"
    assert result.data_files_removed == 0
    after = stored_files(table)
    data = {path for path in before if path.endswith(".parquet")}
    assert data <= after
    assert len(data) == 2
    assert len(before - after) == 1 + result.manifests_removed + result.manifest_lists_removed
    assert live_deletes(table) == puffins(table)
    assert table.refresh().metadata.properties["gc.enabled"] == "false"
    assert_same_ids(spark.table(table_name), [0, *range(3, 50)])
    set_properties(spark, table_name, gc_enabled="true")


def test_only_deletes_and_metadata_in_own_folders_are_own_files() -> None:
    files = ExpiredFiles(
        {"/t/data/a": 1}, {"/t/d": 1, "file:/dv/e": 2, "/t2/f": 3}, ("/t/metadata/m", "/x/m"), ("/t/l",)
    )
    found = select_own_files(files, ["/t", "/dv/"])
    assert (found.data, found.deletes, found.manifests) == ({}, {"/t/d": 1, "file:/dv/e": 2}, ("/t/metadata/m",))
    assert found.manifest_lists == ("/t/l",)


def test_an_expiry_during_other_commits_keeps_their_files(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the expiry has read the table, another writer deletes by key; its snapshot still needs an older vector."""
    table = create(spark, table_name, "id bigint, v string", properties={"gc.enabled": "false"})
    set_properties(spark, table_name, rowdelta_delta_source="x")
    append_ids(spark, table_name, range(10))
    table.refresh().delete("id = 5").execute()
    real: Callable[..., Any] = vars(expiry)["_expire_in_transaction"]

    def late(*arguments: Any) -> Any:
        transaction = real(*arguments)
        rd.table(spark, table_name).delete_keys(keys(spark, 1), key="id").execute()
        return transaction

    monkeypatch.setattr(expiry, "_expire_in_transaction", late)
    assert table.expire(dt.timedelta(0)).execute().snapshots_expired == 2
    assert live_deletes(table) <= stored_files(table)
    assert_same_ids(table.read(), [0, 2, 3, 4, 6, 7, 8, 9])
    set_properties(spark, table_name, gc_enabled="true")


def test_removal_is_reported_part_by_part_and_continues_if_the_listener_fails(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    for number in range(4):
        append_ids(spark, table_name, [number])
        table.refresh().delete(f"id = {number}").execute()
    monkeypatch.setattr("rowdelta.maintenance.file_removal._PART", 2)
    seen: list[Progress] = []
    result = table.expire(older_than=dt.timedelta(0), retain_last=4, progress=seen.append).execute()
    kinds = ("data_files", "delete_files", "manifests", "manifest_lists")
    removed = [getattr(result, f"{kind}_removed") for kind in kinds]
    assert removed[0] > 0
    assert [now.files_done for now in seen][-1] == seen[0].files == sum(removed)
    assert seen[0].action == f"expire {table_name}"
    assert [now.groups_done for now in seen] == list(range(1, 1 + sum(-(-count // 2) for count in removed)))

    def fails(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.expire(older_than=dt.timedelta(0), retain_last=1, progress=fails).execute()
    live = {f"metadata/{Path(row.path).name}" for row in spark.table(f"{table_name}.manifests").collect()}
    lists = {f"metadata/{Path(row.manifest_list).name}" for row in spark.table(f"{table_name}.snapshots").collect()}
    assert {path for path in stored_files(table) if path.endswith((".avro", ".parquet"))} == live | lists


def test_a_query_that_cannot_be_cached_again_does_not_stop_the_removal(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, [1])
    table.refresh().delete().execute()

    def fails(*_: object) -> None:
        raise AnalysisException("the snapshot is gone")

    monkeypatch.setattr(Catalog, "refreshTable", fails)
    cached = spark.table(table_name).cache()
    try:
        result = table.expire(dt.timedelta(0)).execute()
    finally:
        cached.unpersist()
    assert (result.snapshots_expired, result.data_files_removed) == (1, 1)
    assert "cannot be computed again" in caplog.text


@pytest.mark.parametrize("in_bulk", [True, False])  # Iceberg tries for 7 s
def test_files_that_the_storage_keeps_are_not_counted(
    spark: SparkSession,
    table_name: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    *,
    in_bulk: bool,
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    append_ids(spark, table_name, [1])
    monkeypatch.setattr("rowdelta.iceberg.file_removal._removes_in_bulk", lambda _: in_bulk)
    (row,) = spark.table(f"{table_name}.files").select("file_path").collect()
    stubborn = f"{table.metadata.location}/metadata"  # a folder with files in it
    assert delete_from_storage(table._handle, [row.file_path, stubborn]) == 1
    assert ("1 of 2 files cannot be removed" if in_bulk else "is no longer needed cannot be removed") in caplog.text
    assert not Path(row.file_path).exists()
    assert delete_from_storage(table._handle, []) == 0
