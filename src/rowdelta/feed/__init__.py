"""The change feed: which rows changed between two snapshots."""

from __future__ import annotations

from rowdelta.feed.change_feed import FEED_COLUMNS, ChangeRequest, read_changes
from rowdelta.feed.snapshot_range import State, find_snapshot, has_same_rows, list_commits

__all__ = [
    "FEED_COLUMNS",
    "ChangeRequest",
    "State",
    "find_snapshot",
    "has_same_rows",
    "list_commits",
    "read_changes",
]
