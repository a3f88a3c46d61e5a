"""Commands on catalogs that `--conf` and `--catalog-config` describe, and files of rows as their input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli.app import app
from tests.support.oracle import assert_same_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

runner = CliRunner()
CLASS = "org.apache.iceberg.spark.SparkCatalog"


def settings(catalog: str, folder: Path) -> str:
    prefix = f"spark.sql.catalog.{catalog}"
    return f"{prefix} {CLASS}\n{prefix}.type hadoop\n{prefix}.warehouse {folder}\n"


def command(*arguments: str) -> str:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def refused(*arguments: str) -> str:
    result = runner.invoke(app, arguments)
    assert isinstance(result.exception, rd.RowDeltaError), result.exception
    return str(result.exception)


def rows(text: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in json.loads(text)]


def test_a_table_of_any_catalog_is_opened_by_its_name(spark: SparkSession, warehouse: Path, tmp_path: Path) -> None:
    file = tmp_path / "catalogs.conf"
    file.write_text(settings("prod", tmp_path / "prod"))
    place = ("--catalog-config", str(file))
    assert "done" in command("sql", "CREATE TABLE db.t (id bigint) USING iceberg", *place)  # the only catalog: prod
    assert "done" in command("sql", "INSERT INTO prod.db.t VALUES (1), (2)", *place)
    assert (tmp_path / "prod" / "db" / "t").is_dir()
    assert "1 rows deleted" in command("delete", "db.t", "--where", "id = 2", *place)
    assert rows(command("read", "prod.db.t", "--json", *place)) == [(1,)]

    # With a warehouse or another catalog, its name is required.
    both = (*place, "--warehouse", str(warehouse))
    assert rows(command("read", "prod.db.t", "--json", *both)) == [(1,)]
    assert "no table lake.db.t" in refused("read", "db.t", *both)
    two = (*place, "--conf", f"spark.sql.catalog.test={CLASS}", "--conf", "spark.sql.catalog.test.type=hadoop")
    assert rows(command("read", "prod.db.t", "--json", *two)) == [(1,)]
    assert "catalog 'db' is not configured\nHint: a table is catalog.namespace.table" in refused("read", "db.t", *two)
    assert "catalog 'nope' is not configured" in refused("read", "nope.db.t", *place)
    assert "'t' does not say which catalog it is in" in refused("read", "t", *two)
    lines = [item["shell"] for item in json.loads(command("advise", "db.t", "--json", *place))["recommendations"]]
    assert any(f"--catalog-config {file}" in line for shell in lines for line in shell)


@pytest.fixture
def orders(spark: SparkSession, table_name: str) -> str:
    spark.sql(
        f"CREATE TABLE {table_name} (id bigint NOT NULL, code string, amount decimal(20, 2), s struct<x: int, a: int>) "
        "USING iceberg TBLPROPERTIES ('format-version'='3', 'write.delete.equality-vector.enabled'='true')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT id, '0', id, NULL FROM range(4)")
    return table_name


def test_upsert_and_merge_take_files(spark: SparkSession, warehouse: Path, orders: str, tmp_path: Path) -> None:
    place = ("--warehouse", str(warehouse))
    changes = tmp_path / "changes.csv"
    # As text 007 keeps its zeros; the tenth change is newer than the ninth, because seq is read as a number.
    changes.write_text("id,code,amount,op,seq\n1,007,123456789012345678.90,U,9\n1,008,1.00,U,10\n2,,,D,3\n9,9,9,I,4\n")
    words = ("upsert", orders, "--changes", str(changes), "--key", "id", "--order-by", "seq", *place)
    plan = command(*words, "--delete-when", "op = 'D'", "--plan", "--json")
    assert json.loads(plan)["keys"] == "3, of which 1 are deleted"
    told = command(*words, "--delete-when", "op = 'D'")
    assert "3 keys in 1 equality-delete-vector, of which 1 are deleted; 2 rows written" in told

    lines = tmp_path / "rows.json"
    new = {"id": 3, "code": "003", "amount": 98765432109876543.21, "s": {"a": 1, "x": 2}}
    lines.write_text(json.dumps(new).replace("9.876543210987654e+16", "98765432109876543.21") + "\n")
    assert json.loads(command("upsert", orders, "--changes", str(lines), "--key", "id", "--json", *place))["keys"] == 1
    table = rd.table(spark, orders)
    columns = "id, code, cast(amount AS string), s.x, s.a"
    assert_same_rows(
        table.read().selectExpr(*columns.split(", ")),
        [
            (0, "0", "0.00", None, None),
            (1, "008", "1.00", None, None),
            (9, "9", "9.00", None, None),
            (3, "003", "98765432109876543.21", 2, 1),
        ],
    )

    spark.sql("SELECT 0L id, 'zero' code, 5 op UNION ALL SELECT 5L, 'five', 5").coalesce(1).write.parquet(
        str(tmp_path / "new.parquet")
    )
    merge = ("merge", orders, "--source", str(tmp_path / "new.parquet"), *place)
    assert "1 rows updated" in command(*merge, "--on", "id", "--set", "code=s.code", "--no-insert")
    assert "1 rows updated" in command(*merge, "--on", "t.id = s.id", "--set", "code=upper(s.code)", "--no-insert")
    assert rows(command("read", orders, "--where", "id = 0", "--columns", "code", "--json", *place)) == [("ZERO",)]

    changes.write_text("id,code\nx,1\n")
    assert "'x'" in refused("upsert", orders, "--changes", str(changes), "--key", "id", *place)
    changes.write_text("id,code\n1\n")
    assert len(refused("upsert", orders, "--changes", str(changes), "--key", "id", *place).splitlines()) < 10


def test_a_run_of_its_own_prints_json_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "prod.conf").write_text(
        settings("prod", tmp_path / "prod") + "spark.driver.memory 1g\nspark.master local[1]\n"
    )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rowdelta", *words, "--catalog-config", "prod.conf"],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "FORCE_COLOR": ""},
        )

    assert run("sql", "CREATE TABLE prod.db.t AS SELECT 1 AS id, double('NaN') AS x").returncode == 0
    done = run("read", "db.t", "--json")
    assert (json.loads(done.stdout), done.stderr) == ([{"id": 1, "x": "NaN"}], "")
    failed = run("delete", "db.t", "--where", "idd = 1")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.startswith("Error: ")
    assert "A column" in failed.stderr
    assert len(failed.stderr.splitlines()) <= 3
    assert "Traceback" in run("delete", "db.t", "--where", "idd = 1", "--debug").stderr
