"""README and docs, held against the code: the support table, the messages, and the examples, which are run."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from scripts.support_table import README, with_table
from tests.support.frames import assert_same_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ICEBERGS_OWN = {"Format model is not registered for format PUFFIN"}


def test_the_support_table_says_what_the_tests_say() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == with_table(text), "run .venv/bin/python scripts/support_table.py"


def texts(node: ast.AST) -> Iterator[str]:
    """Every text of a module; what an f-string fills in becomes `…`."""
    for found in ast.walk(node):
        if isinstance(found, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in found.values)
        elif isinstance(found, ast.Constant) and isinstance(found.value, str):
            yield found.value


def test_the_errors_of_the_docs_are_messages_of_the_code() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    known = [text for source in sources for text in texts(ast.parse(source))]
    listed = re.findall(r"^### `(.*)`$", (DOCS / "faq.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) >= 15
    for message in set(listed) - ICEBERGS_OWN:
        pattern = ".*".join(re.escape(part) for part in message.split("…"))
        assert any(re.search(pattern, text) for text in known), message


def test_links_between_readme_and_files_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


def test_the_api_page_has_every_public_name() -> None:
    pages = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("api", "cdc", "delta"))
    shown = set(re.findall(r"^::: rowdelta\.(?:\w+\.)*(\w+)$", pages, re.MULTILINE))
    assert {*rd.__all__, *rd.cdc.__all__} - {"__version__", "cdc", "Records"} <= shown


def blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"```(python|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the examples run: their sessions join the shared Spark, with a warehouse in this folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_examples_of_the_readme_run(spark: SparkSession, folder: Path) -> None:
    (folder / "events").mkdir()
    event = {"op": "u", "after": {"id": 3, "status": "paid", "amount": 30.0}, "ts_ms": 1_700_000_000_000}
    (folder / "events" / "1.json").write_text(json.dumps(event) + "\n")
    spark.range(5).write.format("delta").save(str(folder / "data" / "orders"))
    names: dict[str, Any] = {}
    for number, (kind, source) in enumerate(blocks(README)):
        assert kind == "python"
        # Spark's own folder is where its JVM was started, not here.
        placed = re.sub(r'"(events|state|data/orders)"', lambda found: repr(str(folder / found[1])), source)
        exec(compile(placed, f"README block {number}", "exec"), names)
        if "running" in names:
            names["running"].query.processAllAvailable()
            names.pop("running").stop()
            ingested = rd.table(names["spark"], "lake.db.orders", branch="ingest")
            assert_same_rows(ingested.read("id = 3"), [(3, "paid", 30.0)])
    own = names["spark"]
    found = own.sql("SELECT id, status, amount FROM lake.db.orders WHERE id IN (1, 2, 3, 7, 1000)")
    assert_same_rows(found, [(1, "shipped", 10.0), (3, "new", 33.0), (7, "new", 0.0), (1000, "new", 5.0)])
    assert_same_rows(own.table("lake.db.mirror"), [(i,) for i in range(5)])


def test_the_first_steps_print_what_the_docs_show(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for kind, source in blocks(DOCS / "getting-started.md"):
        if kind == "python":
            capsys.readouterr()
            exec(compile(source, "getting-started.md", "exec"), names)
        else:
            assert capsys.readouterr().out.strip() == source.strip()
