"""`t.advise()`: recommends an encoding, a mode and a maintenance schedule that fit how a table is changed.

The debt says what state the table is in, and its recent commits say how it changes. Both are metadata. Every
recommendation has its reason, an estimate, and the commands that put it into practice.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rowdelta.debt.advice import DEAD_SHARE, add_branch
from rowdelta.debt.costs import (
    COMMIT_SECONDS,
    RESOLVE_SECONDS_PER_ROW,
    REWRITE_BYTES_PER_SECOND,
    estimate_iceberg_cost,
    find_keys_within,
)
from rowdelta.debt.pace import Pace, measure_pace
from rowdelta.debt.recommendation import Recommendation
from rowdelta.debt.write_settings import recommend_encoding, recommend_mode

if TYPE_CHECKING:
    from rowdelta.debt.measure import Debt
    from rowdelta.iceberg import TableMetadata

RECENT_COMMITS: Final = 50
# The memory that equality deletes may take in Iceberg's reader before they are resolved.
MEMORY_BETWEEN_RESOLVES: Final = 512 << 20
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_MONTH: Final = 30 * _DAY
# A table spends at most this share of the time on rewrites: one part in so many.
_REWRITES: Final = 20
_RETAIN: Final = 10


@dataclass(frozen=True)
class TableAdvice:
    """All recommendations for a table, and the pace that they are based on.

    Examples:
        >>> advice = t.advise()
        >>> advice.table, advice.pace.commits
        ('lake.db.orders', 1)
    """

    table: str
    pace: Pace
    recommendations: tuple[Recommendation, ...]

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it as a plain dictionary.

        Examples:
            >>> [item["topic"] for item in t.advise().to_dict()["recommendations"]]
            ['encoding', 'mode', 'expire', 'orphans']
        """
        return asdict(self)


def advise(debt: Debt, metadata: TableMetadata) -> TableAdvice:
    """Recommends encoding, mode and a maintenance schedule for a table."""
    recent = debt.commits[-RECENT_COMMITS:]
    pace = measure_pace(recent)
    recommendations = [
        *(
            Recommendation("now", item.action, item.reason, f"about {item.cost_seconds:,.1f} s", (), (item.command,))
            for item in debt.advice
            if item.command
        ),
        recommend_encoding(debt, metadata, pace),
        recommend_mode(debt, metadata, pace, recent),
        *_plan_schedule(debt, metadata, pace),
    ]
    return TableAdvice(debt.table, pace, tuple(recommendations))


def _plan_schedule(debt: Debt, metadata: TableMetadata, pace: Pace) -> list[Recommendation]:
    """Plans maintenance to run from time to time."""
    recommendations = [_schedule_resolve(debt, pace)] if pace.keys else []
    compact = _schedule_compact(debt, pace)
    if compact is not None:
        recommendations.append(compact)
    collects = metadata.properties.get("gc.enabled", "true").strip().lower() == "true"
    if collects or "rowdelta.delta.source" in metadata.properties:
        recommendations.append(_schedule_expire(debt, pace))
    if collects:
        recommendations.append(_schedule_orphans())
    return recommendations


def _schedule_resolve(debt: Debt, pace: Pace) -> Recommendation:
    """Schedules resolves so that the keys between two of them take little memory in Iceberg's reader."""
    keys = max(pace.keys // max(pace.key_commits, 1), 1)
    every = max(find_keys_within(MEMORY_BETWEEN_RESOLVES) // keys, 1)
    interval = pace.interval_seconds
    when = f"every {every:,} commits" + ("" if interval is None else f", about {_format_span(every * interval)}")
    cost = estimate_iceberg_cost(debt.rows, every * keys)
    mebibytes = cost.memory_bytes >> 20
    return Recommendation(
        "resolve",
        when,
        f"a commit adds {keys:,} keys; {every * keys:,} of them take {mebibytes:,} MiB in Iceberg's reader",
        f"a resolve takes about {debt.rows * RESOLVE_SECONDS_PER_ROW + COMMIT_SECONDS:.1f} s at most and saves this "
        f"reader {cost.seconds:.1f} s a scan",
        commands=(add_branch(debt, "resolve"),),
    )


def _schedule_compact(debt: Debt, pace: Pace) -> Recommendation | None:
    """Schedules a rewrite for the time when the share of dead rows is worth it."""
    deleted = pace.positions + pace.keys
    if not deleted or not debt.rows or not pace.seconds:
        return None
    a_day = deleted / pace.seconds * _DAY
    left = max(debt.rows * DEAD_SHARE - debt.positions, 0) / a_day * _DAY
    rewrite = debt.bytes / REWRITE_BYTES_PER_SECOND + COMMIT_SECONDS
    # Rows die at a steady rate, but rewrites must not take more than their share of the time.
    shortest = max(_HOUR, _REWRITES * rewrite)
    every = min(max(debt.rows * DEAD_SHARE / a_day * _DAY, shortest), _MONTH)
    dead = f"{DEAD_SHARE:.0%} of the rows are dead " + ("already" if not left else f"in {_format_span(left)}")
    often = "; to compact more often would cost more than it saves" if every == shortest else ""
    return Recommendation(
        "compact",
        f"{'' if left else 'now, then '}every {_format_span(every)}",
        f"about {a_day:,.0f} rows are deleted a day, of {debt.rows:,}",
        f"{dead}; a rewrite of all files takes about {_format_span(rewrite)}{often}",
        commands=(add_branch(debt, "compact"),),
    )


def _schedule_expire(debt: Debt, pace: Pace) -> Recommendation:
    day = 0 if not pace.interval_seconds else _DAY / pace.interval_seconds
    return Recommendation(
        "expire",
        "once a day",
        f"every commit leaves a snapshot; the table has {debt.old_snapshots.total:,}",
        f"about {day:,.0f} snapshots a day at this pace; {debt.old_snapshots.expirable:,} can be expired now",
        commands=(("expire", "--older-than", "5d", "--retain-last", str(_RETAIN)),),
    )


def _schedule_orphans() -> Recommendation:
    return Recommendation(
        "orphans",
        "once a week",
        "writers that were killed leave behind files that no snapshot refers to",
        "lists the table's folder",
        commands=(
            ("remove-orphans", "--older-than", "3d", "--plan"),
            ("remove-orphans", "--older-than", "3d"),
        ),
    )


def _format_span(seconds: float) -> str:
    """Formats a rough time span.

    Examples:
        >>> _format_span(30), _format_span(5400), _format_span(3 * 86_400), _format_span(40_000 * 86_400)
        ('30 s', '1.5 hours', '3 days', 'more than a year')
    """
    if seconds < _HOUR:
        return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} minutes"  # noqa: PLR2004 - a minute
    if seconds < _DAY:
        return f"{seconds / _HOUR:.1f} hours"
    return f"{seconds / _DAY:.0f} days" if seconds < 365 * _DAY else "more than a year"
