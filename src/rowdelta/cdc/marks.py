"""Exactly once: a commit says which batch of which stream it is, so that a batch that comes again is known.

The mark is in the snapshot's summary and, in the same step, in a table property: the summary is what a rollback takes
back, and the property outlives the snapshots that are expired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.iceberg import CommitMark

if TYPE_CHECKING:
    from rowdelta.iceberg import TableHandle

STREAM: Final = "rowdelta.stream-id"
BATCH: Final = "rowdelta.batch-id"
_PROPERTY: Final = "rowdelta.stream."


def mark_of(stream_id: str, batch_id: int) -> CommitMark:
    """What the commit of a batch carries."""
    return CommitMark({STREAM: stream_id, BATCH: str(batch_id)}, {f"{_PROPERTY}{stream_id}": str(batch_id)})


def last_batch(handle: TableHandle, stream_id: str) -> int | None:
    """The newest batch of a stream that the table holds; None where there is none."""
    snapshots = handle.metadata.snapshots
    snapshot = handle.metadata.head(handle.branch)
    while snapshot is not None:
        if snapshot.summary.get(STREAM) == stream_id:
            return int(snapshot.summary[BATCH])
        if snapshot.parent_id is not None and snapshot.parent_id not in snapshots:  # expired
            known = handle.metadata.properties.get(f"{_PROPERTY}{stream_id}")
            return None if known is None else int(known)
        snapshot = None if snapshot.parent_id is None else snapshots[snapshot.parent_id]
    return None
