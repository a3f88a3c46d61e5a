"""What the suite does on every component: each verb, and how the rows of the model change."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
import uuid
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import rowdelta as rd
from tests.lake.table_model import region_of
from tests.support.oracle import assert_same_rows
from tests.support.tables import head, keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lake.table_model import TableModel

Verb: TypeAlias = "Callable[[TableModel], None]"

# In the order in which they run. The first word of a name is that of the public method or function.
VERBS: Final[dict[str, Verb]] = {}
DAY: Final = 86_400


def verb(name: str) -> Callable[[Verb], Verb]:
    """Adds a function to the verbs."""

    def add(function: Verb) -> Verb:
        VERBS[name] = function
        return function

    return add


@verb("read")
def read_rows(model: TableModel) -> None:
    expected = [(key, row["v"]) for key, row in model.rows.items() if row["v"] > 20]
    assert_same_rows(model.table.read(where="v > 20", columns=["id", "v"]), expected)
    assert_same_rows(model.table.read(where="region = 'EU'"), [row for row in model.list_rows() if row[1] == "EU"])


@verb("delete")
def delete_rows(model: TableModel) -> None:
    result = model.table.delete("v % 10 = 3").execute()
    gone = [key for key, row in model.rows.items() if row["v"] % 10 == 3]
    assert (result.rows_deleted, result.data_files_added) == (len(gone), 0)
    model.remove(gone)


@verb("delete, copy-on-write")
def delete_by_copying(model: TableModel) -> None:
    assert model.table.delete("id IN (4, 5)", mode="copy-on-write").execute().rows_deleted == 2
    model.remove((4, 5))


@verb("delete of whole files")
def delete_files_of_a_partition(model: TableModel) -> None:
    model.frame([(900, "gone", 1), (901, "gone", 2)]).writeTo(model.name).append()
    result = model.table.delete("region = 'gone'").execute()
    assert (result.delete_files_added, result.data_files_added) == (0, 0)
    assert result.data_files_removed > 0


@verb("update")
def update_rows(model: TableModel) -> None:
    changed = [key for key in model.rows if key < 3]
    result = model.table.update().set("v", "v + 1000").where("id < 3").execute()
    assert result.rows_updated == len(changed)
    for key in changed:
        model.rows[key]["v"] += 1000


@verb("update, copy-on-write")
def update_by_copying(model: TableModel) -> None:
    # It moves the row into another partition.
    assert model.table.update(mode="copy-on-write").set("region", "'US'").where("id = 6").execute().rows_updated == 1
    model.set_values([6], region="US")


@verb("merge")
def merge_rows(model: TableModel) -> None:
    _merge(model, 7, 8, 100, "merge-on-read")


@verb("merge, copy-on-write")
def merge_by_copying(model: TableModel) -> None:
    _merge(model, 9, 10, 101, "copy-on-write")


def _merge(model: TableModel, deleted: int, updated: int, inserted: int, mode: rd.Mode) -> None:
    changes = [(deleted, "D", 0), (updated, "U", 77), (inserted, "U", 78)]
    source = model.frame(
        [(key, region_of(key), v, op) for key, op, v in changes], "id bigint, region string, v int, op string"
    )
    result = (
        model.table.merge(source, on="t.id = s.id", mode=mode)
        .when_matched_delete("s.op = 'D'")
        .when_matched_update({"v": "s.v"})
        .when_not_matched_insert({"id": "s.id", "region": "s.region", "v": "s.v"})
        .when_not_matched_by_source_update({"v": "-1"}, "t.id = 11")
        .execute()
    )
    assert (result.rows_deleted, result.rows_updated, result.rows_inserted) == (1, 2, 1)
    model.remove([deleted])
    model.set_values([updated], v=77)
    model.set_values([inserted], v=78)
    model.set_values([11], v=-1)


@verb("upsert")
def upsert_rows(model: TableModel) -> None:
    changes = [(12, 1, 1, "U"), (12, 2, 2, "U"), (14, 0, 1, "D"), (200, 5, 1, "U")]
    frame = model.frame(
        [(key, region_of(key), v, seq, op) for key, v, seq, op in changes],
        "id bigint, region string, v int, seq int, op string",
    )
    result = model.table.upsert(frame, key="id", order_by="seq", delete_when="op = 'D'").execute()
    assert (result.keys, result.keys_deleted, result.rows_written) == (3, 1, 2)
    model.set_values([12], v=2)
    model.set_values([200], v=5)
    model.remove([14])


@verb("upsert, resolve")
def upsert_by_position(model: TableModel) -> None:
    changes = [(19, 7, 1, "U"), (19, 8, 2, "U"), (23, 0, 1, "D"), (201, 9, 1, "U")]
    frame = model.frame(
        [(key, region_of(key), v, seq, op) for key, v, seq, op in changes],
        "id bigint, region string, v int, seq int, op string",
    )
    known = set(model.rows)
    result = model.table.upsert(frame, key="id", order_by="seq", delete_when="op = 'D'", resolve=True).execute()
    assert (result.rows_updated, result.rows_inserted) == (len({19, 201} & known), len({19, 201} - known))
    assert result.rows_deleted == len({23} & known)
    model.set_values([19], v=8)
    model.set_values([201], v=9)
    model.remove([23])


@verb("upsert in partitions")
def upsert_in_partitions(model: TableModel) -> None:
    model.table.upsert(model.frame([(15, region_of(15), 3)]), key="id", scope="partition").execute()
    model.set_values([15], v=3)


@verb("upsert of columns")
def upsert_columns(model: TableModel) -> None:
    frame = model.frame([(16, 4)], "id bigint, v int")
    assert model.table.upsert(frame, key="id", columns=["v"]).execute().rows_updated == 1
    model.set_values([16], v=4)


@verb("upsert of a new column")
def upsert_new_column(model: TableModel) -> None:
    column = f"note{len(model.columns)}"
    frame = model.frame([(17, region_of(17), 5, "new")], f"id bigint, region string, v int, {column} string")
    model.table.upsert(frame, key="id", merge_schema=True).execute()
    model.table.refresh()
    model.columns.append(column)
    model.set_values([17], v=5, **{column: "new"})


@verb("delete_keys")
def delete_by_key(model: TableModel) -> None:
    result = model.table.delete_keys(keys(model.spark, 18, 12, 999), "id").execute()
    kind = "equality-delete-vector" if model.version > 2 else "full-row"
    assert (result.keys, set(result.encodings)) == (3, {kind})
    model.remove([18, 12, 999])


@verb("delete_keys, resolve")
def delete_keys_by_position(model: TableModel) -> None:
    known = set(model.rows)
    result = model.table.delete_keys(keys(model.spark, 201, 1999), "id", resolve=True).execute()
    assert (result.keys, result.rows_deleted) == (2, len({201, 1999} & known))
    model.remove([201])


@verb("delete_keys, full-row")
def delete_by_key_in_files(model: TableModel) -> None:
    model.table.delete_keys(keys(model.spark, 20), "id", encoding="full-row").execute()
    model.remove([20])


@verb("delete_keys of two columns")
def delete_by_two_columns(model: TableModel) -> None:
    frame = model.frame([(21, region_of(21)), (22, "elsewhere")], "id bigint, region string")
    result = model.table.delete_keys(frame, ["id", "region"], scope="global").execute()
    assert set(result.encodings) == ({"hash-map"} if model.version > 2 else {"full-row"})
    model.remove([21])


@verb("view")
def view_rows(model: TableModel) -> None:
    name = f"view_{uuid.uuid4().hex[:8]}"
    model.table.view(name)
    model.table.delete_keys(keys(model.spark, 24), "id").execute()
    model.remove([24])
    assert_same_rows(model.spark.sql(f"SELECT * FROM {name}"), model.list_rows())
    model.spark.catalog.dropTempView(name)


@verb("delete_files")
def list_delete_files(model: TableModel) -> None:
    contents = {row.content for row in model.table.delete_files().collect()}
    assert contents == {"position", "equality"}


@verb("debt")
def measure_debt(model: TableModel) -> None:
    assert model.table.debt().keys > 0


@verb("advise")
def advise(model: TableModel) -> None:
    assert {one.topic for one in model.table.advise().recommendations} >= {"encoding", "mode"}


@verb("refresh")
def refresh(model: TableModel) -> None:
    other = rd.table(model.spark, model.name)
    other.delete("id = 25").execute()
    model.remove([25])
    assert model.table.refresh().metadata.current_snapshot_id == other.metadata.current_snapshot_id


@verb("plan")
def plan_verbs(model: TableModel) -> None:
    table, frame, before = model.table, model.frame([(26, "x", 1)]), head(model.table)
    operations: list[rd.Operation[Any]] = [
        table.delete("id = 26"),
        table.update().set("v", "0").where("id = 26"),
        table.merge(frame, "id").when_matched_delete(),
        table.upsert(frame, "id"),
        table.delete_keys(frame, "id"),
        table.rewrite_deletes("full-row"),
        table.resolve(),
        table.compact(),
        table.remove_dangling(),
        table.expire(older_than=dt.timedelta(0), retain_last=1),
    ]
    for operation in operations:
        assert model.name in str(operation.plan())
    assert head(table) == before


@verb("sql")
def run_statements(model: TableModel) -> None:
    spark, name = model.spark, model.name
    rd.sql(spark, f"UPDATE {name} SET v = 40 WHERE id = 26")
    rd.sql(spark, f"DELETE FROM {name} WHERE id = :id", {"id": 27})
    rd.sql(
        spark,
        f"MERGE INTO {name} t USING (SELECT 28L id, 41 v UNION ALL SELECT 300L, 42) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v "
        f"WHEN NOT MATCHED THEN INSERT (id, region, v) VALUES (s.id, '{region_of(300)}', s.v)",
    )
    model.set_values([26], v=40)
    model.remove([27])
    model.set_values([28], v=41)
    model.set_values([300], v=42)
    assert_same_rows(rd.sql(spark, f"SELECT * FROM {name}"), model.list_rows())


@verb("rewrite_deletes")
def rewrite_deletes(model: TableModel) -> None:
    model.table.rewrite_deletes("full-row", min_input_files=1).execute()
    encodings = {row.encoding for row in model.table.delete_files().where("content = 'equality'").collect()}
    assert encodings == {"full-row"}
    model.check_with_iceberg()


@verb("remove_dangling")
def remove_dangling(model: TableModel) -> None:
    model.table.delete_keys(keys(model.spark, 1_000_000), "id").execute()
    assert model.table.remove_dangling().execute().delete_files_removed > 0


@verb("resolve")
def resolve(model: TableModel) -> None:
    result = model.table.resolve().execute()
    assert result.equality_deletes > 0
    assert result.verified
    assert model.table.delete_files().where("content = 'equality'").count() == 0
    model.check_with_iceberg()


@verb("resolve of a branch")
def resolve_branch(model: TableModel) -> None:
    model.spark.sql(f"ALTER TABLE {model.name} CREATE BRANCH ingest")
    branch = rd.table(model.spark, model.name, branch="ingest")
    branch.upsert(model.frame([(29, region_of(29), 50)]), key="id").execute()
    branch.delete_keys(keys(model.spark, 0), "id").execute()
    model.check_with_iceberg()
    assert branch.resolve(publish="main").execute().published == "main"
    model.spark.sql(f"ALTER TABLE {model.name} DROP BRANCH ingest")
    model.table.refresh()
    model.set_values([29], v=50)
    model.remove([0])
    model.check_with_iceberg()


@verb("compact")
def compact(model: TableModel) -> None:
    model.table.delete_keys(keys(model.spark, 300), "id").execute()
    model.remove([300])
    result = model.table.compact(options={"rewrite-all": "true"}).execute()
    assert result.data_files_rewritten > 0
    assert model.table.delete_files().count() == 0
    model.check_with_iceberg()


@verb("compact, sorted")
def compact_sorted(model: TableModel) -> None:
    model.table.compact("sort", sort_order="v, id", options={"rewrite-all": "true"}).execute()
    model.check_with_iceberg()


@verb("cdc.stream")
def follow_stream(model: TableModel) -> None:
    folder = model.lake.components.folder / f"stream_{uuid.uuid4().hex}"
    batches = [[(400, 1, "c"), (401, 2, "c")], [(400, 3, "u"), (401, 0, "d")]]
    for number, batch in enumerate(batches):
        _write_changes(folder / "inbox" / f"{number}.json", number, batch)
    source = (
        model.spark.readStream.schema("id bigint, region string, v int, op string, seq int")
        .option("maxFilesPerTrigger", 1)
        .json(str(folder / "inbox"))
    )
    stream = rd.cdc.stream(source, model.table, "id", "seq", format=rd.cdc.OpColumn(op="op"), resolve_every=2)
    running = stream.start(str(folder / "checkpoint"), available_now=True)
    assert running.await_termination()
    model.table.refresh()
    model.set_values([400], v=3)


def _write_changes(path: Path, number: int, changes: list[tuple[int, int, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"id": key, "region": region_of(key), "v": v, "op": op, "seq": number}) for key, v, op in changes
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # Spark orders files by their times


@verb("read of older states")
def read_older_states(model: TableModel) -> None:
    known = [snapshot for snapshot in model.snapshots if snapshot in model.table.metadata.snapshots]
    for snapshot in known[:: max(1, len(known) // 3)]:
        expected = model.snapshots[snapshot]
        columns = model.columns[:3]
        rows = [(key, row["region"], row["v"]) for key, row in expected.items()]
        assert_same_rows(model.table.read(columns=columns, snapshot_id=snapshot), rows)
    model.spark.sql(f"ALTER TABLE {model.name} CREATE TAG audit")
    model.table.refresh()
    model.table.delete("id = 28").execute()
    assert_same_rows(model.table.read(tag="audit"), model.list_rows())
    model.remove([28])
    model.spark.sql(f"ALTER TABLE {model.name} DROP TAG audit")
    model.table.refresh()


@verb("expire")
def expire(model: TableModel) -> None:
    result = model.table.expire(older_than=dt.timedelta(0), retain_last=1).execute()
    assert result.snapshots_expired > 0
    assert len(model.table.refresh().metadata.snapshots) == 1


@verb("remove_orphans")
def remove_orphans(model: TableModel) -> None:
    location = model.table.metadata.location
    folder = model.lake.components.find_folder(location)
    beside = folder.with_name(f"{folder.name}2")  # of a table whose name has the same beginning
    for place in (location, f"{location}2"):
        model.table._handle.io.write(f"{place}/data/stray.parquet", b"stray")
    for path in (*folder.rglob("*"), *beside.rglob("*")):
        if path.is_file():
            os.utime(path, (time.time() - 4 * DAY, time.time() - 4 * DAY))
    assert [path.rpartition("/")[2] for path in model.table.remove_orphans().plan().orphan_files] == ["stray.parquet"]
    assert model.table.remove_orphans().execute().files_removed == 1
    assert not (folder / "data" / "stray.parquet").exists()
    assert (beside / "data" / "stray.parquet").exists()


@verb("from_delta")
def convert_delta(model: TableModel) -> None:
    spark, name = model.spark, f"{model.name}_delta"
    path = f"{model.lake.components.available[model.component].delta}/{name}"
    table = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {table} (id bigint, v int) USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    )
    spark.range(0, 10, 1, 1).selectExpr("id", "cast(id as int) v").write.format("delta").mode("append").save(path)
    spark.sql(f"DELETE FROM {table} WHERE id = 3")
    converted = rd.from_delta(spark, path, name, format_version=model.version).execute()
    assert (converted.mode, converted.deletion_vectors) == ("full", 1)
    spark.sql(f"DELETE FROM {table} WHERE id = 4")
    assert rd.from_delta(spark, path, name, verify=True).execute().mode == "incremental"
    expected = [(key, key) for key in range(10) if key not in {3, 4}]
    assert_same_rows(rd.table(spark, name).read(), expected)
    assert_same_rows(spark.table(name), expected)
    spark.sql(f"DROP TABLE {name}")
