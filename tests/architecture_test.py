"""Compares docs/architecture.md with the code: layers, contracts, and the modules that it names."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from tests.support.examples import DOCS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = ROOT / "src" / "rowdelta"
ATTRIBUTES = {"_jvm", "_jdf", "_jc", "_jsparkSession", "_jsc", "_sc", "_active_spark_context"}
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text below a heading, up to the next heading of the same level."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_layers_of_the_page_are_those_of_the_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    levels = {
        name.strip().removeprefix("rowdelta."): level for level, names in enumerate(layers) for name in names.split("|")
    }
    rows = re.findall(r"^\| ((?:`[\w./]+`(?:, )?)+) \|", section("Layers"), re.MULTILINE)
    page = [name for row in rows for name in re.findall(r"`([\w.]+?)(?:/|\.py)`", row)]
    assert sorted(page) == sorted(levels)
    assert [levels[name] for name in page] == sorted(levels.values())


def test_every_module_that_the_page_names_exists() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]*\.?(?:py)?|_?[a-z]+\.py)`", PAGE)
    assert len(named) > 50
    missing = [name for name in named if not any((root / name).exists() for root in (SOURCES, ROOT, ROOT / "tests"))]
    assert missing == []


def test_the_page_lists_every_module_of_iceberg_once() -> None:
    table = section("Layers").split("\n### The modules of `iceberg/`\n")[1].split("\n### ")[0]
    rows = re.findall(r"^\| [^|]+ \| ((?:`\w+`(?:, )?)+) \|$", table, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(path.stem for path in (SOURCES / "iceberg").glob("[!_]*.py"))


def internals(tree: ast.AST) -> Iterator[str]:
    """Uses of PySpark that only `spark/` may make: modules and attributes of its own, and the way into the JVM."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pyspark":
            yield from (alias.name for alias in node.names if alias.name.startswith("_"))
            yield from (part for part in str(node.module).split(".") if part.startswith("_") or part == "java_gateway")
        elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
            yield node.attr


def test_only_one_folder_uses_the_internals_of_pyspark() -> None:
    users = {
        path.relative_to(SOURCES).parts[0]
        for path in SOURCES.rglob("*.py")
        if any(internals(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert users == {"spark"}
