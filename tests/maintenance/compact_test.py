"""`t.compact()`: equality deletes are resolved, files rewritten by Iceberg, and dangling deletes dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from tests.support.oracle import assert_same_rows, rows
from tests.support.tables import VECTORS, create, head, keys, one_file, set_properties, stored_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id bigint, region string, v string"


def make(spark: SparkSession, name: str, version: int) -> rd.Table:
    """Two regions in three appends, with deletes by key and by position."""
    table = create(spark, name, SCHEMA, "region", version=version, properties=VECTORS)
    for start in (0, 10, 20):
        some = [(i, region, f"v{i}") for i in range(start, start + 10) for region in ("EU", "US")]
        one_file(spark, some, SCHEMA).writeTo(name).append()
        both = spark.createDataFrame([(start + 1, "EU"), (start + 2, "US")], "id bigint, region string")
        table.delete_keys(both, "id", scope="partition").execute()
    table.delete("id = 5").execute()
    return table


@pytest.mark.parametrize("version", [2, 3])
def test_a_compacted_table_has_the_same_rows_in_fewer_files_and_no_deletes(
    spark: SparkSession, table_name: str, version: int
) -> None:
    table = make(spark, table_name, version)
    live, before = rows(table.read()), head(table)
    plan = str(table.compact().plan())
    assert "rewrite_data_files" in plan
    assert "equality deletes" in plan
    assert head(table) == before
    result = table.compact(options={"rewrite-all": "true", "remove-dangling-deletes": "true"}).execute()
    assert (result.equality_deletes, result.positions) == (6, 6)
    assert (result.data_files_rewritten, result.data_files_added, result.verified) == (6, 2, True)
    assert_same_rows(spark.table(table_name), live)
    assert table.delete_files().count() == 0
    assert set(table.metadata.branches) == {"main"}
    again = table.compact().execute()
    assert (again.snapshot_id, again.data_files_rewritten) == (None, 0)


def test_a_predicate_limits_what_is_resolved_and_rewritten(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name, 3)
    live = rows(table.read())
    result = table.compact(data_files="region = 'EU'", options={"rewrite-all": "true"}, verify=False).execute()
    assert (result.equality_deletes, result.data_files_rewritten, result.verified) == (3, 3, False)
    assert_same_rows(table.read(), live)
    # a delete of the whole table has to go first, whatever the predicate
    table.delete_keys(keys(spark, 9), "id", scope="global").execute()
    result = table.compact(data_files="region = 'US'", options={"rewrite-all": "true"}).execute()
    assert result.equality_deletes == 4
    assert_same_rows(spark.table(table_name), [row for row in live if row[0] != 9])


def test_sort_and_zorder_are_icebergs(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name, 3)
    live = rows(table.read())
    options = {"rewrite-all": "true"}
    assert table.compact("sort", sort_order="id DESC", options=options).execute().data_files_rewritten == 6
    first = spark.table(table_name).where("region = 'EU'").select("id", "_pos").orderBy("_pos").first()
    assert first is not None
    assert first.id == 29
    assert table.compact("zorder", sort_order="id, v", options=options).execute().data_files_rewritten == 2
    assert_same_rows(spark.table(table_name), live)


def test_a_branch_is_compacted_apart(spark: SparkSession, table_name: str) -> None:
    main = make(spark, table_name, 3)
    before, live = head(main), rows(main.read())
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH audit")
    audit = rd.table(spark, table_name, branch="audit")
    result = audit.compact(options={"rewrite-all": "true"}).execute()
    assert result.data_files_rewritten == 6
    assert head(main) == before
    assert_same_rows(audit.read(), live)
    assert set(audit.metadata.branches) == {"main", "audit"}


@pytest.mark.parametrize("collects", ["true", "false"])
def test_a_difference_is_refused_and_leaves_nothing(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, collects: str
) -> None:
    """Also where Iceberg must not remove files, as on a table from Delta, and whatever the age of other branches."""
    table = make(spark, table_name, 3)
    table.resolve().execute()
    set_properties(spark, table_name, gc_enabled=collects)
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH old")
    table.refresh()._handle.java_table.manageSnapshots().setMaxRefAgeMs("old", 1).commit()
    snapshots = set(table.refresh().metadata.snapshots)
    state = head(table), stored_files(table)

    def differs(*_: object) -> None:
        raise rd.VerificationError("not the same")

    monkeypatch.setattr("rowdelta.maintenance.compact.compare_rows", differs)
    with pytest.raises(rd.VerificationError):
        table.compact(options={"rewrite-all": "true"}).execute()
    assert (head(table), stored_files(table)) == state
    assert set(table.metadata.branches) == {"main", "old"}
    assert set(table.metadata.snapshots) == snapshots
    assert_same_rows(spark.table(table_name), table.read())
    set_properties(spark, table_name, gc_enabled="true")


@pytest.mark.parametrize(
    ("scope", "encoding"),
    [
        ("partition", "full-row"),
        ("global", "full-row"),
        ("global", "deletion-vector"),
        ("partition", "deletion-vector"),
    ],
)
def test_deletes_on_partitions_whose_column_was_dropped_are_applied_by_the_rewrite(
    spark: SparkSession, table_name: str, scope: rd.Scope, encoding: rd.Encoding
) -> None:
    columns = "id bigint, region string"
    table = create(spark, table_name, columns, "region", properties=VECTORS)
    one_file(spark, [(i, region) for i in range(3) for region in ("EU", "US")], columns).writeTo(table_name).append()
    gone = keys(spark, 1) if scope == "global" else spark.createDataFrame([(1, "EU"), (1, "US")], columns)
    table.delete_keys(gone, "id", encoding=encoding, scope=scope).execute()
    spark.sql(f"ALTER TABLE {table_name} DROP PARTITION FIELD region")
    spark.sql(f"ALTER TABLE {table_name} DROP COLUMN region")
    table = rd.table(spark, table_name)
    state = head(table), stored_files(table)
    with pytest.raises(rd.TableError, match=r"(?s)column was dropped.*t\.compact"):
        table.resolve().execute()
    if scope == "partition":
        with pytest.raises(rd.TableError, match=r"(?s)have deletes.*rewrite-all"):
            table.compact(options={"rewrite-all": "true"}, data_files="id = 2").execute()
    compact = table.compact(options={"rewrite-all": "true"})
    assert ("applied by the rewrite" in str(compact.plan())) == (scope == "partition")  # or it is seen only later
    if (scope, encoding) == ("partition", "deletion-vector"):
        with pytest.raises(rd.TableError, match=r"(?s)can neither read it nor replace it.*t\.read\(\)"):
            compact.execute()
        assert (head(table), stored_files(table)) == state
    else:
        assert compact.execute().verified
        assert rows(spark.table(table_name)) == [(0,), (0,), (2,), (2,)]
        table.compact().execute()  # deletes that no writer can remove do not block it
        table.delete_keys(keys(spark, 999), "id").execute()  # in no file
        dropped = table.remove_dangling()
        assert ("remaining" in dropped.plan().to_dict()) == (scope == "partition")
        assert (dropped.execute().delete_files_removed, dropped.execute().remaining > 0) == (1, scope == "partition")
        table.delete("id = 2").execute()  # the new files can have deletes
        table.delete_keys(keys(spark, 0), "id").execute()
        assert table.resolve().execute().equality_deletes == 1
        assert rows(spark.table(table_name)) == []


def test_wrong_options_are_refused(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, SCHEMA)
    for arguments, message in (
        ({"strategy": "heap"}, "unknown strategy 'heap'"),
        ({"strategy": "zorder"}, "zorder needs columns"),
        ({"sort_order": "id"}, "binpack takes no sort_order"),
    ):
        with pytest.raises(rd.InputError, match=message):
            table.compact(**arguments)  # type: ignore[arg-type]
    assert table.compact().execute().snapshot_id is None
    assert "the table is empty" in str(table.compact().plan())
    one_file(spark, [(1, "EU", "v")], SCHEMA).writeTo(table_name).append()
    before = head(table)
    with pytest.raises(rd.RowDeltaError, match="no-such-option"):
        table.compact(options={"no-such-option": "1"}).execute()
    assert head(table) == before
    assert set(table.refresh().metadata.branches) == {"main"}
