"""tests/costs.json names tests and doctests that exist: otherwise a renamed one would count as cheap."""

from __future__ import annotations

import re

from tests.support.examples import ROOT
from tests.support.sampling import costs


def exists(test: str) -> bool:
    """Whether the module of a test or a doctest exists, and defines a function or class of its name."""
    path, _, name = test.partition("::")
    module = ROOT / path
    if not module.exists():
        return False
    pattern = rf"^ *(def|class) {re.escape(name.rpartition('.')[2])}\b"
    defined = re.search(pattern, module.read_text(encoding="utf-8"), re.MULTILINE)
    if path.startswith("src/"):
        dotted = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return defined is not None and name.startswith(f"{dotted}.")
    return defined is not None


def test_every_test_whose_cost_is_listed_exists() -> None:
    assert len(costs().seconds) > 100
    assert [test for test in costs().seconds if not exists(test)] == []


def test_a_renamed_module_and_a_renamed_test_are_noticed() -> None:
    assert exists("tests/costs_test.py::test_every_test_whose_cost_is_listed_exists")
    assert exists("src/rowdelta/_table.py::rowdelta._table.Table.read")
    for test in (
        "tests/cost_test.py::test_every_test_whose_cost_is_listed_exists",
        "tests/costs_test.py::test_every_test",
        "src/rowdelta/_table.py::rowdelta.table.Table.read",
        "src/rowdelta/_table.py::rowdelta._table.Table.reads",
    ):
        assert not exists(test)
