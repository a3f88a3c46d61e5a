"""`t.rewrite_deletes()`: other encodings, fewer files, the same rows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import rowdelta as rd
from rowdelta.change import commit_and_refresh, write_vector
from rowdelta.encoding import DeleteEncoding
from rowdelta.iceberg import Field, RowChange, read_snapshot_files
from rowdelta.maintenance.equality_groups import EqualityGroup, find_obstacle
from rowdelta.maintenance.rewrite_equality import write_key_file
from tests.support.oracle import assert_same_rows, rows
from tests.support.tables import VECTORS, append_ids, create, head, keys, one_file, set_properties, stored_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from rowdelta.iceberg import DeleteEntry

SCHEMA = "id bigint, region string, s string"


def found(table: rd.Table) -> list[tuple[str, str, int, int]]:
    """The delete files as (content, encoding, records, sequence)."""
    listed = table.delete_files().select("content", "encoding", "records", "sequence").collect()
    return sorted(tuple(row) for row in listed)


def test_full_rows_become_vectors_and_back_and_keep_their_age(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of one integer column are compared as bitmaps."""
    monkeypatch.delattr("rowdelta.maintenance.verify_keys._read_rows")
    table = create(spark, table_name, SCHEMA, "region", properties=VECTORS)
    some = [(i, region, f"s{i}") for i in range(10) for region in ("EU", "US")]
    one_file(spark, some, SCHEMA).writeTo(table_name).append()
    both = spark.createDataFrame([(1, "EU"), (2, "US"), (None, "US")], "id bigint, region string")
    table.delete_keys(both, "id", encoding="full-row", scope="partition").execute()
    one_file(spark, [(1, "EU", "new"), (None, "US", "new")], SCHEMA).writeTo(table_name).append()
    live, before = rows(table.read()), found(table)
    assert "2 into 2 as equality-delete-vector" in str(table.rewrite_deletes("deletion-vector").plan())
    result = table.rewrite_deletes("deletion-vector", delete_files="encoding = 'full-row'").execute()
    assert (result.equality_deletes, result.delete_files_added, result.verified) == (2, 2, True)
    assert found(table) == [(content, "equality-delete-vector", *rest) for content, _, *rest in before]
    assert_same_rows(table.read(), live)
    assert table.metadata.snapshots[result.snapshot_id or 0].operation == "replace"
    assert table.rewrite_deletes("hash-map", delete_files="partition = 'region=EU'").execute().equality_deletes == 1
    assert_same_rows(table.read(), live)
    assert table.rewrite_deletes("full-row").execute().equality_deletes == 2
    assert found(table) == before
    assert rows(spark.table(table_name)) == live  # standard once more
    assert table.rewrite_deletes("full-row").execute().snapshot_id is None
    table.resolve().execute()
    assert_same_rows(spark.table(table_name), live)


def test_composite_keys_become_hash_maps_and_back(spark: SparkSession, table_name: str) -> None:
    columns = "id bigint, d date, n decimal(9, 2), s string"
    table = create(spark, table_name, columns, properties=VECTORS)
    spark.sql(
        f"INSERT INTO {table_name} SELECT id, date_add(DATE'2024-01-01', cast(id as int)), id * 1.5, "
        "if(id = 4, null, concat('s', id)) FROM range(8)"
    )
    names = ["d", "n", "s"]
    gone = spark.table(table_name).where("id IN (2, 4)").select(*names).localCheckpoint()
    table.delete_keys(gone, names, encoding="full-row").execute()
    texts = spark.createDataFrame([("s7",)], "s string")
    table.delete_keys(texts, "s", encoding="full-row").execute()
    live = rows(table.read())
    assert [row[0] for row in live] == [0, 1, 3, 5, 6]
    skipped = table.rewrite_deletes("deletion-vector").execute()
    assert skipped.snapshot_id is None
    assert len(skipped.skipped) == 2
    assert "only one integer column fits" in skipped.skipped[0]
    assert table.rewrite_deletes("hash-map").execute().equality_deletes == 2
    assert {encoding for _, encoding, *_ in found(table)} == {"hash-map"}
    assert_same_rows(table.read(), live)
    assert table.rewrite_deletes("full-row").execute().equality_deletes == 2
    assert_same_rows(spark.table(table_name), live)


def test_zeros_with_a_sign_and_every_nan_become_keys_of_hash_maps(spark: SparkSession, table_name: str) -> None:
    """Java distinguishes them; Spark does not, and makes one key of them."""
    table = create(spark, table_name, "id bigint, d double", properties=VECTORS)
    numbers = np.array([-0.0, np.nan, 2.0])
    odd = np.array([0xFFF8000000000001], np.uint64).view(np.float64)
    one_file(spark, list(enumerate([1.0, 2.0, float("nan")])), "id bigint, d double").writeTo(table_name).append()
    table.refresh()
    for values in (numbers, odd):
        _delete_numbers(table, values)
    table.refresh()
    assert rows(table.read(columns=["id"])) == [(0,)]
    assert table.rewrite_deletes("hash-map").execute().equality_deletes == 2
    assert rows(table.read(columns=["id"])) == [(0,)]


def _delete_numbers(table: rd.Table, values: Any) -> None:
    """Commits a standard equality delete file, as other engines write them."""
    handle = table._handle
    column = handle.metadata.schema.find("d")
    group = EqualityGroup((SimpleNamespace(spec_id=0),), (column,), DeleteEncoding.FULL_ROW)  # type: ignore[arg-type]
    commit_and_refresh(handle, RowChange(deletes=[write_key_file(handle, group, pa.table({str(column.id): values}))]))


def test_many_position_deletes_become_one_for_each_data_file(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", version=2)
    append_ids(spark, table_name, range(100))
    append_ids(spark, table_name, range(100, 200))
    for step in range(3):
        table.delete(f"id % 10 = {step}").execute()
    table.delete("id = 199").execute()
    live = rows(spark.table(table_name))
    assert len(found(table)) == 7
    result = table.rewrite_deletes(min_input_files=3).execute()
    assert (result.position_deletes, result.delete_files_added) == (7, 2)
    assert sorted(records for _, _, records, _ in found(table)) == [30, 31]
    assert_same_rows(spark.table(table_name), live)
    assert table.rewrite_deletes().execute().snapshot_id is None


def test_positions_become_vectors_after_an_upgrade(spark: SparkSession, table_name: str) -> None:
    granularity = {"write.delete.granularity": "partition"}
    table = create(spark, table_name, "id bigint, v string", version=2, properties=granularity)
    append_ids(spark, table_name, range(100))
    append_ids(spark, table_name, range(100, 200))
    table.delete("id IN (1, 101, 102)").execute()  # one file for both data files
    table.delete("id = 2").execute()
    set_properties(spark, table_name, format__version="3")
    table.refresh()
    table.delete("id = 103").execute()  # a vector, which takes over what was deleted before
    live = rows(spark.table(table_name))
    result = table.rewrite_deletes(target_encoding="deletion-vector").execute()
    assert result.position_deletes == 2
    assert [(content, encoding) for content, encoding, *_ in found(table)] == [("position", "deletion-vector")] * 2
    assert_same_rows(spark.table(table_name), live)
    table.delete("id = 5").execute()
    table.delete("id = 105").execute()  # the vectors are in two Puffin files now
    live = rows(spark.table(table_name))
    assert table.delete_files().select("path").distinct().count() == 2
    assert table.rewrite_deletes().execute().delete_files_added == 2
    assert table.delete_files().select("path").distinct().count() == 1
    assert_same_rows(spark.table(table_name), live)
    assert table.rewrite_deletes(min_input_files=1, target_size=1).execute().delete_files_added == 2
    assert table.delete_files().select("path").distinct().count() == 2
    assert_same_rows(spark.table(table_name), live)


def test_puffin_files_of_the_target_size_stay_unless_they_are_mostly_dead(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string")
    for start in range(0, 500, 100):
        append_ids(spark, table_name, range(start, start + 100))
    for key in range(1, 400, 100):
        table.delete(f"id = {key}").execute()  # four vectors, each in a file of its own
    (size,) = {entry.file_size_in_bytes for entry in files_of_vectors(table)}

    def merged(target_size: int) -> str:
        return table.rewrite_deletes(target_size=target_size).plan().to_dict()["position"]

    assert merged(size) == "0 merged by data file", "they are large enough"
    assert merged(int(size / 0.7)) == "0 merged by data file", "there would be as many"
    target = int(2.2 * size)
    assert table.rewrite_deletes(target_size=target).execute().position_deletes == 4
    assert len({row.path for row in files_of_vectors(table)}) == 2
    assert table.rewrite_deletes(target_size=target).execute().snapshot_id is None
    live = rows(spark.table(table_name))
    assert table.rewrite_deletes(min_input_files=1).execute().position_deletes == 4  # now all in one file
    table.delete("id IN (2, 102, 202, 402)").execute()
    assert len({row.path for row in files_of_vectors(table)}) == 2
    assert merged(size) == "1 merged by data file", "the first has one live vector of four"
    assert_same_rows(spark.table(table_name), [row for row in live if row[0] not in {2, 102, 202, 402}])


def files_of_vectors(table: rd.Table) -> Sequence[DeleteEntry]:
    snapshot = table.refresh()._handle.snapshot()
    assert snapshot is not None
    files = read_snapshot_files(table._handle, snapshot)
    assert files is not None
    return files.position_deletes


def test_a_key_inside_a_struct_is_not_written_as_a_standard_file() -> None:
    anything: Any = None
    inner = Field(5, "st.a", "long", required=False, path=("st", "a"))
    group = EqualityGroup((), (inner,), DeleteEncoding.FULL_ROW)
    assert find_obstacle(anything, anything, group, 1) == (
        "key 'st.a' is inside a struct, which cannot be written outside of Spark"
    )


def test_deletes_are_chosen_by_size_and_partitions_of_times_stay_what_they_are(
    spark: SparkSession, table_name: str
) -> None:
    table = create(spark, table_name, "id bigint, at timestamp_ntz", "at", version=2)
    at = "timestampadd(HOUR, id % 2, timestamp_ntz'2024-05-06 07:08:09.123456') at"
    for start in (0, 100):
        spark.range(start, start + 100, 1, 1).selectExpr("id", at).writeTo(table_name).append()
    table.delete("id < 30").execute()
    table.delete("id IN (50, 150)").execute()
    table.delete_keys(keys(spark, 60, 61), "id", scope="global").execute()
    live = rows(table.read())
    sizes = sorted(row.records for row in table.delete_files().where("content = 'position'").collect())
    assert sizes == [1, 1, 15, 15]
    chosen = table.rewrite_deletes(
        delete_files="content = 'position' AND records > 10 AND bytes < 1000000", min_input_files=1
    )
    assert "2 merged by data file" in str(chosen.plan())
    assert chosen.execute().position_deletes == 2
    assert_same_rows(spark.table(table_name), live)
    set_properties(spark, table_name, format__version="3")
    table.refresh()
    assert table.rewrite_deletes().execute().position_deletes == 4
    assert_same_rows(spark.table(table_name), live)
    assert table.resolve().execute().positions == 2
    assert_same_rows(spark.table(table_name), live)
    places = {(row.encoding, row.partition) for row in table.delete_files().collect()}
    assert {encoding for encoding, _ in places} == {"deletion-vector"}
    assert len(places) == 2
    assert table.compact(options={"rewrite-all": "true"}).execute().data_files_added == 2
    assert_same_rows(spark.table(table_name), live)
    assert table.delete_files().isEmpty()


def test_invalid_arguments_and_differences_are_refused(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    assert "nothing to do" in str(table.rewrite_deletes().plan())
    with pytest.raises(rd.InputError, match="unknown encoding 'dv'"):
        table.rewrite_deletes("dv")  # type: ignore[arg-type]
    with pytest.raises(rd.InputError, match="target_size='big' is not a size"):
        table.rewrite_deletes(target_size="big")
    with pytest.raises(rd.InputError, match="less than one"):
        table.rewrite_deletes(min_input_files=0)
    append_ids(spark, table_name, range(10))
    table.delete_keys(keys(spark, 3), "id").execute()
    refused = table.rewrite_deletes("deletion-vector").execute()
    assert refused.snapshot_id is None
    assert "write.delete.equality-vector.enabled" in refused.skipped[0]
    set_properties(spark, table_name, write_delete_equality__vector_enabled="true")
    state = head(table), stored_files(table)
    monkeypatch.setattr("rowdelta.maintenance.rewrite_equality.write_vector", _write_other_keys)
    with pytest.raises(rd.VerificationError):
        table.rewrite_deletes("deletion-vector").execute()
    assert (head(table), stored_files(table)) == state


def _write_other_keys(handle: Any, keys: Any, batch: Any, choice: Any) -> Any:
    return write_vector(handle, keys, replace(batch, keys=np.array([4], np.int64)), choice)
