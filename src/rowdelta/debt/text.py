"""Formats the delete debt for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rowdelta.debt.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from rowdelta.debt.advice import Advice
    from rowdelta.debt.costs import ReadCost
    from rowdelta.debt.measure import Debt

_COLOURS: Final = {
    "any engine": "green",
    "v3 engines": "green",
    "engines that read equality deletes": "yellow",
    "only rowdelta": "yellow",
}
MODEL: Final = "Estimates are for a full scan of 3 columns on 2 cores: use them to compare states of this table."


def format_debt(debt: Debt, top: int = 10) -> RenderableType:
    """Formats the whole report, with up to `top` partitions and data files."""
    parts: list[RenderableType] = [
        Text.from_markup(f"[bold]{escape(debt.table)}[/], branch {escape(debt.branch)}: {_summarize(debt)}"),
        Text.from_markup(
            f"readers: [{_COLOURS[debt.readers]}]{debt.readers}[/] ({escape(debt.readers_reason)})", overflow="fold"
        ),
        Text(""),
        _list_kinds(debt),
        Text(""),
        _list_costs(debt),
    ]
    if len(debt.partitions) > 1:
        parts += [Text(""), _list_partitions(debt, top)]
    if debt.files:
        parts += [Text(""), _list_files(debt, top)]
    return Group(*parts, Text(""), _list_advice(debt.advice), Text(MODEL, style="dim"))


def _summarize(debt: Debt) -> str:
    deletes = f"{debt.delete_files:,} delete files ({format_bytes(debt.delete_bytes)}"
    deletes += f", {debt.dangling_share:.0%} dangling)" if debt.dangling_files else ")"
    age = debt.oldest_delete_age_seconds
    oldest = "" if age is None else f", the oldest {format_seconds(age)} old"
    return (
        f"{debt.data_files:,} data files, {debt.rows:,} rows, {format_bytes(debt.bytes)}; {deletes} on "
        f"{debt.files_with_deletes:,} data files{oldest}"
    )


def _list_kinds(debt: Debt) -> Table:
    return _build_table(
        ("deletes", "files", "records", "bytes", "applies to", "dangling", "oldest"),
        (
            (
                kind.kind,
                f"{kind.files:,}",
                f"{kind.records:,}",
                format_bytes(kind.bytes),
                f"{kind.applies_to:,}",
                f"{kind.dangling_files:,}",
                "" if kind.oldest_ms is None else format_seconds(max(debt.taken_at_ms - kind.oldest_ms, 0) / 1000),
            )
            for kind in debt.kinds
        ),
    )


def _list_costs(debt: Debt) -> Table:
    return _build_table(
        ("a full scan", "more time", "memory for deletes"),
        (
            ("without deletes", f"({format_seconds(debt.scan_seconds)})", ""),
            ("Iceberg's reader", *format_cost(debt.iceberg)),
            ("rowdelta", *format_cost(debt.rowdelta)),
        ),
    )


def format_cost(cost: ReadCost | None) -> tuple[str, str]:
    """Formats the time and memory of a reader; both are missing if it cannot read the table."""
    if cost is None:
        return "refuses to read", ""
    return f"+{format_seconds(cost.seconds)}", format_bytes(cost.memory_bytes)


def _list_partitions(debt: Debt, top: int) -> Table:
    title = _build_title("partitions", len(debt.partitions), top)
    return _build_table(
        (title, "data files", "with deletes", "delete files", "positions", "keys", "Iceberg", "rowdelta"),
        (
            (
                partition.partition or "(none)",
                f"{partition.data_files:,}",
                f"{partition.files_with_deletes:,}",
                f"{partition.delete_files:,}",
                f"{partition.positions:,}",
                f"{partition.keys:,}",
                format_cost(partition.iceberg)[0],
                format_cost(partition.rowdelta)[0],
            )
            for partition in debt.partitions[:top]
        ),
    )


def _list_files(debt: Debt, top: int) -> Table:
    title = _build_title("data files with deletes", len(debt.files), top)
    return _build_table(
        (title, "rows", "delete files", "positions", "keys", "Iceberg", "rowdelta"),
        (
            (
                file.path.rsplit("/", 1)[-1],
                f"{file.rows:,}",
                f"{file.delete_files:,}",
                f"{file.positions:,}",
                f"{file.keys:,}",
                format_cost(file.iceberg)[0],
                format_cost(file.rowdelta)[0],
            )
            for file in debt.files[:top]
        ),
    )


def _build_title(name: str, count: int, top: int) -> str:
    return name if count <= top else f"{name}, {top} of {count:,}"


def _list_advice(advice: Sequence[Advice]) -> Table:
    return _build_table(
        ("advice", "because", "cost", "gain", "how"),
        ((item.action, item.reason, format_action_cost(item), format_gain(item), item.call) for item in advice),
        words=True,
    )


def format_action_cost(advice: Advice) -> str:
    """Formats what an advised action costs."""
    return f"about {format_seconds(advice.cost_seconds)}" if advice.call else ""


def format_gain(advice: Advice) -> str:
    """Formats what an advised action gains."""
    gains = []
    if advice.gain_seconds is None:
        gains.append("every engine of this version can read")
    elif advice.gain_seconds:
        gains.append(f"{format_seconds(advice.gain_seconds)} a scan")
    if advice.gain_memory_bytes:
        gains.append(f"{format_bytes(advice.gain_memory_bytes)} of memory a reader")
    if advice.gain_bytes:
        gains.append(f"{format_bytes(advice.gain_bytes)} of storage")
    return ", ".join(gains)


def _build_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False) -> Table:
    """Builds a table. It keeps numbers whole and shortens the names in the first column; words are folded."""
    cells = [tuple(row) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for number, name in enumerate(header):
        if words:
            table.add_column(name, overflow="fold")
        elif number:
            width = max(len(name), *(len(row[number]) for row in cells)) if cells else None
            table.add_column(name, justify="right", no_wrap=True, min_width=width)
        else:
            table.add_column(name, overflow="ellipsis")
    for row in cells:
        table.add_row(*(escape(cell) for cell in row))
    return table
