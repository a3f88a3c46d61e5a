"""`rowdelta resolve`, `rewrite-deletes` and `compact`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from rowdelta.cli.app import app
from tests.support.oracle import assert_same_rows, rows
from tests.support.tables import EDV, append_ids, create, head, keys

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

runner = CliRunner()


@pytest.mark.parametrize("command", ["resolve", "rewrite-deletes", "compact"])
def test_help_has_an_example(command: str) -> None:
    assert "Example" in runner.invoke(app, [command, "--help"]).output


def test_the_commands_plan_run_and_report(spark: SparkSession, table_name: str, warehouse: Path) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(10))
    append_ids(spark, table_name, range(10, 20))
    table.delete_keys(keys(spark, 3), "id").execute()
    live, before = rows(table.read()), head(table)

    def run(command: str, *arguments: str) -> str:
        result = runner.invoke(app, [command, table_name, "--warehouse", str(warehouse), *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    def told(command: str, *arguments: str) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(run(command, *arguments, "--json"))
        return loaded

    assert "1 to scan, 1 pruned" in told("resolve", "--plan")["files"]
    assert "rewrite_data_files" in run("compact", "--plan")
    assert "1 into 1 as full-row" in run("rewrite-deletes", "--to", "full-row", "--plan")
    assert head(table) == before
    assert told("rewrite-deletes", "--to", "full-row")["equality_deletes"] == 1
    assert "skipped" in run("rewrite-deletes", "--to", "hash-map")
    text = run("resolve", "--memory", "16m")
    assert "1 equality deletes resolved (0 dangling), 1 rows found, 1 delete files written" in text
    assert ", verified" in text
    assert "nothing changed" in run("resolve", "--no-verify")
    found = told("compact", "--option", "rewrite-all=true", "--strategy", "sort", "--sort-order", "id DESC")
    assert (found["data_files_rewritten"], found["data_files_added"]) == (2, 1)
    assert "0 data files rewritten" in run("compact")
    spark.catalog.refreshTable(table_name)  # each command has a session of its own
    assert_same_rows(spark.table(table_name), live)
    bad = runner.invoke(app, ["compact", table_name, "--warehouse", str(warehouse), "--option", "rewrite-all"])
    assert bad.exit_code == 2
    assert "is not an option" in " ".join(bad.output.replace("│", " ").split())
