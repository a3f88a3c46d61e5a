"""Draw the growth section: one picture for the README, and one with everything that grows with the table.

A point is the best time of the repeats, and its bar extends to the slowest. All axes are linear and start at zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

OURS, THEIRS = "#2f5d9f", "#c44e52"
STYLES: dict[str, dict[str, Any]] = {
    "Iceberg MERGE": {"color": THEIRS},
    "Iceberg's reader": {"color": THEIRS},
    "rowdelta upsert": {"color": OURS},
    "rowdelta upsert, then resolve": {"color": "#8ba6d3", "linestyle": "--"},
    "rowdelta": {"color": OURS},
    "rowdelta, vectors": {"color": OURS},
    "rowdelta, the same files": {"color": "#8ba6d3", "linestyle": "--"},
    "resolve": {"color": OURS},
}
REFERENCE: dict[str, Any] = {"color": "#888888", "linestyle": ":"}
PANEL = (5.2, 4.0)


@dataclass
class Chart:
    """The lines of one chart: the seconds of each repeat, by the name of the line and the position on the axis."""

    title: str
    axis: str
    lines: dict[str, dict[int, list[float]]] = field(default_factory=dict)


def draw(section: dict[str, Any], folder: Path) -> list[Path]:
    """Draws `bench.png` and `growth.png` from the measures of a growth section."""
    charts = charts_of(section["measures"])
    where = section["environment"]
    note = (
        f"{where['machine']}, Spark {where['pyspark']}, Iceberg {where['iceberg']}. "
        "Points are best times after a warm-up, bars go up to the slowest."
    )
    pictures: dict[str, list[Chart | None]] = {
        "bench.png": [with_resolve(charts["upsert"], charts["resolve"]), charts.get("deletes")],
        "growth.png": [charts["upsert"], charts["read"], charts["resolve"]],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, some in pictures.items():
        shown = [chart for chart in some if chart is not None]
        figure = Figure(figsize=(PANEL[0] * len(shown), PANEL[1]), layout="constrained")
        for place, chart in enumerate(shown, 1):
            _panel(figure.add_subplot(1, len(shown), place), chart)
        figure.supxlabel(note, fontsize=8, color="#666666")
        figure.savefig(folder / name, dpi=130)
    return [folder / name for name in pictures]


def charts_of(measures: list[dict[str, Any]]) -> dict[str, Chart]:
    """Builds the charts. Every measure of the section is a ratio of two lines at one point of a chart."""
    charts: dict[str, Chart] = {}
    for detail in (measure["detail"] for measure in measures):
        chart = charts.setdefault(detail["chart"], Chart(detail["title"], detail["axis"]))
        for side in ("above", "below"):
            chart.lines.setdefault(detail[side], {})[detail["at"]] = detail[f"{side}_seconds"]
    return charts


def with_resolve(upserts: Chart, resolves: Chart) -> Chart:
    """Adds a line for upserts that are resolved immediately. Together, both steps do what MERGE does in one step."""
    later = resolves.lines["resolve"]
    both = {
        at: [a + b for a, b in zip(seconds, later[at], strict=True)]
        for at, seconds in upserts.lines["rowdelta upsert"].items()
    }
    return Chart(upserts.title, upserts.axis, upserts.lines | {"rowdelta upsert, then resolve": both})


def _panel(axes: Axes, chart: Chart) -> None:
    highest = 0.0
    # The legend lists the lines in the order of their right ends.
    for name, points in sorted(chart.lines.items(), key=lambda line: -min(line[1][max(line[1])])):
        best = [min(seconds) for seconds in points.values()]
        slower = [max(seconds) - min(seconds) for seconds in points.values()]
        bars = [[0.0] * len(best), slower]
        style = {"marker": "o", "markersize": 4, "capsize": 2, "elinewidth": 0.8, **STYLES.get(name, REFERENCE)}
        highest = max(highest, *(max(seconds) for seconds in points.values()))
        axes.errorbar(list(points), best, bars, label=name, **style)
    axes.set_title(chart.title, fontsize=11)
    axes.set_xlabel(chart.axis)
    axes.set_ylabel("seconds")
    axes.set_xlim(left=0)
    axes.set_ylim(0, highest * 1.3)  # room for the legend
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(_count))
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper left")


def _count(value: float, _: int) -> str:
    """Formats a tick of an axis: 500, 20K or 2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "K")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
