"""Results as JSON for programs and as a table for people."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg import ICEBERG_PACKAGE

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure import Measure


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "iceberg": ICEBERG_PACKAGE.rsplit(":", 1)[1],
    }


def markdown(measures: list[Measure]) -> str:
    lines = ["| measure | result | goal | range |", "|---|---|---|---|"]
    for measure in measures:
        unit = "" if measure.unit == "ratio" else f" {measure.unit}"
        low, high = measure.detail.get("range", ("", ""))
        spread = f"{low} to {high}" if low != "" else ""
        lines.append(f"| {measure.name} | {measure.value:,}{unit} | {measure.goal} | {spread} |")
    return "\n".join(lines)


def write(path: Path, scale: str, sections: dict[str, list[Measure]]) -> None:
    document = {
        "scale": scale,
        "machine": machine(),
        "sections": {name: [vars(measure) for measure in some] for name, some in sections.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")
