"""Which column a name refers to: `spark.sql.caseSensitive` decides, for every verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from rowdelta.spark import NameRule
from tests.support.oracle import assert_same_rows
from tests.support.settings import settings
from tests.support.shared_files import share
from tests.support.tables import EDV, create, head, one_file, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    Row = tuple[int, int, str, str]

COLUMNS = "id bigint, ID bigint, v string, V string"
ROWS: list[Row] = [(i, 100 + i, f"v{i}", f"V{i}") for i in range(8)]
CASE = "spark.sql.caseSensitive"


@pytest.fixture
def sensitive(spark: SparkSession) -> Iterator[None]:
    with settings(spark, {CASE: "true"}):
        yield


@pytest.fixture
def table(spark: SparkSession, table_name: str, sensitive: None) -> rd.Table:
    made = create(spark, table_name, COLUMNS, properties={**EDV, "write.delete.hash-map.enabled": "true"})
    share(made, "rows", lambda: one_file(spark, ROWS, COLUMNS))
    return made.refresh()


def source(spark: SparkSession, *rows: Row) -> DataFrame:
    """Rows with the columns in another order than the table's."""
    return one_file(spark, rows, COLUMNS).select("V", "ID", "id", "v")


def test_rows_are_found_and_set_by_the_exact_name(spark: SparkSession, table: rd.Table) -> None:
    rows = {row[0]: row for row in ROWS}
    table.delete("ID = 101").execute()
    del rows[1]
    table.update().set("V", "concat(v, V)").set("ID", "id + 1").where("id = 2 AND ID = 102").execute()
    rows[2] = (2, 3, "v2", "v2V2")
    table.update(mode="copy-on-write").set("v", "V").where("V = 'V3'").execute()
    rows[3] = (3, 103, "V3", "V3")
    assert_same_rows(table.read(), list(rows.values()))
    assert_same_rows(table.read("ID > 105", columns=["V", "v"]), [("V6", "v6"), ("V7", "v7")])
    assert_same_rows(spark.table(table.name), list(rows.values()))
    assert "ID == 107" in table.delete("ID = 107").plan().to_dict()["filter"]


def test_every_clause_of_a_merge_takes_the_column_of_the_same_name(spark: SparkSession, table: rd.Table) -> None:
    rows = {row[0]: row for row in ROWS}
    new = [(0, 50, "n", "N"), (1, 51, "m", "M"), (20, 70, "x", "X")]
    star = table.merge(source(spark, *new), "id").when_matched_update_all("t.ID < 101 AND s.V = 'N'")
    star.when_matched_delete("s.ID = 51").when_not_matched_insert_all().execute()
    rows |= {0: new[0], 20: new[2]}
    del rows[1]
    assert_same_rows(table.read(), list(rows.values()))
    by_other = table.merge(source(spark, (0, 103, "p", "P"), (30, 80, "y", "Y")), ["ID"])
    by_other.when_matched_update({"V": "s.v", "id": "s.id + t.id"}).when_not_matched_insert(
        {"id": "s.ID", "ID": "s.id", "V": "s.v"}
    ).execute()
    rows[3] = (3, 103, "v3", "p")
    rows[80] = (80, 30, None, "y")  # type: ignore[assignment]
    both = table.merge(source(spark, *rows.values()).where("id <> 5"), "t.id = s.id AND t.ID = s.ID")
    both.when_not_matched_by_source_update({"v": "t.V"}).execute()
    rows[5] = (5, 105, "V5", "V5")
    assert_same_rows(table.read(), list(rows.values()))
    rest = table.merge(source(spark, (1000, 106, "q", "Q")), "t.ID = s.ID").when_matched_update_all()
    rest.when_not_matched_by_source_delete("t.V = 'V5'").execute()
    rows[6] = (1000, 106, "q", "Q")
    del rows[5]
    assert_same_rows(table.read(), list(rows.values()))


@pytest.mark.parametrize("encoding", [None, "hash-map"])
def test_keys_are_matched_by_the_exact_name(spark: SparkSession, table: rd.Table, encoding: rd.Encoding | None) -> None:
    rows = {row[0]: row for row in ROWS}
    table.upsert(source(spark, (0, 7, "a", "A"), (9, 109, "b", "B")), "id", encoding=encoding).execute()
    rows |= {0: (0, 7, "a", "A"), 9: (9, 109, "b", "B")}
    table.upsert(source(spark, (11, 102, "c", "C")), "ID", encoding=encoding).execute()
    rows[2] = (11, 102, "c", "C")
    table.delete_keys(source(spark, (4, 103, "", "")), "id", encoding=encoding).execute()
    table.delete_keys(source(spark, (6, 105, "", "")), ["ID"], encoding=encoding).execute()
    table.delete_keys(source(spark, (6, 106, "v6", "V6"), (7, 0, "v7", "V7")), ["ID", "id"]).execute()
    table.upsert(source(spark, (3, 0, "set", "no")), "id", columns=["v"]).execute()
    rows[3] = (3, 103, "set", "V3")
    for gone in (4, 5, 6):
        del rows[gone]
    assert_same_rows(table.read(), list(rows.values()))
    table.resolve().execute()
    assert_same_rows(spark.table(table.name), list(rows.values()))
    table.compact(data_files="ID > 100", options={"rewrite-all": "true"}).execute()
    assert_same_rows(table.read(), list(rows.values()))


def test_statements_keep_names_apart_by_case(spark: SparkSession, table: rd.Table) -> None:
    name, rows = table.name, {row[0]: row for row in ROWS}
    table.delete_keys(source(spark, ROWS[7]), "ID").execute()
    source(spark, (1, 11, "w", "W"), (40, 41, "x", "X")).createOrReplaceTempView("src")
    rd.sql(
        spark,
        f"MERGE INTO {name} T USING src t ON T.id = t.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT (ID, id, V) VALUES (t.id, t.ID, t.v)",
    )
    rd.sql(spark, f"UPDATE {name} SET V = v, ID = id WHERE ID = 102")
    rd.sql(spark, f"DELETE FROM {name} WHERE {name}.ID = 103 OR {name}.id = 4")
    rows |= {1: (1, 11, "w", "W"), 2: (2, 2, "v2", "v2"), 41: (41, 40, None, "x")}  # type: ignore[dict-item]
    for gone in (3, 4, 7):
        del rows[gone]
    assert_same_rows(rd.sql(spark, f"SELECT * FROM {name}"), list(rows.values()))
    found = rd.sql(
        spark,
        f"WITH a AS (SELECT {name}.ID FROM {name}), A AS (SELECT id FROM {name}) "
        "SELECT count(*) FROM a JOIN A ON a.ID = A.id",
    )
    assert found.first() == (1,)


def test_a_name_in_another_case_is_another_name(spark: SparkSession, table: rd.Table) -> None:
    frame, before = source(spark, ROWS[0]), (head(table), stored_files(table))
    upper = frame.toDF("V", "ID", "Id", "v")
    refused: list[tuple[str, Callable[[], Any]]] = [
        ("no column 'Id' in the table", lambda: table.delete_keys(frame, "Id")),
        ("no column 'Id' in the table", lambda: table.upsert(frame, "Id").execute()),
        ("no column 'Id' in the table", lambda: table.update().set("Id", "1").execute()),
        ("no column 'Id' in the table", lambda: table.merge(frame, ["Id"])),
        ("the keys have no column 'id'", lambda: table.delete_keys(upper, "id")),
        ("the changes have no column id", lambda: table.upsert(upper, "id").execute()),
        ("has no column Id", lambda: table.upsert(upper, "ID").execute()),
        ("the source has no column 'id'", lambda: table.merge(upper, "id")),
        ("the source has no column id", lambda: table.merge(upper, "ID").when_matched_update_all().execute()),
    ]
    for message, call in refused:
        with pytest.raises(rd.InputError, match=message):
            call()
    assert (head(table), stored_files(table)) == before


def test_in_any_case_a_name_finds_its_column(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "Id bigint, Name string, at struct<X: int>", "Id", properties=EDV)
    one_file(spark, [(i, f"n{i}", (i,)) for i in range(6)], "ID bigint, NAME string, AT struct<x: int>").writeTo(
        table_name
    ).append()
    table.refresh()
    assert table.delete("iD < 3").plan().to_dict()["filter"] == "(not_null(Id) and Id < 3)"  # files are skipped by it
    table.update().set("NAME", "upper(nAME)").set("AT.x", "ID * 10").where("iD = 0").execute()
    changes = spark.sql("SELECT named_struct('x', 1) aT, 'm' nAmE, 1L iD, 'U' Op")
    table.merge(changes, "ID").when_matched_update_all().execute()
    table.merge(changes.withColumn("id", changes["iD"] + 1), "t.ID = S.Id").when_matched_update(
        {"nAME": "S.name"}
    ).execute()
    table.upsert(changes.withColumn("id", changes["iD"] + 2), "ID", delete_when="oP = 'D'").execute()
    table.delete_keys(spark.sql("SELECT 4L iD"), "ID").execute()
    rd.sql(spark, f"DELETE FROM {table_name} T WHERE t.ID = 5")
    expected = [(0, "N0", (0,)), (1, "m", (1,)), (2, "m", (2,)), (3, "m", (1,))]
    assert_same_rows(table.read(), expected)
    assert_same_rows(table.read("NAME = 'm'", columns=["iD"]), [(1,), (2,), (3,)])


def test_names_that_differ_only_in_case_are_refused_where_case_does_not_count(
    spark: SparkSession, table: rd.Table
) -> None:
    frame, before = source(spark, ROWS[0]), (head(table), stored_files(table))
    one = one_file(spark, [(1, "x")], "id bigint, w string")
    refused: list[Callable[[], Any]] = [
        lambda: table.read().count(),
        lambda: table.read("v = 'v1'").count(),
        lambda: table.read(snapshot_id=before[0]).count(),
        lambda: table.delete("v = 'v1'").execute(),
        lambda: table.delete("v = 'v1'").plan(),
        lambda: table.update().set("id", "1").execute(),
        lambda: table.merge(frame, "id").when_matched_delete().execute(),
        lambda: table.merge(one, "t.id = s.id").when_matched_delete().execute(),
        lambda: table.upsert(one, "id").execute(),
        lambda: table.upsert(frame, "id").execute(),
        lambda: table.delete_keys(one, "id").execute(),
        lambda: rd.sql(spark, f"DELETE FROM {table.name} WHERE id = 1"),
    ]
    with settings(spark, {CASE: "false"}):
        for call in refused:
            with pytest.raises(rd.RowDeltaError) as error:
                call()
            assert "spark.sql.caseSensitive" in str(error.value.hint)
    assert (head(table), stored_files(table)) == before


def test_a_source_with_two_columns_of_one_name_is_refused(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    one_file(spark, [(1, "a")], "id bigint, v string").writeTo(table_name).append()
    before = head(table)
    twice = one_file(spark, [(1, 2, "b")], "id bigint, ID bigint, v string")
    for call in (
        lambda: table.merge(twice, "id"),
        lambda: table.merge(twice.toDF("id", "V", "v"), "id").when_matched_update_all().execute(),
        lambda: table.delete_keys(twice, "id"),
        lambda: table.upsert(twice, "id").execute(),
    ):
        with pytest.raises(rd.InputError, match=r"which differ only in case|more than one column 'id'"):
            call()
    assert head(table) == before


def test_a_table_grows_by_the_exact_name(spark: SparkSession, table_name: str, sensitive: None) -> None:
    """Adds a column and widens another, in a table with columns whose names differ only in case."""
    table = create(spark, table_name, "id bigint, ID string, v int, V string", properties=EDV)
    changes = one_file(spark, [(1, "x", 5, "y", "z")], "id bigint, ID string, v bigint, V string, Id string")
    table.upsert(changes, "id", merge_schema=True).execute()
    assert_same_rows(table.read(), [(1, "x", 5, "y", "z")])
    assert spark.table(table_name).schema["v"].dataType.simpleString() == "bigint"
    some = one_file(spark, [(1, "N", "new")], "id bigint, V string, iD string")
    table.upsert(some, "id", columns=["V", "iD"], merge_schema=True).execute()
    assert_same_rows(table.read(), [(1, "x", 5, "N", "z", "new")])
    schema = table.refresh().metadata.schema
    assert [schema.find(name).name for name in ("id", "ID", "Id", "iD")] == ["id", "ID", "Id", "iD"]
    with pytest.raises(rd.InputError, match="differ only in case"):
        schema.find("ID", NameRule())
