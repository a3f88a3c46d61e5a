"""Prints results: tables for people, JSON for programs."""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDE_ENOUGH = 200


def print_json(document: Any, indent: int | None = 2) -> None:
    """Prints one JSON document; with `indent=None` it is one line.

    Examples:
        >>> print_json({"id": 7, "share": float("nan"), "bytes": b"abc"}, indent=None)
        {"id": 7, "share": "NaN", "bytes": "YWJj"}
    """
    typer.echo(json.dumps(_to_json_value(document), indent=indent, ensure_ascii=False, allow_nan=False, default=str))


def _to_json_value(value: Any) -> Any:
    """Converts NaN and bytes, which JSON does not have, to text as Spark's `to_json` does."""
    if isinstance(value, dict):
        return {name: _to_json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Prints rows as a table; long paths wrap in a terminal and stay whole in a pipe."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE_ENOUGH + max(len(str(row[columns[0]])) for row in rows))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        is_numeric = all(isinstance(row[column], int) and not isinstance(row[column], bool) for row in rows)
        table.add_column(column, justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_format_cell(row[column]) for column in columns))
    console.print(table)


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
