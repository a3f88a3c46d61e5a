from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli.app import app
from tests.support.oracle import assert_same_ids
from tests.support.tables import append_ids, create, head, keys, stored_files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

runner = CliRunner()


def command(*arguments: str) -> str:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize("name", ["debt", "advise", "expire", "remove-orphans", "remove-dangling"])
def test_help_has_an_example(name: str) -> None:
    assert f"Example: rowdelta {name}" in " ".join(command(name, "--help").replace("│", " ").split())


def test_a_table_is_maintained_from_the_shell(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path
) -> None:
    table = create(
        spark, table_name, "id bigint, v string", properties={"write.delete.equality-vector.enabled": "true"}
    )
    append_ids(spark, table_name, range(100))
    table.delete_keys(keys(spark, 5_000), key="id").execute()
    table.delete_keys(keys(spark, 1, 2), key="id").execute()
    place = (table_name, "--warehouse", str(warehouse))

    text = command("debt", *place, "--html", str(tmp_path / "d.html"), "--plot", str(tmp_path / "d.png"))
    assert "readers: only rowdelta" in text
    assert (tmp_path / "d.html").stat().st_size > 5_000
    assert (tmp_path / "d.png").stat().st_size > 5_000
    found = json.loads(command("debt", *place, "--plan", "--json", "--html", str(tmp_path / "again.html")))
    assert (found["keys"], found["dangling_files"], found["iceberg"]) == (2, 1, None)

    text = command("advise", *place)
    assert f"rowdelta resolve {table_name} --warehouse {warehouse}" in text
    assert f"rowdelta remove-dangling {table_name} --warehouse {warehouse}" in text
    advice = json.loads(command("advise", *place, "--json"))
    assert {item["topic"] for item in advice["recommendations"]} >= {"now", "encoding", "mode", "resolve", "expire"}
    assert all(line.startswith("rowdelta ") for item in advice["recommendations"] for line in item["shell"])

    before = head(table)
    assert "1 apply to no data file" in command("remove-dangling", *place, "--plan")
    assert head(table) == before
    assert "1 delete files removed" in command("remove-dangling", *place)
    assert "nothing changed" in command("remove-dangling", *place)

    files = stored_files(table)
    plan = json.loads(command("expire", *place, "--older-than", "0m", "--plan", "--json"))
    assert plan["snapshots"] == "3 of 4 expire"
    assert stored_files(table) == files
    done = json.loads(command("expire", *place, "--older-than", "0m", "--json"))
    assert (done["snapshots_expired"], done["delete_files_removed"]) == (3, 1)
    assert command("expire", *place).startswith("0 snapshots expired")
    assert "no orphan files" in command("remove-orphans", *place)
    assert json.loads(command("remove-orphans", *place, "--older-than", "2d", "--plan", "--json"))["orphan_files"] == []
    result = runner.invoke(app, ["orphans", *place, "--older-than", "1h"])
    assert isinstance(result.exception, rd.InputError)
    assert_same_ids(table.read(), [0, *range(3, 100)])
