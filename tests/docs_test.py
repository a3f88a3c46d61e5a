"""README and docs agree with the code: the support table, the diagrams, the messages, the links and the names.

The examples in docstrings are doctests (`conftest.py` at the root says what they start from). A test here fails if a
public name has none. `tests/pages_test.py` runs the code of the pages.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import yaml
from typer.testing import CliRunner

import rowdelta as rd
from rowdelta.cli.app import app
from rowdelta.encoding import DeleteEncoding
from scripts.diagrams import DRAWINGS, IMAGES
from scripts.support_table import README
from tests.support.examples import DOCS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = [README, *sorted(DOCS.glob("*.md"))]
ICEBERGS_OWN = {"Format model is not registered for format PUFFIN"}


def test_the_support_table_counts_the_cases_that_pytest_collects() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, str(ROOT / "scripts" / "support_table.py"), "--check"]
    checked = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_the_diagrams_are_those_of_the_script() -> None:
    for name, draw in DRAWINGS.items():
        assert (IMAGES / f"{name}.svg").read_text(encoding="utf-8") == draw().svg(), "run scripts/diagrams.py"


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


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_between_readme_and_pages_lead_somewhere() -> None:
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
            target = page.parent / path if path else page
            assert target.exists(), f"{page.name}: {path}"
            assert not anchor or anchor in headings(target), f"{page.name}: {path}#{anchor}"


def shown_names() -> Iterator[tuple[str, Any]]:
    """Every name that the reference shows, with what it names; of a class also its public methods and properties."""
    for page in ("api", "cdc", "changes-feed", "delta", "encodings"):
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8") + "\n"
        for name, lines in re.findall(r"^::: (\S+)\n((?: {4}.*\n)*)", text, re.MULTILINE):
            module, _, attribute = name.rpartition(".")
            found = getattr(importlib.import_module(module), attribute)
            yield name, found
            members = (yaml.safe_load(lines) or {}).get("options", {}).get("members") if lines else None
            if inspect.isclass(found):
                for member in own_members(found) if members is None else members or []:
                    yield f"{name}.{member}", inspect.getattr_static(found, member)


def own_members(found: type) -> list[str]:
    kinds = (property, classmethod, staticmethod)
    return [
        name
        for name, member in vars(found).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds))
    ]


def test_every_page_that_explains_order_by_says_that_it_orders_one_batch() -> None:
    """A change is not compared with the row in the table, so an older one that comes later wins."""
    upsert_help = CliRunner().invoke(app, ["upsert", "--help"], env={"COLUMNS": "200"}).output
    assert "They order the changes of this file alone" in " ".join(upsert_help.replace("│", " ").split())
    told = {
        "upsert": inspect.getdoc(rd.Table.upsert) or "",
        "stream": inspect.getdoc(rd.cdc.stream) or "",
        **{page.name: page.read_text(encoding="utf-8") for page in PAGES},
    }
    for name in ("upsert", "stream", "README.md", "cdc.md", "cli.md", "faq.md", "getting-started.md"):
        text = " ".join(told[name].split())
        assert re.search(r"[Aa]n older change [^.]*(arrives in a later (batch|call)|in the file of a later)", text), (
            name
        )


def test_the_reference_has_every_public_name() -> None:
    shown = {name.rpartition(".")[2] for name, _ in shown_names()}
    words = {name for name in rd.__all__ if get_origin(getattr(rd, name)) is Literal}
    assert {*rd.__all__, *rd.cdc.__all__} - {"__version__", "cdc"} - words <= shown
    assert {f"rowdelta.Table.{name}" for name in own_members(rd.Table)} <= {name for name, _ in shown_names()}


def test_the_reference_lists_the_values_of_every_argument_type() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = {
        name: re.findall(r"`([^`]+)`", values)
        for name, values in re.findall(r"^\| `rd\.(\w+)` \|.*\|(.*)\|$", text, re.MULTILINE)
    }
    choices = {name: getattr(rd, name) for name in rd.__all__ if get_origin(getattr(rd, name)) is Literal}
    assert listed == {name: list(get_args(choice)) for name, choice in choices.items()}
    assert {str(encoding) for encoding in DeleteEncoding} <= set(get_args(rd.Encoding))


def test_every_name_of_the_reference_has_an_example_that_is_run() -> None:
    shown = dict(shown_names())
    steps = {name: doctest.DocTestParser().get_examples(inspect.getdoc(found) or "") for name, found in shown.items()}
    for name in shown:
        assert not any(step.options.get(doctest.SKIP) for step in steps[name]), f"an example of {name} is skipped"
        # A stream is started once for all of its methods: the example of the class may show a method, too.
        owner, _, member = name.rpartition(".")
        by_class = any(f".{member}" in step.source for step in steps.get(owner, []))
        with_outcome = any(step.want or step.exc_msg for step in steps[name])
        assert with_outcome or by_class, f"{name} has no example with its outcome"
