"""`t.upsert()`: what a batch of changes leaves in the table, what is refused, and what it costs."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, append_ids, create, head, keys, one_file, stored_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, v string, n int"
CHANGES = "id bigint, v string, n int, op string, seq int"


def orders(spark: SparkSession, name: str, *, version: int = 3, parts: str = "", count: int = 5) -> rd.Table:
    table = create(spark, name, COLUMNS, parts, version=version, properties=EDV)
    one_file(spark, [(i, "old", i) for i in range(count)], COLUMNS).writeTo(name).append()
    return table


def changes(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), CHANGES)


MIXED = (
    (1, "first", 10, "U", 1),
    (1, "last", 11, "U", 3),
    (1, "middle", 12, "D", 2),
    (2, "x", 0, "U", 1),
    (2, None, None, "D", 2),
    (9, "new", 9, "I", 1),
    (8, "came and went", 8, "I", 1),
    (8, None, None, "D", 2),
)
AFTER = [(0, "old", 0), (1, "last", 11), (3, "old", 3), (4, "old", 4), (9, "new", 9)]


@pytest.mark.parametrize("version", [2, 3])
def test_the_last_change_of_each_key_wins_in_one_snapshot(spark: SparkSession, table_name: str, version: int) -> None:
    table = orders(spark, table_name, version=version)
    before = len(table.refresh().metadata.snapshots)
    operation = table.upsert(changes(spark, *MIXED).repartition(3), "id", order_by="seq", delete_when="op = 'D'")
    plan = operation.plan().to_dict()
    assert plan["keys"] == "4, of which 2 are deleted"
    assert plan["scan"] == "none: the rows are not looked up"
    result = operation.execute()
    assert_same_rows(table.read(), AFTER)
    assert len(table.refresh().metadata.snapshots) == before + 1
    assert (result.keys, result.keys_deleted, result.rows_written) == (4, 2, 2)
    # One of the rows replaces another. Rows are not counted, so the result does not know which.
    assert (result.rows_inserted, result.rows_updated, result.rows_deleted) == (None, None, None)
    assert result.vectors == (1 if version == 3 else 0)
    if version == 2:  # standard deletes: Spark reads them
        assert_same_rows(spark.table(table_name), AFTER)
    else:
        ids = table.read(columns=["id"]).count(), spark.sql(f"SELECT * FROM {table_name}.entries").count()
        assert ids == (5, 3)


def test_an_order_of_several_columns_and_nulls_is_followed(spark: SparkSession, table_name: str) -> None:
    table = orders(spark, table_name)
    batch = changes(spark, (1, "null is oldest", 0, "a", None), (1, "a1", 0, "a", 1), (1, "b1", 0, "b", 1))
    table.upsert(batch, "id", order_by=["seq", F.col("op")]).execute()
    assert [row.v for row in table.read("id = 1").collect()] == ["b1"]


def test_a_tie_is_refused_and_leaves_nothing_behind(spark: SparkSession, table_name: str) -> None:
    table = orders(spark, table_name)
    files, snapshot = stored_files(table), head(table)
    tied = changes(spark, (3, "a", 1, "U", 7), (3, "b", 1, "U", 7), (4, "c", 1, "U", 1))
    with pytest.raises(rd.InputError, match=r"two different changes of one key are equally new \(id = 3\)") as error:
        table.upsert(tied, "id", order_by="seq", delete_when="op = 'D'").execute()
    assert "tie='any'" in str(error.value.hint)
    assert (stored_files(table), head(table)) == (files, snapshot)
    table.upsert(tied, "id", order_by="seq", delete_when="op = 'D'", tie="any").execute()
    found = {row.id: row.v for row in table.read("id >= 3").collect()}
    assert found[3] in {"a", "b"}
    assert found[4] == "c"
    with pytest.raises(rd.InputError, match="unknown tie 'first'"):
        table.upsert(tied, "id", tie="first").execute()  # type: ignore[arg-type]


def test_copies_of_a_change_are_one_change(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, m map<string, int>", properties=EDV)
    schema = "id bigint, m map<string, int>, seq int"
    batch = spark.createDataFrame([(1, {"a": 1}, 1), (1, {"a": 1}, 1), (2, {"b": 2}, 1)], schema)
    assert table.upsert(batch, "id", order_by="seq").execute().keys == 2
    assert_same_rows(table.read(), [(1, (("a", 1),)), (2, (("b", 2),))])
    other = spark.createDataFrame([(1, {"a": 1}, 1), (1, {"a": 2}, 1)], schema)
    with pytest.raises(rd.InputError, match="equally new"):
        table.upsert(other, "id", order_by="seq").execute()


@pytest.mark.parametrize(
    "rows",
    [
        [("a", 1, None), ("a", 1, None), ("b", 1, None)],
        [("b", 1, None), ("b", 1, None), ("a", 1, None)],
        [("a", None, 5), ("a", 5, None)],
        [("a", 1, None), ("a", None, None)],
    ],
    ids=["copies of one", "copies of the other", "nulls in two columns", "a null"],
)
@pytest.mark.parametrize("ordered", [True, False])
def test_every_tie_is_found(spark: SparkSession, table_name: str, rows: list[Any], *, ordered: bool) -> None:
    table = create(spark, table_name, "id bigint, v string, n int, m int", properties=EDV)
    batch = spark.createDataFrame([(1, *row, 7) for row in rows], "id bigint, v string, n int, m int, seq int")
    with pytest.raises(rd.InputError, match=r"equally new \(id = 1\)"):
        table.upsert(batch, "id", order_by="seq" if ordered else None, delete_when="seq < 0").execute()
    assert head(table) is None


def test_changes_that_differ_inside_of_a_struct_are_a_tie(spark: SparkSession, table_name: str) -> None:
    columns = "id bigint, s struct<a: int, b: int, t: timestamp_ntz>"
    table = create(spark, table_name, columns, properties=EDV)
    at = dt.datetime(2024, 1, 1, 0, 0, 0, 1)  # noqa: DTZ001
    for one, other in [((None, 5, at), (5, None, at)), ((1, 1, at), (1, 1, at.replace(microsecond=2)))]:
        tied = spark.createDataFrame([(1, one), (1, other)], columns)
        with pytest.raises(rd.InputError, match="equally new"):
            table.upsert(tied, "id").execute()
    copies = spark.createDataFrame([(1, (None, 5, at))] * 2, columns)
    assert table.upsert(copies, "id").execute().keys == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, "a", 5), (None, "b", 5)], "a change has no key"),
        ([(1, "a", 5), (2, None, 5)], "'v' is null|v.*null"),
        ([(1, "a", 5), (1, "b", 5)], "equally new"),
    ],
    ids=["no key", "a null that the table refuses", "a tie"],
)
def test_bad_changes_leave_the_schema_as_it_is(
    spark: SparkSession, table_name: str, rows: list[Any], message: str
) -> None:
    table = create(spark, table_name, "id bigint, v string NOT NULL", properties=EDV)
    batch = spark.createDataFrame(rows, "id bigint, v string, extra int")
    with pytest.raises(rd.InputError, match=message):
        table.upsert(batch, "id", merge_schema=True).execute()
    assert spark.table(table_name).columns == ["id", "v"]
    table.upsert(spark.createDataFrame(rows[:1], batch.schema), "id", merge_schema=True).execute()
    assert_same_rows(table.read(), [(1, "a", 5)])


def test_a_refused_upsert_leaves_the_schema_as_it_is(spark: SparkSession, table_name: str) -> None:
    """Every refusal comes before a column is added or widened."""
    table = create(spark, table_name, "id int, region string, n int, v string", "region", properties=EDV)
    batch = spark.sql("SELECT 7L id, 'EU' region, 5L n, 'a' v, 1 extra")
    before = (spark.table(table_name).dtypes, stored_files(table), table.refresh().metadata.specs)
    refused: list[tuple[str, dict[str, Any], Any]] = [
        ("cannot write the deletes as hash-map", {"key": "id", "encoding": "hash-map"}, batch),
        ("nonsense", {"key": "id", "encoding": "nonsense"}, batch),
        ("nonsense", {"key": "id", "scope": "nonsense"}, batch),
        (
            "cannot be a key",
            {"key": ["id", "x"]},
            batch.drop("extra").selectExpr("*", "1D x"),
        ),
        ("'n'", {"key": "id"}, batch.drop("n").selectExpr("*", "array(1) n")),
        ("'n'", {"key": "id", "columns": ["n", "extra"]}, batch.drop("n").selectExpr("*", "array(1) n")),
        ("no key", {"key": "id", "columns": ["extra"]}, batch.drop("id").selectExpr("*", "cast(null as bigint) id")),
        ("equally new", {"key": "id", "columns": ["extra"]}, batch.unionAll(batch.drop("extra").selectExpr("*", "2"))),
        ("extra", {"key": "id"}, batch.drop("extra").selectExpr("*", "INTERVAL '1' DAY extra")),
    ]
    for message, arguments, changes in refused:
        with pytest.raises(rd.RowDeltaError, match=message):
            table.upsert(changes, merge_schema=True, **arguments).execute()
        now = (spark.table(table_name).dtypes, stored_files(table), table.refresh().metadata.specs)
        assert now == before, message
    assert table.upsert(batch, "id", merge_schema=True).execute().rows_written == 1
    assert [kind for _, kind in table.read().dtypes] == ["bigint", "string", "bigint", "string", "int"]
    table.upsert(spark.sql("SELECT 7L id, 9 more"), "id", columns=["more"], merge_schema=True).execute()
    assert_same_rows(table.read(), [(7, "EU", 5, "a", 1, 9)])


@pytest.mark.parametrize("version", [2, 3])
def test_keys_are_deleted_where_older_snapshots_have_expired(
    spark: SparkSession, table_name: str, version: int
) -> None:
    table = create(spark, table_name, "id bigint, v string", version=version, properties=EDV)
    for number in range(3):
        append_ids(spark, table_name, [number])
        table.delete_keys(keys(spark, number + 10), "id").execute()
    table.expire(older_than=dt.timedelta(0), retain_last=1).execute()
    assert len(table.refresh().metadata.snapshots) == 1
    table.delete_keys(keys(spark, 1), "id").execute()
    table.upsert(spark.createDataFrame([(2, "new")], "id bigint, v string"), "id").execute()
    assert_same_rows(table.read(), [(0, "v"), (2, "new")])
    table.resolve().execute()
    assert_same_rows(spark.table(table_name), [(0, "v"), (2, "new")])


def test_nothing_is_committed_for_no_changes(spark: SparkSession, table_name: str) -> None:
    table = orders(spark, table_name)
    snapshot = head(table)
    none = changes(spark, *MIXED).where("id > 100")
    for key in ("id", ["id", "v"]):
        result = table.upsert(none, key, order_by="seq", delete_when="op = 'D'").execute()
        assert result.snapshot_id is None
    assert head(table) == snapshot


def test_a_batch_of_deletes_writes_no_rows(spark: SparkSession, table_name: str) -> None:
    table = orders(spark, table_name)
    result = table.upsert(spark.range(0, 3), "id", delete_when=F.lit(True)).execute()
    assert (result.data_files_added, result.keys_deleted) == (0, 3)
    assert_same_rows(table.read(), [(3, "old", 3), (4, "old", 4)])


@pytest.mark.parametrize("key", [["v"], ["id", "v"]])
@pytest.mark.parametrize("version", [2, 3])
def test_keys_of_any_kind_replace_rows(spark: SparkSession, table_name: str, version: int, key: list[str]) -> None:
    table = create(spark, table_name, COLUMNS, version=version)
    one_file(spark, [(1, "a", 1), (1, "b", 2), (2, "a", 3)], COLUMNS).writeTo(table_name).append()
    table.upsert(spark.createDataFrame([(1, "a", 10)], COLUMNS), key).execute()
    expected = [(1, "a", 10), (1, "b", 2)] + ([] if key == ["v"] else [(2, "a", 3)])
    assert_same_rows(table.read(), expected)
    assert_same_rows(spark.table(table_name), expected)


def test_columns_that_do_not_fit_are_refused(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint NOT NULL, v string, n int", properties=EDV)
    refused = {
        "has no column extra": (spark.sql("SELECT 1L id, 'a' v, 1 n, 1 extra"), "id"),
        "the changes have no column id": (spark.sql("SELECT 'a' v, 1 n"), "id"),
        "the changes have no column id\n": (spark.sql("SELECT 1L order_id, 'a' v, 1 n"), "id"),
        "changes must be a DataFrame of Spark, not list": (cast("Any", [(1, "a", 1)]), "id"),
        "no column 'what'": (spark.sql("SELECT 1L id"), "what"),
        "string cannot be stored in column 'n' of type int": (spark.sql("SELECT 1L id, 'a' v, 'b' n"), "id"),
        "key column 'id' is string": (spark.sql("SELECT '1' id"), "id"),
        "the changes have no column id, which the table requires": (spark.sql("SELECT 'a' v"), "v"),
        "column 'id' is null": (spark.sql("SELECT cast(null as bigint) id, 'a' v"), "id"),
        "column 'v' is null": (spark.sql("SELECT 1L id, cast(null as string) v"), ["id", "v"]),
    }
    for message, (frame, key) in refused.items():
        with pytest.raises(rd.InputError, match=message):
            table.upsert(frame, key).execute()
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        table.upsert(spark.sql("SELECT 1L id, 99999999999L n"), "id").execute()
    assert head(table) is None
    assert stored_files(table) == set()


def test_a_missing_column_gets_its_default(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, n int", properties=EDV)
    iceberg = table._handle.gateway.iceberg
    kind, value = iceberg.types.Types.StringType.get(), iceberg.expressions.Expressions.lit("none")
    table._handle.java_table.updateSchema().addColumn("v", kind, "text", value).commit()
    spark.catalog.refreshTable(table_name)
    operation = table.upsert(spark.sql("SELECT 1 ID"), "id")
    assert operation.plan().to_dict()["missing columns"] == "n, v (their default, or null)"
    operation.execute()
    assert_same_rows(table.read(), [(1, None, "none")])


def test_new_columns_join_the_table_when_asked(spark: SparkSession, table_name: str) -> None:
    table = orders(spark, table_name, count=2)
    batch = spark.sql("SELECT 1L id, 'a' v, 5000000000L n, named_struct('x y', 1) s, 7 seq, 'U' op")
    operation = table.upsert(batch, "id", order_by="seq", delete_when="op = 'D'", merge_schema=True)
    assert operation.plan().to_dict()["new columns"] == "s"
    assert [column.name for column in table.refresh().metadata.schema.fields] == ["id", "v", "n"]
    operation.execute()
    assert_same_rows(table.read(), [(0, "old", 0, None), (1, "a", 5000000000, (1,))])


def test_rows_move_between_partitions_when_the_key_does_not_hold_them(spark: SparkSession, table_name: str) -> None:
    table = orders(spark, table_name, parts="v")
    batch = spark.createDataFrame([(1, "elsewhere", 100)], COLUMNS)
    operation = table.upsert(batch, "id")
    scope = operation.plan().to_dict()["scope"]
    assert scope == "global: the key does not contain v, so it does not determine the partition"
    assert operation.execute().vectors == 1
    expected = [(0, "old", 0), (1, "elsewhere", 100), (2, "old", 2), (3, "old", 3), (4, "old", 4)]
    assert_same_rows(table.read(), expected)
    places = spark.sql(f"SELECT partition.v FROM {table_name}.files WHERE content = 0").collect()
    assert {row.v for row in places} == {"old", "elsewhere"}


def test_a_key_with_the_partition_columns_keeps_to_its_partitions(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS, "v, bucket(4, n)", properties=EDV)
    one_file(spark, [(1, "a", 1), (1, "b", 1), (1, None, 1)], COLUMNS).writeTo(table_name).append()
    batch = spark.createDataFrame([(1, "a", 1, "w")], f"{COLUMNS}, extra string").drop("extra")
    operation = table.upsert(batch, ["id", "v", "n"])
    assert operation.plan().to_dict()["scope"] == "partition: the key contains the partition columns"
    operation.execute()
    assert_same_rows(table.read(), [(1, "a", 1), (1, "b", 1), (1, None, 1)])
    # Once the spec has changed, older rows are out of reach of deletes in partitions.
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION FIELD truncate(1, v)")
    table.refresh()
    operation = table.upsert(batch.withColumn("n", F.lit(1)), ["id", "v", "n"])
    assert operation.plan().to_dict()["scope"] == "global: some rows were written under another partition spec"
    with pytest.raises(rd.InputError, match="were written under another partition spec"):
        table.upsert(batch, ["id", "v", "n"], scope="partition").execute()
    operation.execute()
    assert_same_rows(table.read(), [(1, "a", 1), (1, "b", 1), (1, None, 1)])


def test_an_upsert_of_some_columns_runs_as_a_merge(spark: SparkSession, table_name: str) -> None:
    table = orders(spark, table_name, count=3)
    operation = table.upsert(
        changes(spark, *MIXED).drop("n"), "id", order_by="seq", delete_when="op = 'D'", columns=["v"]
    )
    assert operation.plan().to_dict()["how"] == "a merge: to set v alone, the old rows must be read"
    result = operation.execute()
    assert_same_rows(table.read(), [(0, "old", 0), (1, "last", 1), (9, "new", None)])
    assert (result.keys, result.rows_updated, result.rows_inserted, result.rows_deleted) == (4, 1, 1, 1)
    assert result.rows_written == 2


def test_rows_get_ids_and_a_branch_is_its_own(spark: SparkSession, table_name: str) -> None:
    orders(spark, table_name, count=2)
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH ingest")
    ingest = rd.table(spark, table_name, branch="ingest")
    ingest.upsert(spark.createDataFrame([(1, "new", 1), (5, "new", 5)], COLUMNS), "id").execute()
    assert_same_rows(spark.table(table_name), [(0, "old", 0), (1, "old", 1)])
    assert_same_rows(ingest.read(), [(0, "old", 0), (1, "new", 1), (5, "new", 5)])
    ingest.resolve().execute()
    found = spark.sql(f"SELECT id, _row_id FROM {table_name} VERSION AS OF 'ingest'").collect()
    assert len({row._row_id for row in found}) == 3
    assert None not in {row._row_id for row in found}


def test_two_writers_of_one_key_leave_one_row(spark: SparkSession, table_name: str) -> None:
    first = orders(spark, table_name, count=2)
    second = rd.table(spark, table_name)
    one = first.upsert(spark.createDataFrame([(1, "one", 1)], COLUMNS), "id")
    two = second.upsert(spark.createDataFrame([(1, "two", 2)], COLUMNS), "id")
    two.execute()
    one.execute()
    assert_same_rows(first.read(), [(0, "old", 0), (1, "one", 1)])


def test_a_failed_commit_leaves_no_files(spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = orders(spark, table_name, count=2)
    files = stored_files(table)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("rowdelta.change.key_writer.write_vector", fail)
    with pytest.raises(OSError, match="disk full"):
        table.upsert(spark.createDataFrame([(1, "one", 1)], COLUMNS), "id").execute()
    assert stored_files(table) == files


def reporters(table: rd.Table) -> int:
    """The number of metrics reporters of Iceberg's table object, which has no public way to ask for them."""
    reporter = table._handle.java_table.reporter()
    if reporter.getClass().getSimpleName() != "CompositeMetricsReporter":
        return 1
    field = reporter.getClass().getDeclaredField("reporters")
    field.setAccessible(True)
    return int(field.get(reporter).size())


def test_a_table_that_is_written_to_again_and_again_collects_nothing(spark: SparkSession, table_name: str) -> None:
    table = orders(spark, table_name)
    before = reporters(table)
    for number in range(3):
        table.upsert(spark.createDataFrame([(number, "v", 0)], COLUMNS), "id").execute()
    assert reporters(table) == before
