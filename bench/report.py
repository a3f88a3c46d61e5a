"""Store the results of one scale as JSON, and render them as Markdown.

A run replaces the sections that it measured and preserves the others. Each section records the day and the environment
of its own run.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from bench.data import SCALES
from bench.environment import environment

if TYPE_CHECKING:
    from pathlib import Path

    from bench.measure import Measure

Report = dict[str, Any]
MARKS = {True: "yes", False: "**no**", None: ""}
EXPLANATION = (
    "A result is a ratio of best times, or a number with its unit. The range is that of the ratio over the repeats. "
    "The column `runs` counts warm-up runs + timed runs. Goals are set for the large scale."
)


def load(path: Path, scale: str) -> Report:
    """Reads the report from a file. Returns an empty report if the file has none for this scale."""
    report: Report = json.loads(path.read_text()) if path.exists() else {}
    return report if report.get("scale") == scale else {"scale": scale, "rows": SCALES[scale], "sections": {}}


def add(report: Report, name: str, title: str, measures: list[Measure]) -> None:
    """Adds a section. Replaces an older section of the same name."""
    report["sections"][name] = {
        "title": title,
        "measured": dt.datetime.now(tz=dt.timezone.utc).date().isoformat(),
        "environment": environment(),
        "measures": [vars(measure) for measure in measures],
    }


def write(report: Report, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")


def markdown(report: Report) -> str:
    """Renders the whole report. The markers around each table allow pages of the docs to include it."""
    sections = report["sections"]
    met = [met_goal(measure) for section in sections.values() for measure in section["measures"]]
    parts = [
        f"# Benchmarks at scale {report['scale']}, {report['rows']:,} rows x 8 columns",
        f"{met.count(True)} of {met.count(True) + met.count(False)} goals are met. {EXPLANATION}",
    ]
    for name, section in sections.items():
        parts += [
            f"## {section['title']}",
            f"<!-- --8<-- [start:{name}] -->\n{table(section['measures'])}\n<!-- --8<-- [end:{name}] -->",
            f"Measured on {section['measured']}: {describe(section['environment'])}.",
        ]
    return "\n\n".join(parts) + "\n"


def describe(where: dict[str, str]) -> str:
    """Describes an environment in one line."""
    named = ", ".join(f"{name} {value}" for name, value in where.items() if name not in {"machine", "spark"})
    return f"{where['machine']}; {where['spark']}; {named}"


def table(measures: list[dict[str, Any]]) -> str:
    lines = ["| measure | result | range | goal | met | best seconds | runs |", "|---|---|---|---|---|---|---|"]
    for measure in measures:
        detail = measure["detail"]
        unit = "" if measure["unit"] == "ratio" else f" {measure['unit']}"
        cells = [
            measure["name"],
            f"{measure['value']:,}{unit}",
            " to ".join(f"{end:,}" for end in detail.get("range", ())),
            measure["goal"],
            MARKS[met_goal(measure)],
            _best(detail),
            _runs(detail),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def met_goal(measure: dict[str, Any]) -> bool | None:
    """Checks a goal such as `>= 5`. The goal `none` means no growth. Returns None if there is no number to compare."""
    match measure["goal"].split():
        case [">=", limit]:
            return bool(measure["value"] >= float(limit))
        case ["<=", limit]:
            return bool(measure["value"] <= float(limit))
        case ["none"]:
            return bool(measure["value"] <= 0)
        case _:
            return None


def _best(detail: dict[str, Any]) -> str:
    """Returns the two best times from which a ratio was computed."""
    if "above_seconds" not in detail:
        return ""
    return f"{min(detail['above_seconds']):.2f} / {min(detail['below_seconds']):.2f}"


def _runs(detail: dict[str, Any]) -> str:
    times = detail.get("above_seconds", detail.get("seconds"))
    return f"{detail.get('warm_ups', 1)} + {len(times)}" if times else ""
