"""`rowdelta cdc run`, and the worked example of the documentation."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli import pipeline_run
from rowdelta.cli.app import app
from rowdelta.cli.pipeline_config import read_config
from rowdelta.cli.pipeline_run import _make_reader
from rowdelta.spark import run_sql
from tests.support.events import event
from tests.support.oracle import assert_same_rows
from tests.support.settings import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCS = Path(__file__).parents[2] / "docs" / "cdc.md"


def test_a_pipeline_file_becomes_a_table(spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    lines = [event("c", None, {"id": 1, "v": "a"}), event("u", None, {"id": 1, "v": "b"}, 2), "{broken"]
    (tmp_path / "events" / "1.json").write_text("\n".join(lines))
    config = tmp_path / "pipeline.yaml"
    short = table_name.removeprefix("lake.")  # as on the command line
    config.write_text(
        f"warehouse: {warehouse}\ntable: {short}\ncreate: id bigint NOT NULL, v string\nkey: id\n"
        f"source: {{files: events}}\ncheckpoint: state\nstream: {{on_bad: quarantine}}\n"
    )
    result = CliRunner().invoke(app, ["cdc", "run", "--config", str(config), "--json"], catch_exceptions=False)
    try:
        progress = json.loads(result.output.strip().splitlines()[-1])
        assert (progress["records"], progress["bad"], progress["rows"]) == (3, 1, 1)
        assert_same_rows(rd.table(spark, table_name).read(), [(1, "b")])
        assert spark.table(f"{table_name}_quarantine").count() == 1
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {table_name}_quarantine PURGE")


def test_the_command_line_overrides_how_a_pipeline_writes_deletes(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.json").write_text(event("c", None, {"id": 1, "v": "a"}, 5))
    config = tmp_path / "pipeline.yaml"
    config.write_text(
        f"warehouse: {warehouse}\ntable: {table_name}\nkey: id\nsource: {{files: events}}\ncheckpoint: state\n"
        "create: id bigint NOT NULL, v string, seq bigint, gone boolean\nposition: {seq: source.lsn}\n"
        "stream: {order_by: seq, resolve: false}\n"
    )
    run = ["cdc", "run", "--config", str(config), "--json", "--resolve", "--keep-newer"]
    CliRunner().invoke(app, run, catch_exceptions=False)
    late = [event("u", None, {"id": 1, "v": "late"}, 4), event("d", {"id": 2}, None, 6)]
    (tmp_path / "events" / "2.json").write_text("\n".join(late))
    kept = [*run, "--tombstones", "keep", "--tombstone-column", "gone"]
    result = CliRunner().invoke(app, kept, catch_exceptions=False)
    progress = json.loads(result.output.strip().splitlines()[-1])
    assert (progress["ignored"], progress["inserted"], progress["rows"]) == (1, 0, 1)
    assert_same_rows(rd.table(spark, table_name).read(), [(1, "a", 5, None), (2, None, 6, True)])
    with pytest.raises(rd.InputError, match="position is for format: debezium"):
        _make_reader(replace(read_config(config), format="changes"))


def test_a_pipelines_table_has_its_properties_or_is_not_made(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"format-version": 2, "plain": "a b", "quote": "it's", "path": "a\\b", "variable": "${x}"}
    before = spark.catalog.listTables("lake.db")

    def failing(session: SparkSession, text: str) -> Any:
        if text.startswith("ALTER"):
            raise rd.TableError("no")
        return run_sql(session, text)

    with monkeypatch.context() as patch:
        patch.setattr("rowdelta.cli.pipeline_run.run_sql", failing)
        with pytest.raises(rd.TableError, match="no"):
            pipeline_run._create(spark, table_name, "id bigint", wanted)
    assert spark.catalog.listTables("lake.db") == before
    with settings(spark, {"spark.sql.parser.escapedStringLiterals": "true"}):
        pipeline_run._create(spark, table_name, "id bigint", wanted)
    properties = rd.table(spark, table_name).metadata.properties
    assert {name: properties[name] for name in wanted if name != "format-version"} == {
        "plain": "a b",
        "quote": "it's",
        "path": "a\\b",
        "variable": "${x}",
    }
    assert rd.table(spark, table_name).metadata.format_version == 2
    with monkeypatch.context() as patch:  # one statement is enough for most
        patch.setattr("rowdelta.cli.pipeline_run.run_sql", failing)
        pipeline_run._create(spark, f"{table_name}_2", "id bigint", {"plain": True})
    assert rd.table(spark, f"{table_name}_2").metadata.properties["plain"] == "True"
    spark.sql(f"DROP TABLE {table_name}_2 PURGE")


def test_a_wrong_pipeline_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yaml"
    for text, message in {
        "- a\n": "is not a list of names and values",
        "{": "is not YAML",
        "table: t\n": "has no key, source, checkpoint",
        "table: t\nkey: id\ncheckpoint: c\nsource: {}\n": "source needs either files or kafka",
        "table: t\nkey: id\ncheckpoint: c\nsource: {fils: x}\n": "unknown entries fils",
        "table: t\nkeys: id\n": "unknown entries keys",
    }.items():
        file.write_text(text)
        with pytest.raises(rd.InputError, match=message):
            read_config(file)


def test_unknown_fields_of_a_pipeline_are_those_of_its_reader(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yaml"
    for text, reader in {
        "format: changes": rd.cdc.JsonRows(),
        "format: changes\nunknown_fields: ignore": rd.cdc.JsonRows(unknown_fields="ignore"),
        "format: debezium": rd.cdc.Debezium(),
        "format: debezium\nunknown_fields: ignore": rd.cdc.Debezium(unknown_fields="ignore"),
    }.items():
        file.write_text(f"table: t\nkey: id\ncheckpoint: c\nsource: {{files: x}}\n{text}\n")
        assert _make_reader(read_config(file)) == reader


def test_the_worked_example_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = DOCS.read_text(encoding="utf-8").split("## A worked example")[1]
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    code = code.replace("lake.db.orders", "lake.db.worked")
    code = re.sub(r'"(events|state)', rf'"{tmp_path}/\1', code)
    expected = re.findall(r"```text\n(.*?)```", text, re.DOTALL)[0]
    monkeypatch.setattr(rd, "session", lambda _: spark)
    shown: list[str] = []
    monkeypatch.setattr(type(spark.range(1)), "show", lambda frame: shown.append(frame._show_string(20, True, False)))
    try:
        exec(compile(code, "docs/cdc.md", "exec"), {})
    finally:
        spark.sql("DROP TABLE IF EXISTS lake.db.worked PURGE")
    assert shown[0].strip() == expected.strip()
