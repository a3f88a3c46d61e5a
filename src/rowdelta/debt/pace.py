"""How a table changes: what its recent commits did, and how often they came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.debt.history import Commit


@dataclass(frozen=True)
class Pace:
    """How a table changes, by its recent commits.

    Attributes:
        commits: The number of commits.
        seconds: The time from the first to the last of them.
        row_level: Commits that deleted or replaced single rows.
        keys: Keys of equality deletes that they added.
        key_commits: Commits that did so.
        positions: Deleted positions that they added.
        rewritten_bytes: The size of the files that they wrote to replace files with the old rows.
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


def measure_pace(commits: Sequence[Commit]) -> Pace:
    """Measures the pace of some commits, oldest first."""
    row_level = [c for c in commits if c.keys_added or c.positions_added or _is_rewrite(c)]
    rewritten = [c for c in commits if _is_rewrite(c)]
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


def _is_rewrite(commit: Commit) -> bool:
    """Whether a commit is copy-on-write: it replaces files by others, and is not a compaction."""
    return bool(commit.operation == "overwrite" and commit.data_files_added and commit.data_files_removed)
