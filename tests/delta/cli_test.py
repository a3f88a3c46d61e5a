from __future__ import annotations

import json
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from rowdelta.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_the_command_plans_or_converts_and_reports(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path
) -> None:
    path = tmp_path / "orders"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id bigint) USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    )
    spark.range(0, 20, 1, 1).write.format("delta").mode("append").save(str(path))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id < 5")

    def command(*arguments: str) -> str:
        result = CliRunner().invoke(
            app, ["from-delta", str(path), table_name, "--warehouse", str(warehouse), *arguments]
        )
        assert result.exit_code == 0, result.output
        return result.output

    assert "1 to add where they are" in command("--plan")
    assert not spark.catalog.tableExists(table_name)
    told = command("--verify")
    assert "at Delta version 2 (full): 1 data files added, 0 removed, 1 deletion vectors (0 inline) of 5 rows" in told
    assert "15 rows compared, all equal" in told
    assert "is at Delta version 2 already" in command()
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 7")
    document = json.loads(command("--json"))
    assert (document["mode"], document["version"], document["deletion_vectors"]) == ("incremental", 3, 1)
