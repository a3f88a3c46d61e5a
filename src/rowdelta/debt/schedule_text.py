"""Formats recommendations for a terminal, with the commands to copy."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.text import Text

from rowdelta.debt.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.debt.recommendation import Recommendation
    from rowdelta.debt.schedule import TableAdvice


def format_advice(advice: TableAdvice, place: Sequence[str] = ()) -> Text:
    """Formats all recommendations; print them with `soft_wrap=True`, so that commands can be copied whole.

    Args:
        advice: The advice.
        place: Further words for every command, such as the location of the warehouse.
    """
    pace = advice.pace
    interval = pace.interval_seconds
    every = "" if interval is None else f", one every {format_seconds(interval)}"
    changed = f"{pace.row_level:,} changed single rows ({pace.keys:,} keys, {pace.positions:,} positions)"
    lines = [f"[bold]{escape(advice.table)}[/]: the last {pace.commits:,} commits{every}; {changed}"]
    for item in advice.recommendations:
        lines += ["", f"[bold]{item.topic}[/]: {escape(item.choice)}", f"  why       {escape(item.reason)}"]
        if item.estimate:
            lines.append(f"  estimate  {escape(item.estimate)}")
        lines += [f"  [cyan]{escape(line)}[/]" for line in list_commands(advice.table, item, place)]
    return Text.from_markup("\n".join(lines))


def list_commands(table: str, item: Recommendation, place: Sequence[str] = ()) -> list[str]:
    """Lists the commands of a recommendation, as typed into a shell.

    Examples:
        >>> from rowdelta.debt import Recommendation
        >>> item = Recommendation("resolve", "", "", commands=(("resolve",),))
        >>> list_commands("db.t", item, ("--warehouse", "my lake"))
        ["rowdelta resolve db.t --warehouse 'my lake'"]
    """
    lines = [shlex.join(("rowdelta", "sql", text, *place)) for text in item.sql]
    return lines + [shlex.join(("rowdelta", words[0], table, *words[1:], *place)) for words in item.commands]
