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
    history = handle.metadata.ancestors(handle.metadata.head(handle.branch))
    for snapshot in history:
        if snapshot.summary.get(STREAM) == stream_id:
            return int(snapshot.summary[BATCH])
    known = handle.metadata.properties.get(f"{_PROPERTY}{stream_id}")
    was_expired = bool(history) and history[-1].parent_id is not None
    return int(known) if was_expired and known is not None else None
