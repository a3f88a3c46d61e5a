from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli.app import app
from tests.support.tables import EDV, append_ids, create

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


runner = CliRunner()


def command(*arguments: str) -> str:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("word", ["sql", "delete", "update"])
def test_help_has_an_example(word: str) -> None:
    assert "Example" in command(word, "--help")


def test_sql_delete_and_update_from_the_shell(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(10))
    table.delete_keys(spark.createDataFrame([(3,)], "id bigint"), key="id").execute()
    place, short = ("--warehouse", str(warehouse)), table_name.removeprefix("lake.")
    assert "mode" in command("delete", short, "--where", "id = 1", *place, "--plan")
    assert "1 rows deleted" in command("delete", short, "--where", "id = 1", *place)
    updated = ("update", short, "--set", "v=concat(v, '=', id)", "--set", "id=id + 100", "--where", "id > 7")
    assert json.loads(command(*updated, *place, "--json"))["rows_updated"] == 2
    assert "nothing changed" in command("delete", short, "--where", "id = 1", *place)
    found = json.loads(command("sql", f"SELECT id, v FROM {short} ORDER BY id", "--limit", "7", *place, "--json"))
    assert [row["id"] for row in found] == [0, 2, 4, 5, 6, 7, 108]
    assert found[-1]["v"] == "v=8"
    assert "rows_deleted" in command("sql", f"DELETE FROM {short} WHERE id = 0", *place)
    assert "done" in command("sql", f"ALTER TABLE {short} SET TBLPROPERTIES ('a'='b')", *place)


@pytest.mark.parametrize(
    "words",
    [("sql", "SELEC 1"), ("sql", "SELECT * FROM missing"), ("update", "db.missing", "--set", "a=1", "--where", "true")],
)
def test_an_error_is_rowdeltas_with_sparks_text(spark: SparkSession, warehouse: Path, words: tuple[str, ...]) -> None:
    result = runner.invoke(app, [*words, "--warehouse", str(warehouse)])
    assert isinstance(result.exception, rd.RowDeltaError)
    assert "Project" not in str(result.exception)
