"""`t.delete_keys()`: which encoding it writes and why, what it refuses, and how it commits."""

# ruff: noqa: DTZ001 - PySpark takes and gives times without a zone
from __future__ import annotations

import datetime as dt
import decimal
import logging
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from rowdelta.spark import collect_arrow
from tests.support.oracle import assert_same_ids, assert_same_rows, ids
from tests.support.races import FasterWriter, assert_no_stray_files
from tests.support.shared_files import share
from tests.support.tables import (
    EDV,
    VECTORS,
    added_files,
    append_files,
    append_ids,
    create,
    head,
    keys,
    live_vectors,
    one_file,
    set_properties,
    stored_files,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, i int, s string, z bigint, v string"
ENABLED = "write.delete.equality-vector.enabled"


def make(spark: SparkSession, name: str, properties: dict[str, str] | None = None, version: int = 3) -> rd.Table:
    table = create(spark, name, COLUMNS, version=version, properties=EDV if properties is None else properties)
    values = [(i, i, f"s{i}", None if i == 5 else i - 3, "v") for i in range(10)]
    share(table, "0 to 9", lambda: one_file(spark, values, COLUMNS))
    return table


def batch(spark: SparkSession, *some: int) -> DataFrame:
    """Keys by every column: the numbers given, as `make` writes them."""
    return spark.createDataFrame([(i, i, f"s{i}", None if i == 5 else i - 3) for i in some], COLUMNS[:-10])


# --- fallbacks, and the same refused where the encoding is asked for

CODECS = "write.delete.equality-vector.codecs"
SPARSITY = "write.delete.equality-vector.max-sparsity"
FALLBACKS: list[tuple[str, dict[str, str], int, tuple[str, ...], tuple[int, ...], str]] = [
    ("property off", {}, 3, ("id",), (1, 2), f"{ENABLED} is false"),
    ("version 2", EDV, 2, ("id",), (1, 2), "format version 2 has no Puffin delete files"),
    ("int", EDV, 3, ("i",), (1, 2), f"key 'i' is of type int, and {CODECS} does not name int"),
    ("string", EDV, 3, ("s",), (1, 2), "key 's' is of type string, which a bitmap cannot hold"),
    ("composite", EDV, 3, ("id", "s"), (1, 2), "the key has 2 columns ('id', 's'), and a bitmap holds one"),
    ("negative", EDV, 3, ("z",), (1, 7), f"key 'z' has the negative value -2, and {CODECS} does not name long-signed"),
    ("null", EDV, 3, ("z",), (5, 7), f"key 'z' has a null in the batch, and {CODECS} does not name long-signed"),
    (
        *("sparse", EDV | {SPARSITY: "2"}, 3, ("id",), (1, 8)),
        f"key 'id' is too sparse: range 7 is more than 2 times the 2 keys ({SPARSITY})",
    ),
]


@pytest.mark.parametrize(("properties", "version", "key", "some", "reason"), [f[1:] for f in FALLBACKS])
def test_what_a_vector_cannot_hold_falls_back_and_says_why_unless_a_vector_was_asked_for(
    spark: SparkSession,
    table_name: str,
    caplog: pytest.LogCaptureFixture,
    *,
    properties: dict[str, str],
    version: int,
    key: tuple[str, ...],
    some: tuple[int, ...],
    reason: str,
) -> None:
    table = make(spark, table_name, properties, version)
    before, files = head(table), stored_files(table)
    with pytest.raises(rd.EncodingError) as error:
        table.delete_keys(batch(spark, *some), key, encoding="deletion-vector").execute()
    assert error.value.message == f"cannot write the deletes as equality-delete-vector: {reason}"
    assert error.value.hint == "omit encoding= to write them as full-row"
    assert (head(table), stored_files(table)) == (before, files)
    with caplog.at_level(logging.INFO, "rowdelta"):
        result = table.delete_keys(batch(spark, *some), key).execute()
    assert (result.vectors, set(result.encodings)) == (0, {"full-row"})
    assert result.reasons == (reason,)
    assert f"Encoding: {reason}" in caplog.messages
    expected = sorted(set(range(10)) - set(some))
    assert ids(table) == expected
    assert_same_ids(spark.table(table_name), expected)


def test_an_unknown_encoding_is_refused(spark: SparkSession, table_name: str) -> None:
    with pytest.raises(rd.EncodingError, match="unknown delete encoding 'bitmap'"):
        make(spark, table_name).delete_keys(keys(spark, 1), "id", encoding="bitmap").execute()  # type: ignore[arg-type]


def test_a_vector_is_written_where_it_fits_and_the_log_has_the_numbers(
    spark: SparkSession, table_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = make(spark, table_name)
    with caplog.at_level(logging.INFO, "rowdelta"):
        result = table.delete_keys(keys(spark, 3, 1, 3, 77, 1), "id").execute()
    assert (result.keys, result.vectors, result.delete_files_added) == (3, 1, 1)
    assert result.encodings == {"equality-delete-vector": 1}
    assert result.reasons == ("3 keys of long column 'id' as a bitmap",)
    assert result.rows_deleted is None
    assert result.bytes_added > 0
    text = "\n".join(caplog.messages)
    assert f"Writing equality deletes of {table_name} on 'id' (long), 3 keys" in text
    assert f"({result.bytes_added} bytes; whole rows would take about " in text
    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [
        f"{table_name} now has equality delete vectors on main: other engines refuse to read it until t.resolve()"
    ]
    caplog.clear()
    table.delete_keys(keys(spark, 4), "id").execute()
    assert [record for record in caplog.records if record.levelno == logging.WARNING] == []
    assert ids(table) == [0, 2, 5, 6, 7, 8, 9]


def test_the_summary_counts_vectors_files_and_bytes(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    vector = table.delete_keys(keys(spark, 1), "id").execute()
    rows = table.delete_keys(batch(spark, 2), "s").execute()
    snapshots = table.refresh().metadata.snapshots
    summary = snapshots[vector.snapshot_id or 0].summary
    assert (summary["equality-delete-vectors"], summary["equality-delete-files"]) == ("1", "0")
    assert summary["edv-size-bytes"] == str(vector.bytes_added)
    assert int(summary["full-row-size-bytes-estimate"]) > 0
    assert summary["added-equality-deletes"] == "1"
    summary = snapshots[rows.snapshot_id or 0].summary
    assert (summary["equality-delete-vectors"], summary["equality-delete-files"]) == ("0", "1")
    assert summary["edv-size-bytes"] == "0"
    assert summary["total-equality-deletes"] == "2"


@pytest.mark.parametrize(
    ("hint", "encoding", "reason"),
    [
        ("full-row", "full-row", "write.delete.encoding-hint is full-row"),
        ("deletion-vector", "equality-delete-vector", "1 key of long column 'id' as a bitmap"),
        ("auto", "equality-delete-vector", "1 key of long column 'id' as a bitmap"),
    ],
)
def test_the_hint_is_followed(spark: SparkSession, table_name: str, hint: str, encoding: str, reason: str) -> None:
    table = make(spark, table_name, EDV | {"write.delete.encoding-hint": hint})
    result = table.delete_keys(keys(spark, 1), "id").execute()
    assert (result.encodings, result.reasons) == ({encoding: 1}, (reason,))


def test_a_hint_that_cannot_be_followed_falls_back_and_a_strict_call_wins(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name, EDV | {"write.delete.encoding-hint": "deletion-vector"})
    result = table.delete_keys(batch(spark, 1), "s").execute()
    assert result.encodings == {"full-row": 1}
    assert result.reasons == ("key 's' is of type string, which a bitmap cannot hold",)
    set_properties(spark, table_name, write_delete_encoding__hint="full-row")
    result = table.delete_keys(keys(spark, 2), "id", encoding="deletion-vector").execute()
    assert result.encodings == {"equality-delete-vector": 1}
    assert ids(table) == [0, *range(3, 10)]


def test_hash_maps_are_written_where_they_are_enabled(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name, VECTORS)
    result = table.delete_keys(batch(spark, 1, 2), ["id", "s"]).execute()
    assert result.encodings == {"hash-map": 1}
    assert result.reasons == (
        "the key has 2 columns ('id', 's'), and a bitmap holds one; write.delete.hash-map.enabled is true",
    )
    assert ids(table) == [0, *range(3, 10)]
    set_properties(spark, table_name, write_delete_hash__map_enabled="false")
    with pytest.raises(rd.EncodingError, match=r"write\.delete\.hash-map\.enabled is false"):
        table.delete_keys(batch(spark, 3), "s", encoding="hash-map").execute()


def test_vectors_may_be_stored_as_deltas(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name, VECTORS | {"write.deletion-vector.compression": "delta-zstd"})
    assert table.delete_keys(batch(spark, 1, 5), "z").execute().vectors == 1
    assert ids(table) == [0, 2, 3, 4, 6, 7, 8, 9]


# --- batches


@pytest.mark.parametrize("properties", [{}, EDV, VECTORS])
def test_an_empty_batch_commits_nothing(spark: SparkSession, table_name: str, properties: dict[str, str]) -> None:
    table = make(spark, table_name, properties)
    before, files = head(table), stored_files(table)
    for key in ("id", "s"):
        result = table.delete_keys(batch(spark, 1).where("id > 1"), key).execute()
        assert (result.snapshot_id, result.delete_files_added, result.keys) == (None, 0, 0)
        assert result.reasons == ("there are no keys",)
    assert (head(table), stored_files(table)) == (before, files)


@pytest.mark.parametrize("key", ["id", "i", "s", ("s", "id")])
def test_duplicates_are_written_once(spark: SparkSession, table_name: str, key: str | tuple[str, ...]) -> None:
    table = make(spark, table_name)
    result = table.delete_keys(batch(spark, 1, 2, 1, 1, 2).repartition(3), key).execute()
    assert result.keys == 2
    assert ids(table) == [0, *range(3, 10)]


def test_a_null_key_deletes_the_rows_where_the_column_is_null(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    result = table.delete_keys(spark.createDataFrame([(None,)], "z bigint"), "z").execute()
    assert result.keys == 1
    assert ids(table) == [0, 1, 2, 3, 4, 6, 7, 8, 9]


@pytest.mark.parametrize("key", ["id", "s", ("id", "s")])
def test_a_null_in_a_required_column_is_an_error(
    spark: SparkSession, table_name: str, key: str | tuple[str, ...]
) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, s string NOT NULL", properties=EDV)
    one_file(spark, [(1, "s")], "id bigint, s string").writeTo(table_name).append()
    before, files = head(table), stored_files(table)
    frame = spark.createDataFrame([(1, "s"), (None, None)], "id bigint, s string")
    column = key if isinstance(key, str) else key[0]
    with pytest.raises(rd.InputError, match=f"a key is null in column '{column}', which the table requires"):
        table.delete_keys(frame, key).execute()
    assert (head(table), stored_files(table)) == (before, files)


def test_keys_of_other_types_and_missing_columns_are_errors(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, i int, f double, st struct<a: int>, l array<int>", properties=EDV)
    wrong: list[tuple[str, str | list[str], str]] = [
        ("id string", "id", "key column 'id' is string, but in .* it is bigint"),
        ("id double", "id", "key column 'id' is double, but in .* it is bigint"),
        ("i bigint", "i", "key column 'i' is bigint, but in .* it is int"),
        ("x bigint", "id", "the keys have no column 'id'"),
        ("x bigint", "x", "no column 'x' in the table"),
        ("f double", "f", "column 'f' of type double cannot be a key"),
        ("st struct<a: int>", "st", "column 'st' of type struct cannot be a key"),
        ("a int", "st.a", "column 'st.a' of type int cannot be a key"),
        ("l array<int>", "l", "column 'l' of type list cannot be a key"),
        ("id bigint", [], "no key column was given"),
        ("id bigint", ["id", "id"], "names a column twice"),
        ("id bigint, ID bigint", "id", "the keys have more than one column 'id'"),
    ]
    for schema, key, message in wrong:
        with pytest.raises(rd.InputError, match=message):
            table.delete_keys(spark.createDataFrame([], schema), key)
    with pytest.raises(rd.InputError, match="keys must be a DataFrame of Spark, not list"):
        table.delete_keys(cast("Any", [1, 2]), "id")
    with pytest.raises(rd.InputError, match="unknown scope 'everywhere'"):
        table.delete_keys(keys(spark, 1), "id", scope="everywhere")  # type: ignore[arg-type]


def test_narrower_integers_and_other_cases_of_names_are_fine(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    assert table.delete_keys(spark.createDataFrame([(1,)], "ID smallint"), "Id").execute().vectors == 1
    assert ids(table) == [0, *range(2, 10)]


KEY_TYPES: list[tuple[str, list[Any]]] = [
    ("boolean", [True, False]),
    ("binary", [b"\x00\xff", b""]),
    ("decimal(20, 3)", [decimal.Decimal("-1.500"), decimal.Decimal("12345678901234567.125")]),
    ("date", [dt.date(1960, 1, 1), dt.date(2024, 2, 29)]),
    ("timestamp", [dt.datetime(1960, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 2, 29, 12)]),
    ("timestamp_ntz", [dt.datetime(1960, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 2, 29, 12)]),
]


@pytest.mark.parametrize("encoding", ["full-row", "hash-map"])
def test_keys_of_every_type_delete_only_their_rows(spark: SparkSession, table_name: str, encoding: rd.Encoding) -> None:
    """Three rows for each type, with two values and a null in its column; the first and the null are deleted."""
    columns = ", ".join(["n int", *(f"k{i} {kind}" for i, (kind, _) in enumerate(KEY_TYPES))])
    table = create(spark, table_name, columns, properties=VECTORS)
    rest = [values[1] for _, values in KEY_TYPES]
    data = [
        (10 * i + place, *rest[:i], value, *rest[i + 1 :])
        for i, (_, values) in enumerate(KEY_TYPES)
        for place, value in enumerate([*values, None])
    ]
    one_file(spark, data, columns).writeTo(table_name).append()
    for i, (kind, values) in enumerate(KEY_TYPES):
        gone = spark.createDataFrame([(values[0],), (None,)], f"k{i} {kind}")
        table.delete_keys(gone, f"k{i}", encoding=encoding).execute()
    left = [(10 * i + 1,) for i in range(len(KEY_TYPES))]
    assert_same_rows(table.read(columns=["n"]), left)
    if encoding == "full-row":
        assert_same_rows([(row.n,) for row in spark.table(table_name).collect()], left)


# --- partitions


def test_partition_columns_must_come_with_the_keys(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string, d date", "v, days(d)", properties=EDV)
    with pytest.raises(rd.InputError, match="is partitioned by v, d, but the keys have no column v, d") as error:
        table.delete_keys(keys(spark, 1), "id", scope="partition")
    assert "scope='global' deletes in all of them" in str(error.value.hint)


def test_a_key_is_deleted_in_all_partitions_when_asked(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", "v", properties=EDV)
    one_file(spark, [(i, part) for i in range(3) for part in "ab"], "id bigint, v string").writeTo(table_name).append()
    operation = table.delete_keys(keys(spark, 1), "id", scope="global")
    operation.plan()
    assert len(table.refresh().metadata.specs) == 1
    assert operation.execute().vectors == 1
    assert_same_rows(table.read(), [(0, "a"), (0, "b"), (2, "a"), (2, "b")])
    assert not table.refresh().metadata.spec.is_unpartitioned
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    table.delete_keys(keys(spark, 0, 1), "id", scope="global", encoding="full-row").execute()
    assert [spec.is_unpartitioned for spec in table.refresh().metadata.specs.values()] == [False, True]
    remove = table.delete_keys(keys(spark, 0, 1), "id", scope="global")
    assert_same_rows(table.read(), [(2, "a"), (2, "b")])
    assert remove.plan().to_dict()["scope"] == "whole table"


def test_each_partition_gets_its_own_vector(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", "v", properties=EDV)
    for part in ("a", "b", None):
        one_file(spark, [(i, part) for i in range(4)], "id bigint, v string").writeTo(table_name).append()
    frame = spark.createDataFrame([(0, "a"), (1, "a"), (1, "b"), (2, None), (3, "none")], "id bigint, v string")
    result = table.delete_keys(frame, "id", scope="partition").execute()
    assert (result.vectors, result.keys) == (4, 5)
    expected = [(2, "a"), (3, "a"), (0, "b"), (2, "b"), (3, "b"), (0, None), (1, None), (3, None)]
    assert_same_rows(table.read(), expected)


PARTITION_TYPES: list[tuple[str, list[Any]]] = [
    *KEY_TYPES,
    ("int", [-7, 7]),
    ("bigint", [-(2**63), 2**63 - 1]),
    ("string", ["a/b=c %", "ü\\ '"]),
]


@pytest.mark.parametrize("encoding", ["full-row", "deletion-vector", "hash-map"])
@pytest.mark.parametrize(("kind", "values"), PARTITION_TYPES)
def test_partitions_of_every_type_are_found(
    spark: SparkSession, table_name: str, kind: str, values: list[Any], encoding: rd.Encoding
) -> None:
    columns = f"id bigint, p {kind}"
    table = create(spark, table_name, columns, "p", properties=VECTORS)
    data = [(i, value) for i in range(2) for value in [*values, None]]
    one_file(spark, data, columns).writeTo(table_name).append()
    gone = [(0, values[0]), (1, None)]
    table.delete_keys(spark.createDataFrame(gone, columns), "id", scope="partition", encoding=encoding).execute()
    left = one_file(spark, [row for row in data if row not in gone], columns)
    assert_same_rows(table.read(), left)
    if encoding == "full-row":
        assert_same_rows(spark.table(table_name), left)


TRANSFORMS = ["years", "months", "days", "hours"]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_partitions_by_time_are_found(spark: SparkSession, table_name: str, transform: str) -> None:
    columns = "id bigint, at timestamp, tn timestamp_ntz"
    table = create(spark, table_name, columns, f"{transform}(at), {transform}(tn)", properties=EDV)
    times = [dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(1970, 1, 1), dt.datetime(2024, 2, 29, 13)]
    data = [(i, at, tn) for i in range(2) for at, tn in zip(times, times[1:] + times[:1], strict=True)]
    one_file(spark, data, columns).writeTo(table_name).append()
    gone = [data[0], data[4]]
    table.delete_keys(spark.createDataFrame(gone, columns), "id", scope="partition").execute()
    assert_same_rows(table.read(), one_file(spark, [row for row in data if row not in gone], columns))


def test_global_deletes_reach_every_partition(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION FIELD v")
    for part in ("a", "b"):
        append_ids(spark, table_name, range(3), part)
    assert table.delete_keys(keys(spark, 1), "id", scope="global").execute().vectors == 1
    batch = keys(spark, 2).withColumn("v", F.lit("a"))
    table.delete_keys(batch, "id", scope="partition").execute()
    assert_same_rows(table.read(), [(0, "a"), (0, "b"), (2, "b")])


# --- properties and branches


def test_vectors_are_switched_on_and_off_immediately_and_coexist_with_files(
    spark: SparkSession, table_name: str
) -> None:
    table = make(spark, table_name, {})
    assert table.delete_keys(keys(spark, 1), "id").execute().encodings == {"full-row": 1}
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('{ENABLED}'='true')")
    assert table.delete_keys(keys(spark, 2), "id").execute().encodings == {"equality-delete-vector": 1}
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('{ENABLED}'='false')")
    assert table.delete_keys(keys(spark, 3), "id").execute().encodings == {"full-row": 1}
    spark.sql(f"ALTER TABLE {table_name} UNSET TBLPROPERTIES ('{ENABLED}')")
    assert table.delete_keys(batch(spark, 4), "s").execute().encodings == {"full-row": 1}
    assert ids(table) == [0, *range(5, 10)]
    listed = collect_arrow(table.delete_files()).to_pylist()
    assert sorted(row["encoding"] for row in listed) == ["equality-delete-vector", "full-row", "full-row", "full-row"]


def test_a_branch_takes_vectors_while_main_stays_standard(
    spark: SparkSession, table_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = make(spark, table_name)
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH ingest")
    before = head(table)
    ingest = rd.table(spark, table_name, branch="ingest")
    result = ingest.delete_keys(keys(spark, 1, 2), "id").execute()
    assert result.vectors == 1
    assert not [record for record in caplog.records if record.levelno == logging.WARNING]
    assert (head(table), head(ingest)) == (before, result.snapshot_id)
    assert spark.table(table_name).count() == 10
    assert ids(table) == list(range(10))
    assert ids(ingest) == [0, *range(3, 10)]
    spark.sql(f"INSERT INTO {table_name}.branch_ingest VALUES (1, 1, 's', 1, 'again')")
    append_ids_to_main = spark.createDataFrame([(20, 1, "s", 1, "v")], COLUMNS)
    append_ids_to_main.writeTo(table_name).append()
    assert ids(ingest) == [0, 1, *range(3, 10)]
    assert ids(table) == [*range(10), 20]


# --- plans


@pytest.mark.parametrize("key", ["id", "s"])
def test_a_plan_says_what_would_be_done_and_does_nothing(spark: SparkSession, table_name: str, key: str) -> None:
    table = make(spark, table_name)
    before, files = head(table), stored_files(table)
    operation = table.delete_keys(batch(spark, 1, 2), key)
    text = str(operation.plan())
    assert text.splitlines()[0] == f"delete by key from {table_name}"
    assert "none: the rows are not looked up" in text
    assert ("equality-delete-vector: 2 keys of long column 'id' as a bitmap" if key == "id" else "full-row: ") in text
    assert ("keys      2" if key == "id" else "counted while they are written") in text
    assert operation.plan().to_dict()["key"] == key
    assert (head(table), stored_files(table)) == (before, files)
    operation.execute()
    assert ids(table) == [0, *range(3, 10)]


def test_an_operation_that_runs_again_deletes_what_came_meanwhile(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name)
    operation = table.delete_keys(keys(spark, 1), "id")
    operation.execute()
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1, 's', 1, 'again')")
    assert ids(table) == list(range(10))
    operation.execute()
    assert ids(table) == [0, *range(2, 10)]


# --- commits


def test_a_lost_race_is_retried_and_both_changes_are_there(
    spark: SparkSession, warehouse: Path, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(spark, table_name, EDV | {"commit.retry.min-wait-ms": "1"})
    row = "(1, 1, 's', 1, 'again')"
    race = FasterWriter(monkeypatch, lambda: rd.session(warehouse).sql(f"INSERT INTO {table_name} VALUES {row}"))
    table.delete_keys(keys(spark, 1, 2), "id").execute()
    assert race.left == 0
    assert ids(table) == [0, *range(3, 10)]  # the delete came after the insert, and is newer than it
    assert_no_stray_files(table)


def test_two_handles_of_one_session_may_race(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(spark, table_name, EDV | {"commit.retry.min-wait-ms": "1"})
    other = rd.table(spark, table_name)
    race = FasterWriter(monkeypatch, lambda: other.delete_keys(keys(spark, 5), "id").execute(), 1)
    table.delete_keys(keys(spark, 1, 2), "id").execute()
    assert race.left == 0
    assert ids(table) == [0, 3, 4, 6, 7, 8, 9] == ids(other)
    assert_no_stray_files(table)


def test_a_race_that_is_lost_too_often_is_an_error_and_leaves_no_file(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = EDV | {"commit.retry.num-retries": "1", "commit.retry.min-wait-ms": "1"}
    table = make(spark, table_name, properties)
    row = "(20, 1, 's', 1, 'again')"
    FasterWriter(monkeypatch, lambda: spark.sql(f"INSERT INTO {table_name} VALUES {row}"), times=2)
    with pytest.raises(rd.CommitConflictError, match="other writers were faster every time"):
        table.delete_keys(keys(spark, 1), "id").execute()
    assert ids(table) == [*range(10), 20, 20]
    assert_no_stray_files(table)


@pytest.mark.parametrize("part", ["-m0.avro", "/snap-"])
def test_a_manifest_that_cannot_be_written_leaves_no_file(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(3))
    before, files = head(table), stored_files(table)
    io = table._handle.io
    original, failed = io.copy_from, []

    def write(source: object, path: str) -> None:
        if part in path:
            failed.append(path)
            raise rd.TableError("the disk is full")
        original(source, path)

    monkeypatch.setattr(io, "copy_from", write)
    with pytest.raises(rd.TableError, match="the disk is full"):
        table.delete_keys(keys(spark, 1), "id").execute()
    assert len(failed) == 1
    assert (head(table), stored_files(table)) == (before, files)


@pytest.mark.parametrize(("name", "value"), [("_FEW_MANIFESTS", -1), ("_FEW_BYTES", -1)])
def test_many_manifests_are_left_to_the_threads_of_iceberg(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    monkeypatch.setattr(sys.modules["rowdelta.iceberg.snapshot_update"], name, value)
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(9))
    table.delete_keys(keys(spark, 1), "id").execute()
    table.resolve().execute()
    table.delete("id = 2").execute()
    table.delete("id < 2").execute()
    assert_same_rows(spark.table(table_name).select("id"), [(i,) for i in range(3, 9)])


def test_a_write_that_fails_half_way_leaves_no_file(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string", "v", properties=EDV)
    append_ids(spark, table_name, range(3), "a")
    before, files = head(table), stored_files(table)
    io = table._handle.io
    original, written = io.write, []

    def write(path: str, data: bytes) -> None:
        written.append(path)
        if len(written) == 2:
            raise rd.TableError("the disk is full")
        original(path, data)

    monkeypatch.setattr(io, "write", write)
    frame = spark.createDataFrame([(0, "a"), (1, "b")], "id bigint, v string")
    with pytest.raises(rd.TableError, match="the disk is full"):
        table.delete_keys(frame, "id", scope="partition").execute()
    assert len(written) == 2
    assert (head(table), stored_files(table)) == (before, files)


class Proxy:
    """A Java object with one method replaced."""

    def __init__(self, java: Any, **methods: Any) -> None:
        self._java = java
        self._methods = methods

    def __getattr__(self, name: str) -> Any:
        return self._methods[name] if name in self._methods else getattr(self._java, name)


@pytest.mark.strays("no file is removed while it is unknown whether the commit took place")
@pytest.mark.parametrize("took_place", [True, False])
def test_an_unknown_commit_state_removes_nothing_and_says_so(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, *, took_place: bool
) -> None:
    table = make(spark, table_name)
    before, files = head(table), stored_files(table)
    java = table._handle.java_table
    operations = java.operations()

    def commit(base: Any, metadata: Any) -> None:
        if took_place:
            operations.commit(base, metadata)
        raise PySparkException("the connection was reset")

    operation = table.delete_keys(keys(spark, 1), "id")
    proxy = Proxy(java, operations=lambda: Proxy(operations, commit=commit))
    monkeypatch.setattr(table._handle, "java_table", proxy)
    with pytest.raises(rd.CommitStateUnknownError, match="the connection was reset") as error:
        operation.execute()
    assert "no file was removed" in str(error.value.hint)
    monkeypatch.undo()
    assert files < stored_files(table)
    assert any(name.endswith(".puffin") for name in stored_files(table) - files)
    assert (head(table) != before) == took_place
    assert ids(table) == ([0, *range(2, 10)] if took_place else list(range(10)))


def test_a_failure_of_the_catalog_before_the_commit_removes_the_files(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(spark, table_name)
    before, files = head(table), stored_files(table)
    operation = table.delete_keys(keys(spark, 1), "id")

    def fail(*_: object) -> None:
        raise PySparkException("no transaction today")

    monkeypatch.setattr(sys.modules["rowdelta.iceberg.commit_attempt"], "make_snapshot_update", fail)
    with pytest.raises(rd.TableError, match="no transaction today"):
        operation.execute()
    monkeypatch.undo()
    assert (head(table), stored_files(table)) == (before, files)


# --- what commits of plain Spark do to the manifests of vectors


def test_vectors_survive_commits_of_plain_spark_that_merge_their_manifests(
    spark: SparkSession, table_name: str
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(40))
    for number in range(8):
        table.delete_keys(keys(spark, number, 20 + number), "id").execute()
    set_properties(spark, table_name, commit_manifest_min__count__to__merge="5")
    for number in range(6):
        append_ids(spark, table_name, [number, 100 + number], "again")
    assert [entry.content_offset for entry in live_vectors(table)] == [None] * 8
    expected = [*range(6), *range(8, 20), *range(28, 40), *range(100, 106)]
    assert ids(table) == expected
    table.delete_keys(keys(spark, 100, 5, 39), "id").execute()
    append_ids(spark, table_name, [39], "again")
    table.delete_keys(keys(spark, 8), "id").execute()
    assert ids(table) == sorted({*expected} - {100, 5, 8})
    assert {row.encoding for row in table.delete_files().collect()} == {"equality-delete-vector"}


def test_vectors_survive_120_appends(spark: SparkSession, table_name: str) -> None:
    """Adds more than 100 manifests, at which Iceberg merges them by default, with the append that Spark uses."""
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(5))
    (file,) = added_files(table)
    data = table._handle.io.read(file.path)
    table.delete_keys(keys(spark, 1, 2), "id").execute()
    for number in range(120):
        path = table._handle.new_data_location(f"copy-{number}.parquet")
        table._handle.io.write(path, data)
        append_files(table, [replace(file, path=path)], merge=True)
    listing = table._handle.manifests.read(table.refresh().metadata.head("main").manifest_list or "")  # type: ignore[union-attr]
    assert len(listing.records) < 100
    assert table.read().count() == 3 + 120 * 5
    table.delete_keys(keys(spark, 3), "id").execute()
    append_ids(spark, table_name, [3])
    assert table.read().count() == 2 + 120 * 4 + 1
