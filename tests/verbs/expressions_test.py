"""Text that must be one whole SQL expression: incomplete or trailing text is refused before anything happens."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli.app import app
from rowdelta.spark import Gateway, check_expression
from tests.support.tables import create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, status string, amount double"
# Spark's parser takes all but the last two for an expression with an alias, or for several columns.
BROKEN = [
    "status = 'new' AND",
    "id < 50 limit",
    "id < 50 OR",
    "id > 90\nAND -- and so on\n",
    "id < 5 `x`",
    "id < 5 AS small",
    "explode(array(true, false))",
    "*",
    "t.*",
    "id < 5;",
    "id < 5) OR (id > 0",
]
WHOLE = [
    "id < 5 -- the small ones",
    "id /* the key */ < 5",
    "struct(id AS a, status b).a < 5",
    "id IN (SELECT 1 AS x)",
    "EXISTS (SELECT 1 one)",
    "CASE WHEN id < 5 THEN true END",
    "status = 'a' 'b'",
    "`limit` < 5",
    "exists(array(id), x -> x < 5)",
    "id < 5 AND status LIKE '50 limit'",
    "named_struct('a', id).a < 5",
    "\n id\n< 5\n",
]


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[rd.Table]:
    """Three rows, which no test here changes."""
    name = "lake.db.whole_expressions"
    made = create(spark, name, COLUMNS)
    spark.sql(f"INSERT INTO {name} VALUES (1, 'new', 1.0), (2, 'void', 2.0), (100, 'new', 3.0)")
    yield made.refresh()
    spark.sql(f"DROP TABLE {name}")


@pytest.fixture(scope="module")
def changes(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, "late", 5.0, "U")], f"{COLUMNS}, op string")


USES: dict[str, Callable[[rd.Table, Any, str], Any]] = {
    "delete": lambda t, _, text: t.delete(text),
    "update where": lambda t, _, text: t.update().set("amount", "0").where(text),
    "update filter": lambda t, _, text: t.update().set("amount", "0").where("id > 0").filter(text),
    "update set": lambda t, _, text: t.update().set("amount", text),
    "merge on": lambda t, s, text: t.merge(s, text),
    "merge delete": lambda t, s, text: t.merge(s, "id").when_matched_delete(text),
    "merge update": lambda t, s, text: t.merge(s, "id").when_matched_update({"amount": "s.amount"}, text),
    "merge update value": lambda t, s, text: t.merge(s, "id").when_matched_update({"amount": text}),
    "merge update all": lambda t, s, text: t.merge(s, "id").when_matched_update_all(text),
    "merge insert": lambda t, s, text: t.merge(s, "id").when_not_matched_insert({"id": "s.id"}, text),
    "merge insert value": lambda t, s, text: t.merge(s, "id").when_not_matched_insert({"id": text}),
    "merge insert all": lambda t, s, text: t.merge(s, "id").when_not_matched_insert_all(text),
    "merge rest": lambda t, s, text: t.merge(s, "id").when_not_matched_by_source_delete(text),
    "merge rest value": lambda t, s, text: t.merge(s, "id").when_not_matched_by_source_update({"amount": text}),
    "merge rest update": lambda t, s, text: t.merge(s, "id").when_not_matched_by_source_update({"amount": "0"}, text),
    "upsert deletes": lambda t, s, text: t.upsert(s, key="id", delete_when=text),
    "upsert order": lambda t, s, text: t.upsert(s, key="id", order_by=["op", text]),
    "read": lambda t, _, text: t.read(text),
    "resolve": lambda t, _, text: t.resolve(partitions=text),
    "rewrite deletes": lambda t, _, text: t.rewrite_deletes(delete_files=text),
    "compact": lambda t, _, text: t.compact(data_files=text),
}


@pytest.mark.parametrize("use", USES)
def test_a_text_that_is_not_one_whole_expression_is_refused(use: str, table: rd.Table, changes: DataFrame) -> None:
    before = table.metadata.current_snapshot_id
    for text in [*BROKEN, "", " ", "-- nothing"]:
        with pytest.raises(rd.InputError):
            USES[use](table, changes, text)
    assert table.refresh().metadata.current_snapshot_id == before


def test_streams_refuse_such_a_text_too(spark: SparkSession, table: rd.Table) -> None:
    source = spark.readStream.format("rate").load().selectExpr("value id", "'x' status", "1.0D amount", "timestamp ts")
    for text in BROKEN:
        with pytest.raises(rd.InputError):
            rd.cdc.stream(source, table, key="id", order_by="ts", delete_when=text)
        with pytest.raises(rd.InputError):
            rd.cdc.stream(source, table, key="id", order_by=text)


def test_whole_expressions_are_taken_as_they_are(spark: SparkSession, table: rd.Table) -> None:
    gateway = Gateway(spark)
    for text in WHOLE:
        assert check_expression(gateway, text, "the predicate") == text
    plan = table.update().set("amount", "0").where("id < 5 -- small").filter("id > 1 -- large").plan()
    assert "id < 5) and id > 1)" in str(plan)
    assert table.read("id < 5 -- small").count() == 2


def test_the_error_says_what_was_taken_for_an_alias_and_where(table: rd.Table) -> None:
    with pytest.raises(rd.InputError) as found:
        table.delete("status = 'new'\n  AND id < 50 limit")
    assert str(found.value) == (
        "the predicate is not one whole expression: Spark SQL reads 'limit' as an alias\n"
        "== SQL (line 2, position 15) ==\n"
        "  AND id < 50 limit\n"
        "              ^^^^^\n"
        "Hint: complete the expression, or remove these words; text values are quoted: 'paid'"
    )
    with pytest.raises(rd.InputError, match=r"(?s)new value of 'amount'.*PARSE_SYNTAX_ERROR.*line 1, pos 4"):
        table.update().set("amount", "1 + ")
    with pytest.raises(rd.InputError, match="the predicate must be SQL text or a Column, not bool: True"):
        table.delete(True)  # type: ignore[arg-type]


def test_a_column_that_makes_several_rows_of_one_is_refused(table: rd.Table) -> None:
    with pytest.raises(rd.InputError, match=r"cannot be explode\(\.\.\.\)"):
        table.update().set("amount", F.explode(F.array(F.lit(1.0), F.lit(2.0))))


def test_the_command_line_refuses_them_too(warehouse: Path, table: rd.Table, tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text('{"id": 1, "status": "late", "amount": 5.0, "op": "U"}\n')
    before, name = table.metadata.current_snapshot_id, table.name.removeprefix("lake.")
    given = ["--warehouse", str(warehouse)]
    for command in (
        ["delete", name, "--where", "id = 50 AND"],
        ["update", name, "--set", "amount=0 WHERE", "--where", "true"],
        ["update", name, "--set", "amount=0", "--where", "id = 50 AND"],
        ["read", name, "--where", "id = 50 AND"],
        ["merge", name, "--source", str(rows), "--on", "t.id = s.id AND"],
        ["merge", name, "--source", str(rows), "--on", "id", "--set", "amount=s.amount END"],
        ["upsert", name, "--changes", str(rows), "--key", "id", "--delete-when", "op = 'U' AND"],
        ["upsert", name, "--changes", str(rows), "--key", "id", "--order-by", "op DESC"],
        ["resolve", name, "--partitions", "id = 50 AND"],
        ["rewrite-deletes", name, "--delete-files", "bytes > 1 AND"],
        ["compact", name, "--data-files", "id = 50 AND"],
    ):
        done = CliRunner().invoke(app, [*command, *given])
        assert isinstance(done.exception, rd.InputError), (command, done.output)
        assert "as an alias" in str(done.exception)
    assert table.refresh().metadata.current_snapshot_id == before


def test_values_of_python_are_set_as_they_are(spark: SparkSession, table_name: str) -> None:
    kinds = "i int, l bigint, d double, b boolean, m decimal(38,2), day date, ts timestamp, ntz timestamp_ntz, x binary"
    created = create(spark, table_name, f"id int, {kinds}, n string")
    nulls = ", ".join(["null"] * len(kinds.split(", ")))
    spark.sql(f"INSERT INTO {table_name} VALUES (1, {nulls}, 'gone'), (2, {nulls}, 'kept')")
    values: dict[str, Any] = {
        "i": 5,
        "l": 2**40,
        "d": float("inf"),
        "b": True,
        "m": 10**30,
        "day": dt.date(1066, 10, 14),
        "ts": dt.datetime(1066, 10, 14, 9, 0, 0, 123456, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        "ntz": dt.datetime(1066, 10, 14, 9, 0, 0, 123456),  # noqa: DTZ001 - a time without a zone is meant
        "x": b"\x00bytes",
        "n": None,
    }
    update = created.update().where("id = 1")
    for name, value in values.items():
        update = update.set(name, value)
    assert "i = 5, l = 1099511627776, d = inf, b = True" in str(update.plan())
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        assert update.execute().rows_updated == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    row = created.read("id = 1").selectExpr("*", "CAST(ts AS string) text", "CAST(ntz AS string) local").first()
    assert row is not None
    found = row.asDict()
    assert (found.pop("text"), found.pop("local")) == ("1066-10-14 07:00:00.123456", "1066-10-14 09:00:00.123456")
    del found["ts"], found["ntz"], values["ts"], values["ntz"]
    assert found == {"id": 1, **values, "m": Decimal("1000000000000000000000000000000.00")}
    merge = created.merge(created.read("id = 2").select("id"), "id").when_matched_update({"i": 7, "n": F.lit("late")})
    assert merge.execute().rows_updated == 1
    assert created.read("id = 2").select("i", "n").first() == (7, "late")
    with pytest.raises(rd.InputError, match="cannot be NaN, which no decimal column holds"):
        created.update().set("m", Decimal("NaN"))
    with pytest.raises(rd.InputError, match=r"must be SQL text or a Column, not list: \[1\]"):
        created.update().set("i", [1])  # type: ignore[arg-type]
