"""Runs the example programs unchanged, each on its own warehouse in the shared Spark."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from tests.support.oracle import assert_same_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def own(spark: SparkSession, tmp_path: Path) -> SparkSession:
    """A session of the shared Spark whose catalog `lake` is an empty folder."""
    return rd.session(tmp_path / "warehouse", delta=True)


def run(name: str, spark: SparkSession, folder: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(spark, folder)


def test_there_is_a_test_for_every_example() -> None:
    tested = {"streaming_cdc.py", "nightly_maintenance.py", "delta_migration.py", "cdc.ipynb"}
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix in {".py", ".ipynb"}} == tested


def test_the_stream_publishes_rows_that_every_engine_reads(own: SparkSession, tmp_path: Path) -> None:
    run("streaming_cdc", own, tmp_path)
    found = own.sql("SELECT id, status, cast(amount as string) FROM lake.shop.orders")
    assert_same_rows(found, [(1, "shipped", "9.50"), (3, "new", "7.25"), (4, "new", "3.10")])
    assert own.table("lake.shop.orders_quarantine").count() == 1


def test_maintenance_leaves_a_table_that_every_engine_reads(
    own: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("nightly_maintenance", own, tmp_path)
    printed = capsys.readouterr().out
    assert "read by only rowdelta" in printed
    assert "now read by v3 engines" in printed
    found = own.sql("SELECT status, count(*) FROM lake.shop.orders GROUP BY status")
    assert_same_rows(found, [*((f"day {day}", 50) for day in range(4)), ("day 4", 100)])


def test_the_mirror_of_a_delta_table_follows_it(
    own: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("delta_migration", own, tmp_path)
    printed = capsys.readouterr().out
    assert "full" in printed
    assert "incremental" in printed
    found = own.sql("SELECT status, count(*) FROM lake.shop.orders GROUP BY status")
    assert_same_rows(found, [("new", 800), ("paid", 100)])


def test_the_notebook_runs_from_top_to_bottom(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "cdc.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["name"]) == (4, "python3")
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert (tmp_path / "warehouse" / "notebook" / "orders").is_dir()
    found = names["spark"].sql("SELECT id, status FROM lake.notebook.orders WHERE id IN (1, 2, 10)")
    assert_same_rows(found, [(1, "shipped"), (10, "new")])
