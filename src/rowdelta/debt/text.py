"""The delete debt in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rowdelta.debt.units import human_bytes, human_seconds

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


def debt_text(debt: Debt, top: int = 10) -> RenderableType:
    """The whole report; `top` partitions and data files are listed."""
    parts: list[RenderableType] = [
        Text.from_markup(f"[bold]{escape(debt.table)}[/], branch {escape(debt.branch)}: {_summary(debt)}"),
        Text.from_markup(
            f"readers: [{_COLOURS[debt.readers]}]{debt.readers}[/] ({escape(debt.readers_reason)})", overflow="fold"
        ),
        Text(""),
        _kinds(debt),
        Text(""),
        _costs(debt),
    ]
    if len(debt.partitions) > 1:
        parts += [Text(""), _partitions(debt, top)]
    if debt.files:
        parts += [Text(""), _files(debt, top)]
    return Group(*parts, Text(""), _advice(debt.advice), Text(MODEL, style="dim"))


def _summary(debt: Debt) -> str:
    deletes = f"{debt.delete_files:,} delete files ({human_bytes(debt.delete_bytes)}"
    deletes += f", {debt.dangling_share:.0%} dangling)" if debt.dangling_files else ")"
    age = debt.oldest_delete_age_seconds
    oldest = "" if age is None else f", the oldest {human_seconds(age)} old"
    return (
        f"{debt.data_files:,} data files, {debt.rows:,} rows, {human_bytes(debt.bytes)}; {deletes} on "
        f"{debt.files_with_deletes:,} data files{oldest}"
    )


def _kinds(debt: Debt) -> Table:
    return _table(
        ("deletes", "files", "records", "bytes", "applies to", "dangling", "oldest"),
        (
            (
                kind.kind,
                f"{kind.files:,}",
                f"{kind.records:,}",
                human_bytes(kind.bytes),
                f"{kind.applies_to:,}",
                f"{kind.dangling_files:,}",
                "" if kind.oldest_ms is None else human_seconds(max(debt.taken_at_ms - kind.oldest_ms, 0) / 1000),
            )
            for kind in debt.kinds
        ),
    )


def _costs(debt: Debt) -> Table:
    return _table(
        ("a full scan", "more time", "memory for deletes"),
        (
            ("without deletes", f"({human_seconds(debt.scan_seconds)})", ""),
            ("Iceberg's reader", *cost_words(debt.stock)),
            ("rowdelta", *cost_words(debt.rowdelta)),
        ),
    )


def cost_words(cost: ReadCost | None) -> tuple[str, str]:
    """Time and memory of a reader; one that cannot read has neither."""
    if cost is None:
        return "refuses to read", ""
    return f"+{human_seconds(cost.seconds)}", human_bytes(cost.memory_bytes)


def _partitions(debt: Debt, top: int) -> Table:
    title = _title("partitions", len(debt.partitions), top)
    return _table(
        (title, "data files", "with deletes", "delete files", "positions", "keys", "Iceberg", "rowdelta"),
        (
            (
                partition.partition or "(none)",
                f"{partition.data_files:,}",
                f"{partition.files_with_deletes:,}",
                f"{partition.delete_files:,}",
                f"{partition.positions:,}",
                f"{partition.keys:,}",
                cost_words(partition.stock)[0],
                cost_words(partition.rowdelta)[0],
            )
            for partition in debt.partitions[:top]
        ),
    )


def _files(debt: Debt, top: int) -> Table:
    title = _title("data files with deletes", len(debt.files), top)
    return _table(
        (title, "rows", "delete files", "positions", "keys", "Iceberg", "rowdelta"),
        (
            (
                file.path.rsplit("/", 1)[-1],
                f"{file.rows:,}",
                f"{file.delete_files:,}",
                f"{file.positions:,}",
                f"{file.keys:,}",
                cost_words(file.stock)[0],
                cost_words(file.rowdelta)[0],
            )
            for file in debt.files[:top]
        ),
    )


def _title(what: str, count: int, top: int) -> str:
    return what if count <= top else f"{what}, {top} of {count:,}"


def _advice(advice: Sequence[Advice]) -> Table:
    return _table(
        ("advice", "because", "cost", "gain", "how"),
        ((item.action, item.reason, cost_text(item), gain_text(item), item.call) for item in advice),
        words=True,
    )


def cost_text(advice: Advice) -> str:
    """What following an advice costs."""
    return f"about {human_seconds(advice.cost_seconds)}" if advice.call else ""


def gain_text(advice: Advice) -> str:
    """What following an advice gains."""
    gains = []
    if advice.gain_seconds is None:
        gains.append("every engine of this version can read")
    elif advice.gain_seconds:
        gains.append(f"{human_seconds(advice.gain_seconds)} a scan")
    if advice.gain_memory_bytes:
        gains.append(f"{human_bytes(advice.gain_memory_bytes)} of memory a reader")
    if advice.gain_bytes:
        gains.append(f"{human_bytes(advice.gain_bytes)} of storage")
    return ", ".join(gains)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False) -> Table:
    """A table of numbers keeps them whole and shortens the name in front of them; words are folded."""
    listed = [tuple(row) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for number, name in enumerate(header):
        if words:
            table.add_column(name, overflow="fold")
        elif number:
            width = max(len(name), *(len(row[number]) for row in listed)) if listed else None
            table.add_column(name, justify="right", no_wrap=True, min_width=width)
        else:
            table.add_column(name, overflow="ellipsis")
    for row in listed:
        table.add_row(*(escape(cell) for cell in row))
    return table
