"""The progress of a follower, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class FollowProgress:
    """One batch of a follower.

    Attributes:
        batch_id: The batch's number.
        start: The snapshot before the range; None for the first batch of a follower without a start.
        end: The last snapshot of the range.
        snapshots: How many snapshots the range has.
        is_reload: Whether the changes were all rows of the table.
        replayed: The target already had this batch, so nothing was done.
        lag_seconds: The age of the last snapshot after the batch.
        seconds: The duration of the batch.

    Examples:
        >>> print(FollowProgress(7, 41, 43, snapshots=2, lag_seconds=3.2, seconds=1.5))
        batch 7: 2 snapshots up to 43, lag 3 s, 1.5 s
    """

    batch_id: int
    start: int | None
    end: int
    snapshots: int = 0
    is_reload: bool = False
    replayed: bool = False
    lag_seconds: float = 0.0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Returns the numbers as a plain dictionary.

        Examples:
            >>> FollowProgress(7, 41, 43, replayed=True).to_dict()["replayed"]
            True
        """
        return asdict(self)

    def __str__(self) -> str:
        if self.replayed:
            return f"batch {self.batch_id}: already in the table, skipped"
        what = "all rows" if self.is_reload else f"{self.snapshots:,} snapshot{'s' if self.snapshots != 1 else ''}"
        return f"batch {self.batch_id}: {what} up to {self.end}, lag {self.lag_seconds:.0f} s, {self.seconds:.1f} s"


OnFollowed = Callable[[FollowProgress], None]
