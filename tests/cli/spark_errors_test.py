"""Errors: one message and exit code 1; `--debug` shows where they come from."""

from __future__ import annotations

import json
import os
import pty
import sys
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli import connect as warehouse
from rowdelta.cli import main
from rowdelta.cli import puffin_report as puffin
from rowdelta.cli import run_operation as changes
from rowdelta.cli.app import app
from rowdelta.cli.output import print_rows
from rowdelta.spark.spark_errors import shorten_message

REST_DOWN = (
    "An error occurred while calling o77.sql.\n: org.apache.iceberg.exceptions.RESTException: Error occurred while "
    "processing GET request\n\tat org.apache.iceberg.rest.HTTPClient.execute(HTTPClient.java:357)\n\t... 40 more\n"
    "Caused by: org.apache.hc.client5.http.HttpHostConnectException: Connect to http://localhost:1 failed\n"
    "\tat java.base/sun.nio.ch.Net.pollConnect(Native Method)\n"
    "Caused by: java.net.ConnectException: Connection refused\n\tat java.base/sun.nio.ch.Net.connect(Net.java:1)\n"
)
UNRESOLVED = (
    "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `idd` cannot be resolved. Did you mean [`id`]? "
    "SQLSTATE: 42703; line 1 pos 0;\n'Filter ('idd = 1)\n+- SubqueryAlias lake.db.t\n"
    "\n\nJVM stacktrace:\norg.apache.spark.sql.AnalysisException\n\tat a.b.C(C.scala:1)"
)
TASK = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in stage "
    "3.0 (TID 4) (localhost executor driver): org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The "
    "value 'x' cannot be cast.\n\tat org.apache.spark.A(A.scala:1)\n\nDriver stacktrace:\n\tat b.C(C.scala:2)"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            REST_DOWN,
            (
                "RESTException: Error occurred while processing GET request\n"
                "because of ConnectException: Connection refused"
            ),
        ),
        (UNRESOLVED, UNRESOLVED.split(";\n", maxsplit=1)[0]),
        (TASK, "SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'x' cannot be cast."),
        ("[CAST] The value 'x'.\n\n== DataFrame ==\n\"cast\" was called from\na.py:47\n", "[CAST] The value 'x'."),
        ("[PARSE_SYNTAX_ERROR] Syntax error.\n\n== SQL ==\nSELEC 1\n^^^\n", None),
        ("", "Spark failed without a message"),
    ],
)
def test_errors_of_spark_and_java_are_a_few_lines(text: str, expected: str | None) -> None:
    short = shorten_message(text, text)
    if expected is None:
        assert short == text.strip().replace("\n\n", "\n")
    else:
        assert short == expected
    assert len(shorten_message("long " * 1_000)) < 700


def fails(monkeypatch: pytest.MonkeyPatch, error: Exception, *words: str) -> int:
    def describe(_: Path) -> None:
        raise error

    monkeypatch.setattr(puffin, "describe", describe)
    monkeypatch.setattr(sys, "argv", ["rowdelta", *words, __file__])
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(str(exit_.value.code))


def test_an_error_is_one_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert fails(monkeypatch, rd.InputError("no [red] column", hint="there is [b]"), "puffin") == 1
    assert capsys.readouterr() == ("", "Error: no [red] column\nHint: there is [b]\n")
    assert fails(monkeypatch, KeyError("strange"), "puffin") == 1
    assert capsys.readouterr() == ("", "Error: KeyError: 'strange'\nHint: --debug shows where it happened\n")


@pytest.mark.parametrize("words", [("--debug", "puffin"), ("puffin", "--debug")])
def test_debug_shows_the_traceback_before_and_after_the_command(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fails(monkeypatch, rd.InputError("no column"), *words) == 1
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert "in describe" in told
    assert told.endswith("rowdelta.errors.InputError: no column\n")


def test_debug_shows_the_error_of_java_behind_one_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for debug in ([], ["--debug"]):
        error = rd.InputError("no column")
        error.__context__, error.__suppress_context__ = PySparkException("the words of Spark"), True
        assert fails(monkeypatch, error, "puffin", *debug) == 1
        assert ("the words of Spark" in capsys.readouterr().err) == bool(debug)


def test_version_and_completion_need_no_spark() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["--version"]).output == f"rowdelta {rd.__version__}\n"
    words = {"_ROWDELTA_COMPLETE": "complete_bash", "COMP_WORDS": "rowdelta re", "COMP_CWORD": "1"}
    found = runner.invoke(app, [], env=words, prog_name="rowdelta").output.split()
    assert found == ["read", "resolve", "rewrite-deletes", "remove-dangling", "remove-orphans"]
    words |= {"COMP_WORDS": "rowdelta read --cat", "COMP_CWORD": "2"}
    assert runner.invoke(app, [], env=words, prog_name="rowdelta").output.split() == ["--catalog-config"]


@pytest.mark.parametrize(
    ("values", "message"),
    [(["amount: 3"], "'amount: 3' sets nothing"), (["a=1", "a=2"], "column 'a' is set twice")],
)
def test_a_set_option_without_a_value_is_wrong_usage(values: list[str], message: str, tmp_path: Path) -> None:
    given = [part for value in values for part in ("--set", value)]
    (tmp_path / "rows.csv").touch()
    source = str(tmp_path / "rows.csv")
    for command in (["update", "db.t", "--where", "true"], ["merge", "db.t", "--source", source, "--on", "id"]):
        called = CliRunner().invoke(app, [*command, *given, "--warehouse", "none"])
        assert (called.exit_code, message in called.output) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("resolve", "--memory", "lots"), "memory='lots' is not a size; write it as 512m or 2g"),
        (("compact", "--memory", "1k"), "memory='1k' is too small"),
        (("compact", "--strategy", "best"), "'best' is not one of binpack, sort, zorder"),
        (("compact", "--option", "fast"), "'fast' is not an option; write --option name=value"),
        (("rewrite-deletes", "--target-size", "big"), "target_size='big' is not a size"),
        (("rewrite-deletes", "--to", "dv"), "unknown delete encoding 'dv'"),
        (("upsert", "--changes", __file__, "--key", "id"), "spark_errors_test.py: unsupported file type; use one of"),
        (("merge", "--source", __file__, "--on", "id"), "use one of .parquet, .orc, .csv, .json, .jsonl"),
        (("delete-keys", "--keys", __file__), "unsupported file type"),
        (("delete", "--where", "true", "--mode", "fast"), "'fast' is not one of merge-on-read, copy-on-write"),
        (("update", "--where", "true", "--set", "a=1", "--isolation", "none"), "is not one of serializable, snapshot"),
        (("expire", "--older-than", "yesterday"), "older_than is 'yesterday', which is neither a time nor an age"),
        (("remove-orphans", "--older-than", "7 weeks"), "which is neither a time nor an age"),
    ],
)
def test_wrong_arguments_are_refused_before_spark_starts(
    words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(warehouse, "session", start)
    call = [words[0], "db.t", *words[1:], "--warehouse", str(Path(__file__).parent)]
    called = CliRunner().invoke(app, call, env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"})
    assert called.exit_code == 2, called.exception
    assert message in " ".join(called.output.replace("│", " ").split())


def test_errors_are_json_where_results_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert fails(monkeypatch, rd.InputError("no column", hint="there is 'id'"), "puffin", "--json") == 1
    out, err = capsys.readouterr()
    assert (out, json.loads(err)) == ("", {"error": "no column", "hint": "there is 'id'"})
    assert fails(monkeypatch, rd.InputError("no column"), "puffin", "--json") == 1
    assert json.loads(capsys.readouterr().err) == {"error": "no column", "hint": None}
    monkeypatch.setattr(
        sys, "argv", ["rowdelta", "read", "db.t", "--limit", "0", "--json", "--warehouse", str(tmp_path)]
    )
    with pytest.raises(SystemExit) as exit_:
        main()
    told = json.loads(capsys.readouterr().err)
    assert (exit_.value.code, set(told)) == (2, {"error", "hint"})
    assert "--limit" in told["error"]


def test_help_shows_the_groups_in_order_and_flags_without_a_type() -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    panels = [text.index(f" {name} ") for name in ("Read and inspect", "Change rows", "Maintain", "More")]
    assert panels == sorted(panels)
    for words in ((), ("read",), ("cdc", "run"), ("merge",)):
        assert "<bool>" not in CliRunner().invoke(app, [*words, "--help"]).output, words


def test_a_missing_warehouse_is_made_by_a_statement_that_makes_something_in_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Anywhere else, the error names the mistyped word."""

    class ReachedError(Exception):
        pass

    def start(*_: object, **__: object) -> None:
        raise ReachedError

    monkeypatch.setattr(warehouse, "session", start)
    place = ("--warehouse", str(tmp_path / "new"))
    for text in ("CREATE TABLE db.t (id int) USING iceberg", "/* of all */\n-- first\n create namespace db"):
        assert isinstance(CliRunner().invoke(app, ["sql", text, *place]).exception, ReachedError), text
    for text in ("SELECT 1", "INSERT INTO db.t VALUES (1)"):
        error = CliRunner().invoke(app, ["sql", text, *place]).exception
        assert isinstance(error, rd.TableError), text
        assert "no warehouse at" in error.message
        assert "CREATE" in str(error.hint)
    assert isinstance(CliRunner().invoke(app, ["read", "db.t", *place]).exception, rd.TableError)


def test_a_long_statement_that_creates_nothing_is_searched_once() -> None:
    for text in (" " * 5_000, "-- a\n" * 5_000, "/* a */ " * 5_000, "/*" * 5_000, "--" * 5_000):
        assert changes._CREATES.match(f"{text}SELECT 1") is None
    assert changes._CREATES.match("/* a */" * 5_000 + "create table t") is not None
    assert changes._CREATES.match("-- a CREATE") is None


def test_numbers_of_rows_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([{"id": 1_000_000, "name": None, "ok": True}], ["id", "name", "ok"])
    assert capsys.readouterr().out.split() == ["id", "name", "ok", "1000000", "yes"]


def test_colours_are_used_only_in_terminals_that_allow_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal, other_end = pty.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as screen, os.fdopen(other_end, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        assert fails(monkeypatch, rd.InputError("no column"), "puffin") == 1
        assert screen.read(1_000) == b"\x1b[1;31mError:\x1b[0m no column\r\n"
        monkeypatch.setenv("NO_COLOR", "1")
        assert fails(monkeypatch, rd.InputError("no column"), "puffin") == 1
        assert screen.read(1_000) == b"\x1b[1mError:\x1b[0m no column\r\n"
