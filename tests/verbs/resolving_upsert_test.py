"""Upserts that look up the old rows: what they leave in the table, against a plain model and MERGE of Iceberg SQL."""

from __future__ import annotations

import datetime as dt
import decimal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from tests.support.oracle import assert_same_rows
from tests.support.tables import VECTORS, create, head, make_frame, one_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, n int, s string, d date, amount decimal(10,2), v string"
CHANGES = f"{COLUMNS}, op string, seq int"
RESOLVES = {"write.upsert.resolve": "true"}
Row = tuple[Any, ...]


def row(number: int, text: str) -> Row:
    day = dt.date(2024, 1, 1) + dt.timedelta(days=number)
    return (number, number * 3, f"s{number}", day, decimal.Decimal(number * 25).scaleb(-2), text)


KEYS: dict[str, tuple[str, ...]] = {
    "long": ("id",),
    "string": ("s",),
    "date": ("d",),
    "composite": ("s", "id"),
}
LAYOUTS = {
    "unpartitioned": "",
    "bucket": "bucket(4, id)",
    "identity": "s",
    "other column": "truncate(1, v)",
    "evolved": "days(d)",
}
# Version 2 has no vectors and no hash maps.
EARLIER = [
    *((version, kind) for version in (2, 3) for kind in ("nothing", "positions", "equality")),
    (3, "vector"),
    (3, "hash map"),
]


@dataclass
class Model:
    """The rows that should be in the table, by their number."""

    rows: dict[int, Row] = field(default_factory=dict)

    def upsert(self, changes: Iterable[Row]) -> None:
        for *values, op, _ in sorted(changes, key=lambda change: change[-1]):
            if op == "D":
                self.rows.pop(values[0], None)
            else:
                self.rows[values[0]] = tuple(values)

    def widen(self) -> None:
        """Adds a column, as an evolved table has one more."""
        self.rows = {number: (*values, None) for number, values in self.rows.items()}


def delete_earlier(table: rd.Table, spark: SparkSession, earlier: str) -> None:
    """Leaves deletes of some kind, of row 5."""
    gone = make_frame(spark, [(5, "s5")], "id bigint, s string")
    if earlier == "positions":
        table.delete("id = 5").execute()
    elif earlier != "nothing":
        encoding = {"equality": "full-row", "vector": "deletion-vector", "hash map": "hash-map"}[earlier]
        key = "s" if earlier == "hash map" else "id"
        table.delete_keys(gone, key, encoding=encoding, scope="global").execute()  # type: ignore[arg-type]


def evolve(spark: SparkSession, name: str) -> None:
    for part in ("ADD PARTITION FIELD bucket(3, id)", "RENAME COLUMN v TO w", "ADD COLUMN extra string"):
        spark.sql(f"ALTER TABLE {name} {part}")


def batch_of(spark: SparkSession, changes: Iterable[Row], *, evolved: bool) -> DataFrame:
    frame = spark.createDataFrame(list(changes), CHANGES)
    return frame.withColumnRenamed("v", "w") if evolved else frame


FIRST = [
    (*row(1, "older"), "U", 2),
    (*row(1, "newest"), "U", 3),
    (*row(1, "oldest"), "U", 1),
    (*row(2, "gone"), "D", 4),
    (*row(5, "back"), "U", 5),
    (*row(90, "new"), "U", 6),
    (*row(91, "unknown"), "D", 7),
    (*row(3, "again"), "D", 8),
    (*row(3, "again"), "U", 9),
]
SECOND = [(*row(1, "second"), "U", 1), (*row(90, "gone"), "D", 2), (*row(6, "second"), "U", 3)]


@pytest.mark.parametrize(("version", "earlier"), EARLIER)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("key", KEYS)
def test_an_upsert_leaves_what_merge_would_and_no_equality_delete_of_its_own(
    spark: SparkSession, table_name: str, *, version: int, key: str, layout: str, earlier: str
) -> None:
    evolved, model = layout == "evolved", Model({n: row(n, "old") for n in range(8)})
    table = create(spark, table_name, COLUMNS, LAYOUTS[layout], version=version, properties=VECTORS | RESOLVES)
    one_file(spark, list(model.rows.values()), COLUMNS).writeTo(table_name).append()
    delete_earlier(table, spark, earlier)
    if earlier != "nothing":
        del model.rows[5]
    if evolved:
        evolve(spark, table_name)
        model.widen()
    twin = f"{table_name}_twin"
    table.refresh().read().writeTo(twin).using("iceberg").tableProperty("format-version", str(version)).create()
    before = count_equality_deletes(table)
    for changes in (FIRST, SECOND):
        live = set(model.rows)
        batch = batch_of(spark, changes, evolved=evolved)
        result = table.upsert(batch, KEYS[key], order_by="seq", delete_when="op = 'D'").execute()
        added = (None,) if evolved else ()
        model.upsert([(*change[:6], *added, *change[6:]) for change in changes])
        merge_into(spark, twin, batch, KEYS[key])
        expected = list(model.rows.values())
        assert_same_rows(spark.table(twin), expected)
        assert_same_rows(table.read(), expected)
        named, kept = {change[0] for change in changes}, set(model.rows)
        assert result.rows_updated == len(named & live & kept)
        assert result.rows_inserted == len((named & kept) - live)
        assert result.rows_deleted == len(live - kept)
        assert count_equality_deletes(table) == before
    if before == 0 or earlier == "equality":
        assert_same_rows(spark.table(table_name), list(model.rows.values()))
    spark.sql(f"DROP TABLE {twin} PURGE")


def merge_into(spark: SparkSession, name: str, batch: DataFrame, key: Iterable[str]) -> None:
    """Applies the last change of each key with MERGE of Iceberg SQL."""
    columns = [column for column in batch.columns if column not in {"op", "seq"}]
    last = batch.selectExpr("*", f"row_number() OVER (PARTITION BY {', '.join(key)} ORDER BY seq DESC) nth")
    last.where("nth = 1").createOrReplaceTempView("last_changes")
    spark.sql(f"""
        MERGE INTO {name} t USING last_changes s ON {" AND ".join(f"t.{one} = s.{one}" for one in key)}
        WHEN MATCHED AND s.op = 'D' THEN DELETE
        WHEN MATCHED THEN UPDATE SET {", ".join(f"{one} = s.{one}" for one in columns)}
        WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT ({", ".join(columns)})
            VALUES ({", ".join(f"s.{one}" for one in columns)})
    """)


def count_equality_deletes(table: rd.Table) -> int:
    return table.refresh().delete_files().where("content = 'equality'").count()


@pytest.mark.parametrize("version", [2, 3])
def test_the_default_leaves_a_table_that_iceberg_reads(spark: SparkSession, table_name: str, version: int) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id bigint, v string) USING iceberg TBLPROPERTIES ('format-version'='{version}')"
    )
    table = rd.table(spark, table_name)
    first = table.upsert(make_frame(spark, [(1, "a"), (2, "a")], "id bigint, v string"), "id").execute()
    assert (first.rows_inserted, first.resolved, first.data_files_added) == (2, True, 1)
    result = table.upsert(make_frame(spark, [(2, "b"), (3, "b")], "id bigint, v string"), "id").execute()
    assert (result.rows_updated, result.rows_inserted, result.rows_deleted, result.keys) == (1, 1, 0, 2)
    assert_same_rows(spark.table(table_name), [(1, "a"), (2, "b"), (3, "b")])
    deleted = table.delete_keys(make_frame(spark, [(1,), (1,), (7,)], "id bigint"), "id").execute()
    assert (deleted.rows_deleted, deleted.keys, deleted.resolved) == (1, 2, True)
    assert_same_rows(spark.table(table_name), [(2, "b"), (3, "b")])
    assert count_equality_deletes(table) == 0


def test_the_lane_follows_the_call_and_the_properties(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=VECTORS)
    batch = make_frame(spark, [(1, "a")], "id bigint, v string")

    def lane(**arguments: Any) -> str:
        return table.refresh().upsert(batch, "id", **arguments).plan().to_dict()["lane"]

    assert lane() == "keys (table property write.upsert.resolve)"
    assert lane(resolve=True) == "resolve: the old rows are looked up (as requested)"
    spark.sql(f"ALTER TABLE {table_name} UNSET TBLPROPERTIES ('write.upsert.resolve')")
    assert lane() == "keys (the table allows equality delete vectors)"
    spark.sql(f"ALTER TABLE {table_name} UNSET TBLPROPERTIES ('write.delete.equality-vector.enabled')")
    assert lane() == "resolve: the old rows are looked up (by default, so that every engine can read the table)"
    assert lane(encoding="full-row") == "keys (encoding='full-row' was given)"
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('write.upsert.resolve'='maybe')")
    with pytest.raises(rd.RowDeltaError, match=r"write.upsert.resolve has the value 'maybe'"):
        lane()


def test_arguments_that_contradict_each_other_are_refused(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string, lsn bigint, flag string")
    batch = make_frame(spark, [(1, "a", 1)], "id bigint, v string, lsn bigint")
    refused: list[tuple[str, dict[str, Any]]] = [
        ("encoding='full-row' is for keys, but resolve=True", {"resolve": True, "encoding": "full-row"}),
        ("encoding='hash-map' is for keys, but keep_newer=True", {"keep_newer": True, "encoding": "hash-map"}),
        ("resolve=False does not look up", {"keep_newer": True, "resolve": False}),
        ("order_by is missing", {"keep_newer": True, "order_by": None}),
        ("needs columns of .* in order_by, and seq", {"keep_newer": True, "order_by": "seq"}),
        ("needs columns of .* in order_by, and lsn \\+ 1", {"keep_newer": True, "order_by": "lsn + 1"}),
        ("no change is compared with them", {"tombstones": "keep"}),
        ("unknown tombstones 'what'", {"tombstones": "what"}),
        ("needs a boolean column 'is_deleted'", {"keep_newer": True, "tombstones": "keep", "delete_when": "v = 'D'"}),
        (
            "is string, and a tombstone needs a boolean",
            {"keep_newer": True, "tombstones": "keep", "tombstone_column": "flag", "delete_when": "v = 'D'"},
        ),
    ]
    for message, arguments in refused:
        options = {"order_by": "lsn", **arguments}
        with pytest.raises(rd.InputError, match=message):
            table.upsert(batch, "id", **options).execute()
        with pytest.raises(rd.InputError, match=message):
            table.upsert(batch, "id", **options).plan()
    assert head(table) is None


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("key", [["id"], ["id", "v"], ["v"]])
def test_all_rows_with_a_key_give_way_to_one(
    spark: SparkSession, table_name: str, version: int, key: list[str]
) -> None:
    columns = "id bigint, v string, n int"
    table = create(spark, table_name, columns, version=version, properties=RESOLVES)
    for _ in range(2):
        one_file(spark, [(1, "a", 1), (1, "a", 2), (2, "b", 3)], columns).writeTo(table_name).append()
    result = table.upsert(make_frame(spark, [(1, "a", 9), (3, "c", 9)], columns), key).execute()
    assert (result.rows_updated, result.rows_inserted, result.rows_deleted) == (1, 1, 3)
    assert_same_rows(spark.table(table_name), [(1, "a", 9), (3, "c", 9), (2, "b", 3), (2, "b", 3)])
    if version == 3:
        ids = [one[0] for one in spark.sql(f"SELECT _row_id FROM {table_name}").collect()]
        assert len(set(ids)) == 4
        assert None not in ids


def test_a_replaced_row_keeps_its_id(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=RESOLVES)
    one_file(spark, [(number, "old") for number in range(5)], "id bigint, v string").writeTo(table_name).append()
    before: dict[int, int] = dict(spark.sql(f"SELECT id, _row_id FROM {table_name}").collect())
    table.upsert(make_frame(spark, [(1, "new"), (3, "new"), (9, "new")], "id bigint, v string"), "id").execute()
    after = {
        one.id: one
        for one in spark.sql(f"SELECT *, _row_id, _last_updated_sequence_number n FROM {table_name}").collect()
    }
    assert {number: after[number]._row_id for number in before} == before
    assert after[9]._row_id not in before.values()
    assert {number: one.n for number, one in after.items()} == {0: 1, 1: 2, 2: 1, 3: 2, 4: 1, 9: 2}


@pytest.mark.parametrize("version", [2, 3])
def test_null_keys_are_deleted_and_never_upserted(spark: SparkSession, table_name: str, version: int) -> None:
    columns = "id bigint, s string"
    table = create(spark, table_name, columns, version=version, properties=RESOLVES)
    one_file(spark, [(None, "a"), (1, None), (None, None), (2, "b")], columns).writeTo(table_name).append()
    with pytest.raises(rd.InputError, match="a change has no key"):
        table.upsert(make_frame(spark, [(None, "x"), (1, "y")], columns), "id").execute()
    result = table.delete_keys(make_frame(spark, [(None, None), (2, "c")], columns), ["id", "s"]).execute()
    assert (result.keys, result.rows_deleted) == (2, 1)
    assert_same_rows(spark.table(table_name), [(None, "a"), (1, None), (2, "b")])
    result = table.delete_keys(make_frame(spark, [(None, "z"), (2, "b")], columns), "id").execute()
    assert (result.keys, result.rows_deleted) == (2, 2)
    assert_same_rows(spark.table(table_name), [(1, None)])


def test_a_scope_of_partitions_spares_other_partitions(spark: SparkSession, table_name: str) -> None:
    columns = "id bigint, day date, s string"
    table = create(spark, table_name, columns, "months(day), s", properties=RESOLVES)
    january, february = dt.date(2024, 1, 5), dt.date(2024, 2, 5)
    rows = [(1, january, "a"), (1, february, "a"), (1, january, "b"), (1, january, None)]
    spark.createDataFrame(rows, columns).writeTo(table_name).append()
    batch = spark.createDataFrame([(1, dt.date(2024, 1, 20), "a")], columns)
    result = table.upsert(batch, "id", scope="partition").execute()
    assert (result.rows_updated, result.rows_deleted) == (1, 0)
    expected = [(1, dt.date(2024, 1, 20), "a"), *rows[1:]]
    assert_same_rows(spark.table(table_name), expected)
    table.delete_keys(spark.createDataFrame([(1, january, None)], columns), "id", scope="partition").execute()
    assert_same_rows(spark.table(table_name), expected[:-1])
    assert table.upsert(batch, "id").execute().rows_deleted == 2
    assert_same_rows(spark.table(table_name), [(1, dt.date(2024, 1, 20), "a")])


def test_a_branch_is_its_own(spark: SparkSession, table_name: str) -> None:
    create(spark, table_name, "id bigint, v string", properties=RESOLVES)
    one_file(spark, [(1, "old"), (2, "old")], "id bigint, v string").writeTo(table_name).append()
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH ingest")
    ingest = rd.table(spark, table_name, branch="ingest")
    ingest.upsert(make_frame(spark, [(1, "new"), (5, "new")], "id bigint, v string"), "id").execute()
    assert_same_rows(spark.table(table_name), [(1, "old"), (2, "old")])
    assert_same_rows(
        spark.sql(f"SELECT * FROM {table_name} VERSION AS OF 'ingest'"), [(1, "new"), (2, "old"), (5, "new")]
    )


@pytest.mark.parametrize("limit", ["_MOST_ROWS_COLLECTED", "_MOST_FILES_LISTED"])
@pytest.mark.parametrize("key", ["id", "s"])
@pytest.mark.parametrize("version", [2, 3])
def test_large_tables_aggregate_their_matches(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, *, version: int, key: str, limit: str
) -> None:
    monkeypatch.setattr(f"rowdelta.change.target_rows.{limit}", 0)
    columns = "id bigint, s string, lsn int, is_deleted boolean"
    table = create(spark, table_name, columns, "bucket(2, id), s", version=version, properties=RESOLVES)
    for part in range(2):
        rows = [(number, f"s{number}", 5, False) for number in range(part, 12, 2)] + [(4, "s4", 5, None)]
        one_file(spark, rows, columns).writeTo(table_name).append()
    changes = [(1, 9, "U"), (2, 5, "U"), (3, 9, "D"), (4, 9, "U"), (99, 9, "U")]
    given = [(number, f"s{number}", *others) for number, *others in changes]
    batch = make_frame(spark, given, "id bigint, s string, lsn int, op string")
    table.upsert(batch.where("id = 99").drop("op"), key, order_by="lsn").execute()
    upsert = table.upsert(batch, key, order_by="lsn", delete_when="op = 'D'", keep_newer=True, tombstones="keep")
    result = upsert.execute()
    assert (result.rows_updated, result.rows_inserted, result.rows_deleted) == (2, 0, 3)
    assert (result.changes_ignored, result.rows_written) == (2, 3)
    untouched = [(number, f"s{number}", 5, False) for number in (0, 2, *range(5, 12))]
    buried = (3, None, 9, True) if key == "id" else (None, "s3", 9, True)
    changed = [(1, "s1", 9, False), buried, (4, "s4", 9, False), (99, "s99", 9, None)]
    assert_same_rows(spark.table(table_name), [*untouched, *changed])
