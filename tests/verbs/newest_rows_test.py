"""`keep_newer`: any order of arrival of the same changes, in any batches, gives the same table."""

from __future__ import annotations

import datetime as dt
import math
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.oracle import assert_same_rows
from tests.support.sampling import examples
from tests.support.tables import create, head, make_frame, one_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import rowdelta as rd

COLUMNS = "id bigint, v string, lsn bigint, is_deleted boolean"
CHANGES = "id bigint, v string, lsn bigint, op string"
Change = tuple[int, str, int, str]


def invent_changes(source: random.Random) -> list[Change]:
    """A history of a few keys, in its own order: each change has a greater number than those before."""
    numbers = source.sample(range(1, 1000), 24)
    return [(source.randrange(6), f"v{lsn}", lsn, source.choice("UUUD")) for lsn in sorted(numbers)]


def split(source: random.Random, changes: list[Change]) -> list[list[Change]]:
    """The same changes in any order, in batches of any size; some changes arrive twice."""
    shuffled = [*changes, *source.sample(changes, 4)]
    source.shuffle(shuffled)
    cuts = sorted(source.sample(range(1, len(shuffled)), 3))
    return [shuffled[start:end] for start, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]


def newest(changes: list[Change]) -> dict[int, Change]:
    """The newest change of each key."""
    return {change[0]: change for change in sorted(changes, key=lambda change: change[2])}


def upsert(table: rd.Table, batch: list[Change], **options: Any) -> rd.UpsertResult:
    frame = make_frame(table._handle.spark, batch, CHANGES)
    return table.upsert(
        frame, "id", order_by="lsn", delete_when="op = 'D'", tie="any", keep_newer=True, **options
    ).execute()


@pytest.mark.parametrize("seed", range(examples(2, 6)))
@pytest.mark.parametrize("version", [2, 3])
def test_any_order_of_arrival_gives_the_same_table(
    spark: SparkSession, table_name: str, version: int, seed: int
) -> None:
    source = random.Random(seed)
    changes = invent_changes(source)
    create(spark, table_name, COLUMNS, version=version)
    expected = [(c[0], None if c[3] == "D" else c[1], c[2], c[3] == "D") for c in newest(changes).values()]
    for arrival in range(2):
        table = create(spark, f"{table_name}_{arrival}", COLUMNS, version=version)
        seen: list[Change] = []
        for batch in split(source, changes):
            before, arrived = newest(seen), newest(batch)
            result = upsert(table, batch, tombstones="keep")
            late = [key for key, change in arrived.items() if key in before and before[key][2] >= change[2]]
            assert result.changes_ignored == len(late)
            seen += batch
        assert_same_rows(spark.table(table.name), expected)
        assert_same_rows(
            table.read(where="NOT is_deleted", columns=["id", "v", "lsn"]), [one[:3] for one in expected if not one[3]]
        )
        spark.sql(f"DROP TABLE {table.name} PURGE")


def test_counts_tell_rows_from_tombstones(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS)
    result = upsert(table, [(1, "a", 1, "U"), (2, "b", 2, "U"), (3, "c", 3, "D")], tombstones="keep")
    assert (result.rows_inserted, result.rows_updated, result.rows_deleted, result.rows_written) == (2, 0, 0, 3)
    result = upsert(table, [(1, "x", 5, "D"), (2, "y", 6, "U"), (3, "z", 7, "U")], tombstones="keep")
    assert (result.rows_inserted, result.rows_updated, result.rows_deleted, result.rows_written) == (1, 1, 1, 3)
    result = upsert(table, [(1, "late", 4, "U"), (2, "late", 1, "D"), (3, "same", 7, "U")], tombstones="keep")
    assert (result.snapshot_id, result.changes_ignored, result.rows_written) == (None, 3, 0)
    expected = [(1, None, 5, True), (2, "y", 6, False), (3, "z", 7, False)]
    assert_same_rows(spark.table(table_name), expected)


def test_without_tombstones_a_late_change_brings_a_deleted_key_back(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS)
    upsert(table, [(1, "a", 1, "U")])
    upsert(table, [(1, "a", 9, "D")])
    upsert(table, [(1, "late", 5, "U")])
    assert_same_rows(spark.table(table_name), [(1, "late", 5, None)])


@pytest.mark.parametrize(
    ("column", "older", "newer"),
    [
        ("double", 1.0, math.nan),
        ("double", None, -math.inf),
        ("string", "a", "ab"),
        ("timestamp_ntz", dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1)),  # noqa: DTZ001
        ("int", None, 0),
    ],
)
def test_the_order_is_that_of_order_by(
    spark: SparkSession, table_name: str, column: str, older: object, newer: object
) -> None:
    columns = f"id bigint, at {column}, n int, v string"
    table = create(spark, table_name, columns)

    def apply(*rows: tuple[object, ...]) -> int:
        batch = spark.createDataFrame(list(rows), columns)
        return table.upsert(batch, "id", order_by=["at", "n"], keep_newer=True).execute().changes_ignored

    one_file(spark, [(1, older, 5, "first"), (2, newer, 5, "first")], columns).writeTo(table_name).append()
    assert apply((1, newer, 0, "second"), (2, older, 9, "late")) == 1
    assert apply((1, newer, 0, "same"), (2, newer, None, "late")) == 2
    assert apply((1, newer, 1, "third"), (2, newer, 6, "third")) == 0
    assert_same_rows(spark.table(table_name).select("id", "n", "v"), [(1, 1, "third"), (2, 6, "third")])


def test_a_required_column_of_a_tombstone_keeps_the_value_of_the_delete(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string NOT NULL, n int, lsn int, gone boolean NOT NULL")
    batch = spark.sql("SELECT 1L id, 'last' v, 5 n, 3 lsn, 'D' op")
    options: dict[str, Any] = {"order_by": "lsn", "delete_when": "op = 'D'", "keep_newer": True, "tombstones": "keep"}
    table.upsert(batch, "id", tombstone_column="gone", **options).execute()
    assert_same_rows(spark.table(table_name), [(1, "last", None, 3, True)])
    snapshot = head(table)
    assert table.upsert(batch, "id", tombstone_column="gone", **options).execute().changes_ignored == 1
    assert head(table) == snapshot
