"""A recommendation: what to set or to run, why, and the commands for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recommendation:
    """One thing to set or to run.

    Attributes:
        topic: `now`, `encoding`, `mode`, `resolve`, `compact`, `expire` or `orphans`.
        choice: What is recommended.
        reason: Why.
        estimate: What it costs or saves.
        sql: Statements to run once.
        commands: The words of each command of `rowdelta`, without the table.

    Examples:
        >>> last = t.advise().recommendations[-1]
        >>> last.topic, last.choice, last.reason
        ('orphans', 'once a week', 'writers that were killed leave behind files that no snapshot refers to')
    """

    topic: str
    choice: str
    reason: str
    estimate: str = ""
    sql: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
