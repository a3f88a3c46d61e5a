"""`t.advise()`: which encoding, mode and maintenance fit the way in which a table is changed.

The debt says how the table is now; its recent commits say how it changes. Both are metadata. Every recommendation has
its reason, an estimate, and the commands that put it into practice.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rowdelta.debt.advice import DEAD_SHARE, EQUALITY_READERS, EQUALITY_REFUSERS, on_branch
from rowdelta.debt.costs import (
    COMMIT_SECONDS,
    RESOLVE_SECONDS_PER_ROW,
    REWRITE_BYTES_PER_SECOND,
    stock_cost,
    stock_keys_within,
)
from rowdelta.encoding import DeleteEncoding, EncodingCostEstimator, FileContent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.debt.history import Commit
    from rowdelta.debt.measure import Debt
    from rowdelta.iceberg import TableMetadata

RECENT_COMMITS: Final = 50
# The memory that equality deletes may take in a stock reader before they are resolved.
MEMORY_BETWEEN_RESOLVES: Final = 512 << 20
EQUALITY_VECTOR_ENABLED: Final = "write.delete.equality-vector.enabled"
MODES: Final = ("write.delete.mode", "write.update.mode", "write.merge.mode")
_MERGE_ON_READ: Final = "merge-on-read"
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_MONTH: Final = 30 * _DAY
# A table is not rewritten for more than this share of the time: one part in so many.
_REWRITES: Final = 20
_V3: Final = 3
_RETAIN: Final = 10
_OFTEN: Final = 10


@dataclass(frozen=True)
class Pace:
    """How a table changes, from its recent commits.

    Attributes:
        commits: How many were looked at.
        seconds: The time from the first to the last of them.
        row_level: Commits that deleted or replaced single rows.
        keys: Keys of equality deletes that they added.
        key_commits: Commits that did so.
        positions: Deleted positions that they added.
        rewritten_bytes: What they wrote in place of files that held the old rows.
        rewritten_commits: Commits that did so.
    """

    commits: int
    seconds: float
    row_level: int
    keys: int
    key_commits: int
    positions: int
    rewritten_bytes: int
    rewritten_commits: int

    @property
    def interval_seconds(self) -> float | None:
        """The mean time between two commits."""
        return self.seconds / (self.commits - 1) if self.commits > 1 else None


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
        >>> found = t.advise().recommendations[-1]
        >>> found.topic, found.choice, found.reason
        ('orphans', 'once a week', 'writers that were killed leave files behind that no snapshot knows')
    """

    topic: str
    choice: str
    reason: str
    estimate: str = ""
    sql: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class TableAdvice:
    """All recommendations for a table, and the pace that they rest on.

    Examples:
        >>> advice = t.advise()
        >>> advice.table, advice.pace.commits
        ('lake.db.orders', 1)
    """

    table: str
    pace: Pace
    recommendations: tuple[Recommendation, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as a plain dictionary.

        Examples:
            >>> [found["topic"] for found in t.advise().to_dict()["recommendations"]]
            ['encoding', 'mode', 'expire', 'orphans']
        """
        return asdict(self)


def advise(debt: Debt, metadata: TableMetadata) -> TableAdvice:
    """Recommends encoding, mode and a maintenance schedule for a table."""
    recent = debt.commits[-RECENT_COMMITS:]
    pace = pace_of(recent)
    found = [
        *(
            Recommendation("now", item.action, item.reason, _now_estimate(item.cost_seconds), (), (item.command,))
            for item in debt.advice
            if item.command
        ),
        _encoding(debt, metadata, pace),
        _mode(debt, metadata, pace, recent),
        *_schedule(debt, metadata, pace),
    ]
    return TableAdvice(debt.table, pace, tuple(found))


def pace_of(commits: Sequence[Commit]) -> Pace:
    """Sums up some commits, oldest first."""
    row_level = [c for c in commits if c.keys_added or c.positions_added or _rewrites(c)]
    rewritten = [c for c in commits if _rewrites(c)]
    return Pace(
        commits=len(commits),
        seconds=(commits[-1].timestamp_ms - commits[0].timestamp_ms) / 1000 if commits else 0.0,
        row_level=len(row_level),
        keys=sum(c.keys_added for c in commits),
        key_commits=sum(1 for c in commits if c.keys_added),
        positions=sum(c.positions_added for c in commits),
        rewritten_bytes=sum(c.bytes_added for c in rewritten),
        rewritten_commits=len(rewritten),
    )


def _rewrites(commit: Commit) -> bool:
    """Copy-on-write: files replaced by others, and not by a compaction."""
    return bool(commit.operation == "overwrite" and commit.data_files_added and commit.data_files_removed)


def _now_estimate(seconds: float) -> str:
    return f"about {seconds:,.1f} s"


def _encoding(debt: Debt, metadata: TableMetadata, pace: Pace) -> Recommendation:
    enabled = metadata.properties.get(EQUALITY_VECTOR_ENABLED, "false").strip().lower() == "true"
    if pace.keys:
        return _key_encoding(debt, metadata, pace, enabled=enabled)
    if debt.format_version < _V3:
        return Recommendation(
            "encoding",
            "format version 3, deletion vectors",
            "deletes by position are files of paths and positions on version 2; readers open every one of them",
            "deletion vectors cost readers nothing that could be measured, and there is one for each data file at most",
            (f"ALTER TABLE {debt.table} SET TBLPROPERTIES ('format-version'='3')",),
        )
    return Recommendation(
        "encoding", "as it is: deletion vectors", "deletes by position are deletion vectors on version 3 by themselves"
    )


def _key_encoding(debt: Debt, metadata: TableMetadata, pace: Pace, *, enabled: bool) -> Recommendation:
    """Which form the keys of equality deletes should have."""
    keys = pace.keys // max(pace.key_commits, 1)
    types = [[_type(metadata, name) for name in columns] for columns in debt.key_columns]
    # Without live deletes nobody knows the type of the keys.
    fits = debt.format_version >= _V3 and bool(types) and all(found == ["long"] for found in types)
    sizes = [
        f"{EncodingCostEstimator().estimate_full_row_cost(keys, found):,} bytes as a file of {' and '.join(columns)}"
        for columns, found in zip(debt.key_columns, types, strict=True)
    ]
    if fits:
        size = EncodingCostEstimator().estimate_deletion_vector_cost(FileContent.EQUALITY, keys, ["long"])
        sizes.append(f"{size:,} bytes as a vector")
    estimate = f"a commit adds {keys:,} keys{': about ' if sizes else ''}{', '.join(sizes)}"
    often = pace.interval_seconds is not None and pace.interval_seconds * _OFTEN < _HOUR
    if enabled:
        return Recommendation(
            "encoding",
            "equality delete vectors, resolved on schedule",
            f"{EQUALITY_VECTOR_ENABLED} is true: only rowdelta reads the table between two resolves",
            estimate,
        )
    if fits and often:
        branch = "ingest" if debt.branch == "main" else debt.branch
        return Recommendation(
            "encoding",
            "equality delete vectors on a branch, published by resolve",
            f"there are more than {_OFTEN} commits an hour; on a branch, vectors hinder no reader of main",
            estimate,
            (
                *([f"ALTER TABLE {debt.table} CREATE BRANCH IF NOT EXISTS {branch}"] if debt.branch == "main" else []),
                f"ALTER TABLE {debt.table} SET TBLPROPERTIES ('{EQUALITY_VECTOR_ENABLED}'='true')",
            ),
            (("resolve", "--branch", branch, "--publish", "main"),),
        )
    return Recommendation(
        "encoding",
        f"standard equality delete files ({DeleteEncoding.FULL_ROW})",
        f"{EQUALITY_READERS} read them ({EQUALITY_REFUSERS} do not), and they are resolved on schedule",
        estimate,
    )


def _type(metadata: TableMetadata, column: str) -> str:
    return next((known.type_name for known in metadata.schema.by_id.values() if known.name == column), "unknown")


def _mode(debt: Debt, metadata: TableMetadata, pace: Pace, recent: Sequence[Commit]) -> Recommendation:
    modes = {name: metadata.properties.get(name) for name in MODES}
    if not pace.row_level:
        return Recommendation("mode", "as it is", "no recent commit changed single rows")
    if pace.rewritten_commits and any(mode != _MERGE_ON_READ for mode in modes.values()):
        size = pace.rewritten_bytes // pace.rewritten_commits
        properties = ", ".join(f"'{name}'='{_MERGE_ON_READ}'" for name in MODES)
        return Recommendation(
            "mode",
            _MERGE_ON_READ,
            f"{pace.rewritten_commits} of the last {pace.commits} commits wrote whole files anew to change some rows",
            f"each wrote {size:,} bytes, about {size / REWRITE_BYTES_PER_SECOND:.1f} s; a deletion vector is some KB",
            (f"ALTER TABLE {debt.table} SET TBLPROPERTIES ({properties})",),
        )
    changed = sum(c.positions_added + c.keys_added for c in recent)
    return Recommendation(
        "mode",
        f"as it is: {_MERGE_ON_READ}",
        f"{pace.row_level} of the last {pace.commits} commits changed {changed:,} rows without writing files anew",
    )


def _schedule(debt: Debt, metadata: TableMetadata, pace: Pace) -> list[Recommendation]:
    found = []
    if pace.keys:
        found.append(_resolve_schedule(debt, pace))
    compact = _compact_schedule(debt, pace)
    if compact is not None:
        found.append(compact)
    collects = metadata.properties.get("gc.enabled", "true").strip().lower() == "true"
    if collects or "rowdelta.delta.source" in metadata.properties:
        day = 0 if not pace.interval_seconds else _DAY / pace.interval_seconds
        found.append(
            Recommendation(
                "expire",
                "once a day",
                f"every commit leaves a snapshot; the table has {debt.old_snapshots.total:,}",
                f"about {day:,.0f} snapshots a day at this pace; {debt.old_snapshots.expirable:,} can go now",
                commands=(("expire", "--older-than", "5d", "--retain-last", str(_RETAIN)),),
            )
        )
    if collects:
        found.append(
            Recommendation(
                "orphans",
                "once a week",
                "writers that were killed leave files behind that no snapshot knows",
                "lists the table's folder",
                commands=(
                    ("remove-orphans", "--older-than", "3d", "--plan"),
                    ("remove-orphans", "--older-than", "3d"),
                ),
            )
        )
    return found


def _resolve_schedule(debt: Debt, pace: Pace) -> Recommendation:
    """Often enough that the keys between two resolves stay small in a stock reader."""
    keys = max(pace.keys // max(pace.key_commits, 1), 1)
    every = max(stock_keys_within(MEMORY_BETWEEN_RESOLVES) // keys, 1)
    interval = pace.interval_seconds
    when = f"every {every:,} commits" + ("" if interval is None else f", about {_span(every * interval)}")
    cost = stock_cost(debt.rows, every * keys)
    return Recommendation(
        "resolve",
        when,
        f"a commit adds {keys:,} keys; {every * keys:,} of them take {cost.memory_bytes >> 20:,} MiB in a stock reader",
        f"a resolve takes about {debt.rows * RESOLVE_SECONDS_PER_ROW + COMMIT_SECONDS:.1f} s at most and saves such a "
        f"reader {cost.seconds:.1f} s a scan",
        commands=(on_branch(debt, "resolve"),),
    )


def _compact_schedule(debt: Debt, pace: Pace) -> Recommendation | None:
    """When the share of dead rows will be worth a rewrite."""
    gone = pace.positions + pace.keys
    if not gone or not debt.rows or not pace.seconds:
        return None
    a_day = gone / pace.seconds * _DAY
    left = max(debt.rows * DEAD_SHARE - debt.positions, 0) / a_day * _DAY
    rewrite = debt.bytes / REWRITE_BYTES_PER_SECOND + COMMIT_SECONDS
    # From one compaction to the next, but no more of the time than a rewrite is worth.
    least = max(_HOUR, _REWRITES * rewrite)
    every = min(max(debt.rows * DEAD_SHARE / a_day * _DAY, least), _MONTH)
    dead = f"{DEAD_SHARE:.0%} of the rows are dead " + ("already" if not left else f"in {_span(left)}")
    often = "; to compact more often would cost more than it saves" if every == least else ""
    return Recommendation(
        "compact",
        f"{'' if left else 'now, then '}every {_span(every)}",
        f"about {a_day:,.0f} rows are deleted a day, of {debt.rows:,}",
        f"{dead}; a rewrite of all files takes about {_span(rewrite)}{often}",
        commands=(on_branch(debt, "compact"),),
    )


def _span(seconds: float) -> str:
    """A rough time span.

    Examples:
        >>> _span(30), _span(5400), _span(3 * 86_400), _span(40_000 * 86_400)
        ('30 s', '1.5 hours', '3 days', 'more than a year')
    """
    if seconds < _HOUR:
        return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} minutes"  # noqa: PLR2004 - a minute
    if seconds < _DAY:
        return f"{seconds / _HOUR:.1f} hours"
    return f"{seconds / _DAY:.0f} days" if seconds < 365 * _DAY else "more than a year"
