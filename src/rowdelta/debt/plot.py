"""Draws the delete debt: by partition, over time, and by encoding."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rowdelta.debt.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rowdelta.debt.measure import Debt

MAX_PARTITIONS: Final = 15
_MAX_NAME_LENGTH: Final = 28
_KEYS: Final = "#c44e52"
_POSITIONS: Final = "#4c72b0"
_FILES: Final = "#888888"
_COLOURS: Final = {
    "deletion vectors": _POSITIONS,
    "position delete files": "#8ba6d3",
    "equality delete files": _KEYS,
    "equality delete vectors": "#e59a9c",
    "equality hash maps": "#dd8452",
}


def draw_debt(debt: Debt) -> Figure:
    """Draws all three plots side by side."""
    figure = Figure(figsize=(15, 4.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    draw_partitions(left, debt)
    draw_history(middle, debt)
    draw_kinds(right, debt)
    figure.suptitle(f"{debt.table}: {debt.delete_files:,} delete files, readable by {debt.readers}", fontsize=12)
    return figure


def draw_partitions(axes: Axes, debt: Debt) -> None:
    """Draws the deleted positions and keys of the partitions that have most."""
    partitions = [partition for partition in debt.partitions if partition.delete_files][:MAX_PARTITIONS]
    axes.set_title("Deletes by partition" + (f" (top {MAX_PARTITIONS})" if len(partitions) == MAX_PARTITIONS else ""))
    if not partitions:
        _draw_nothing(axes)
        return
    names = [_shorten(partition.partition or "(no partition)") for partition in partitions]
    places = list(range(len(partitions)))
    axes.barh([place - 0.2 for place in places], [p.keys for p in partitions], 0.4, color=_KEYS, label="keys")
    axes.barh(
        [place + 0.2 for place in places], [p.positions for p in partitions], 0.4, color=_POSITIONS, label="positions"
    )
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(_format_count))
    axes.tick_params(axis="x", labelsize=8)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    _hide_spines(axes)


def draw_history(axes: Axes, debt: Debt) -> None:
    """Draws the deletes in the table after each commit."""
    axes.set_title("Deletes over time")
    if not debt.commits:
        _draw_nothing(axes)
        return
    # Steps show that a snapshot is valid until the next one. A single commit has no line, but a dot.
    times = [dt.datetime.fromtimestamp(c.timestamp_ms / 1000, tz=dt.timezone.utc) for c in debt.commits]
    style = {"where": "post", "marker": "." if len(times) < 100 else ""}  # noqa: PLR2004 - more dots would run together
    axes.step(times, [c.total_keys for c in debt.commits], color=_KEYS, label="keys", **style)  # type: ignore[arg-type]
    axes.step(times, [c.total_positions for c in debt.commits], color=_POSITIONS, label="positions", **style)  # type: ignore[arg-type]
    axes.yaxis.set_major_formatter(FuncFormatter(_format_count))
    axes.tick_params(axis="y", labelsize=8)
    axes.tick_params(axis="x", labelsize=7, rotation=30)
    files = axes.twinx()
    files.step(times, [c.total_delete_files for c in debt.commits], color=_FILES, linestyle=":", **style)  # type: ignore[arg-type]
    files.set_ylabel("delete files (dotted)", fontsize=8, color=_FILES)
    files.set_ylim(bottom=0)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    _hide_spines(axes)
    files.spines["top"].set_visible(False)


def draw_kinds(axes: Axes, debt: Debt) -> None:
    """Draws the size of the deletes of each kind, with their number of files."""
    axes.set_title("Size by encoding")
    if not debt.kinds:
        _draw_nothing(axes)
        return
    names = [kind.kind for kind in debt.kinds]
    bars = axes.barh(names, [kind.bytes for kind in debt.kinds], 0.5, color=[_COLOURS[name] for name in names])
    axes.bar_label(bars, [f" {format_bytes(k.bytes)}, {k.files:,} files" for k in debt.kinds], fontsize=8)
    axes.margins(x=0.45)
    axes.set_xlim(left=0)
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_bytes(size)))
    axes.tick_params(axis="x", labelsize=7)
    _hide_spines(axes)


def _draw_nothing(axes: Axes) -> None:
    axes.text(0.5, 0.5, "no deletes", ha="center", va="center", transform=axes.transAxes, color=_FILES)
    axes.set_axis_off()


def _hide_spines(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def _shorten(name: str) -> str:
    return name if len(name) <= _MAX_NAME_LENGTH else f"{name[: _MAX_NAME_LENGTH - 1]}…"


def _format_count(value: float, _: int) -> str:
    """Formats a tick of an axis: 1,500 or 2M.

    Examples:
        >>> _format_count(1500, 0), _format_count(2_000_000, 0), _format_count(1_250_000, 0)
        ('1,500', '2M', '1.25M')
    """
    million = 1_000_000
    return f"{value / million:g}M" if abs(value) >= million else f"{value:,.0f}"
