"""Writes the delete debt as one HTML page that needs no other file: it includes style and plots."""

from __future__ import annotations

import datetime as dt
import io
from html import escape
from typing import TYPE_CHECKING, Final

import matplotlib as mpl

from rowdelta.debt.plot import draw_debt
from rowdelta.debt.text import MODEL, format_action_cost, format_cost, format_gain
from rowdelta.debt.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.debt.measure import Debt

MAX_ROWS: Final = 200
_APPLIED: Final = ("delete files", "positions", "keys", "delete bytes", "Iceberg", "rowdelta")
_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .6rem; text-align: right; vertical-align: top; }
th { border-bottom: 2px solid #bbb; } td { border-bottom: 1px solid #e5e5e5; }
.words td, .words th, td:first-child, th:first-child { text-align: left; overflow-wrap: anywhere; }
.readers { padding: .6rem 1rem; border-left: 4px solid #4c72b0; background: #f4f6fa; }
code { background: #f4f4f4; padding: .1rem .3rem; } svg { width: 100%; height: auto; } .note { color: #666; }
"""


def write_page(debt: Debt) -> str:
    """Writes the page as text."""
    taken = dt.datetime.fromtimestamp(debt.taken_at_ms / 1000, tz=dt.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    age = debt.oldest_delete_age_seconds
    oldest = "" if age is None else f", the oldest {format_seconds(age)} old"
    advice = [
        (
            escape(item.action),
            escape(item.reason),
            format_action_cost(item),
            format_gain(item),
            f"<code>{escape(item.call)}</code>" if item.call else "",
        )
        for item in debt.advice
    ]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Delete debt of {escape(debt.table)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Delete debt of {escape(debt.table)}</h1>
<p class="note">Branch {escape(debt.branch)}, snapshot {debt.snapshot_id}, format version {debt.format_version},
{taken}</p>
<p class="readers"><strong>Readable by {debt.readers}:</strong> {escape(debt.readers_reason)}.</p>
<p>{debt.data_files:,} data files with {debt.rows:,} rows ({format_bytes(debt.bytes)}).
{debt.delete_files:,} delete files ({format_bytes(debt.delete_bytes)}) on {debt.files_with_deletes:,} data files,
{debt.dangling_share:.0%} dangling{oldest}.</p>
<h2>Advice</h2>
{_write_table(("advice", "because", "cost", "gain", "how"), advice, "words")}
{_draw_svg(debt)}
<h2>Cost of a full scan</h2>
{_write_table(("reader", "more time", "memory for deletes"), _list_costs(debt))}
<p class="note">{MODEL}</p>
<h2>Deletes by encoding</h2>
{_write_table(("deletes", "files", "records", "bytes", "applies to", "dangling"), _list_kinds(debt))}
<h2>Partitions{_describe_limit(len(debt.partitions))}</h2>
{_write_table(("partition", "data files", "rows", "with deletes", *_APPLIED), _list_partitions(debt))}
<h2>Data files with deletes{_describe_limit(len(debt.files))}</h2>
{_write_table(("data file", "rows", *_APPLIED), _list_files(debt))}
</body>
</html>
"""


def _draw_svg(debt: Debt) -> str:
    out = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rowdelta"}):
        draw_debt(debt).savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _list_costs(debt: Debt) -> Iterable[Sequence[str]]:
    yield "without deletes", f"({format_seconds(debt.scan_seconds)})", ""
    yield "Iceberg's reader", *format_cost(debt.iceberg)
    yield "rowdelta", *format_cost(debt.rowdelta)


def _list_kinds(debt: Debt) -> Iterable[Sequence[str]]:
    for kind in debt.kinds:
        counts = (f"{kind.files:,}", f"{kind.records:,}", format_bytes(kind.bytes))
        yield kind.kind, *counts, f"{kind.applies_to:,}", f"{kind.dangling_files:,}"


def _list_partitions(debt: Debt) -> Iterable[Sequence[str]]:
    for partition in debt.partitions[:MAX_ROWS]:
        yield (
            escape(partition.partition or "(none)"),
            *(
                f"{n:,}"
                for n in (partition.data_files, partition.rows, partition.files_with_deletes, partition.delete_files)
            ),
            *(f"{n:,}" for n in (partition.positions, partition.keys)),
            format_bytes(partition.delete_bytes),
            format_cost(partition.iceberg)[0],
            format_cost(partition.rowdelta)[0],
        )


def _list_files(debt: Debt) -> Iterable[Sequence[str]]:
    for file in debt.files[:MAX_ROWS]:
        yield (
            escape(file.path.rsplit("/", 1)[-1]),
            *(f"{n:,}" for n in (file.rows, file.delete_files, file.positions, file.keys)),
            format_bytes(file.delete_bytes),
            format_cost(file.iceberg)[0],
            format_cost(file.rowdelta)[0],
        )


def _describe_limit(count: int) -> str:
    return f" ({MAX_ROWS} of {count:,}, the largest debt first)" if count > MAX_ROWS else ""


def _write_table(header: Sequence[str], rows: Iterable[Sequence[str]], css_class: str = "numbers") -> str:
    head = "".join(f"<th>{name}</th>" for name in header)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<table class="{css_class}"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
