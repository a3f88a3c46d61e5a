from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from rowdelta.cli.app import app
from tests.support.oracle import assert_same_rows
from tests.support.tables import append_ids, create, head

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

runner = CliRunner()


def command(*arguments: str) -> str:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.mark.parametrize("words", [("changes",), ("cdc", "follow")])
def test_help_has_an_example(words: tuple[str, ...]) -> None:
    assert f"Example: rowdelta {' '.join(words)}" in " ".join(command(*words, "--help").replace("│", " ").split())


def test_changes_are_shown_and_applied_from_the_shell(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path
) -> None:
    table = create(spark, table_name, "id bigint, v string")
    copy = create(spark, f"{table_name}_copy", "id bigint, v string")
    place = ("--warehouse", str(warehouse))
    apply = ("cdc", "follow", table_name, "--into", copy.name, "--key", "id", "--checkpoint", str(tmp_path), *place)
    try:
        append_ids(spark, table_name, range(30))
        assert command(*apply).startswith("batch 0: all rows up to ")
        start = head(table)
        table.update().set("v", "'w'").where("id = 1").execute()
        table.delete("id > 25").execute()
        read = ("changes", table_name.removeprefix("lake."), "--from", str(start), *place)
        lines = [json.loads(line) for line in command(*read, "--format", "jsonl").splitlines()]
        assert len(lines) == 6
        assert {line["_change_ordinal"] for line in lines} == {0, 1}
        (row,) = json.loads(command(*read, "--columns", "v", "--where", "id < 9", "--images", "after", "--json"))
        assert (row["v"], row["_change_type"]) == ("w", "update_postimage")
        assert "update_preimage" in command(*read, "--to", str(head(table)), "--net", "--key", "id")
        (done,) = [json.loads(line) for line in command(*apply, "--json").splitlines()]
        assert (done["batch_id"], done["snapshots"]) == (1, 2)
        assert_same_rows(copy.read(), table.read())
    finally:
        spark.sql(f"DROP TABLE {copy.name}")
