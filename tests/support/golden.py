"""The golden data next to the repository: byte copies of public test files, and facts about each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden"
MISSING = f"the golden data is not at {GOLDEN}"


def facts() -> dict[str, Any]:
    """Loads the facts; empty if the golden data is missing."""
    path = GOLDEN / "facts.json"
    loaded: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"cases": []}
    return loaded


def cases(*categories: str) -> list[dict[str, Any]]:
    """Lists the cases of some categories."""
    return [case for case in facts()["cases"] if case["category"] in categories]


def file_of(case: dict[str, Any]) -> Path:
    """Returns the file of a case; for a table, its statistics file."""
    path: Path = GOLDEN / case["local"]
    if path.is_dir():
        (path,) = path.rglob("*.stats")
    return path
