"""Exactly once: a commit says which batch of which stream it is, so that a batch that comes again is known.

The mark is in the snapshot's summary and, in the same step, in a table property: the summary is what a rollback takes
back, and the property outlives the snapshots that are expired.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rowdelta.errors import InputError
from rowdelta.iceberg import CommitMark

if TYPE_CHECKING:
    from rowdelta.iceberg import TableHandle

STREAM: Final = "rowdelta.stream-id"
BATCH: Final = "rowdelta.batch-id"
QUERY: Final = "rowdelta.query-id"
_PROPERTY: Final = "rowdelta.stream."


@dataclass(frozen=True)
class BatchMark:
    """A batch of a stream.

    Attributes:
        stream_id: The stream.
        query_id: Spark's id of the query, which its checkpoint keeps: numbers of batches count for this one alone.
        batch_id: The number of the batch.
    """

    stream_id: str
    query_id: str
    batch_id: int

    @property
    def summary(self) -> dict[str, str]:
        """What a snapshot's summary says of it."""
        return {STREAM: self.stream_id, BATCH: str(self.batch_id), QUERY: self.query_id}

    @property
    def on_commit(self) -> CommitMark:
        """What the commit of the batch carries."""
        return CommitMark(self.summary, {f"{_PROPERTY}{self.stream_id}": f"{self.batch_id} {self.query_id}"})


def last_batch(handle: TableHandle, stream_id: str) -> BatchMark | None:
    """The newest batch of a stream that the table holds; None where there is none."""
    oldest = None
    for snapshot in handle.metadata.ancestors(handle.metadata.head(handle.branch)):
        if snapshot.summary.get(STREAM) == stream_id:
            return BatchMark(stream_id, snapshot.summary[QUERY], int(snapshot.summary[BATCH]))
        oldest = snapshot
    known = handle.metadata.properties.get(f"{_PROPERTY}{stream_id}")
    was_expired = oldest is not None and oldest.parent_id is not None
    if known is None or not was_expired:
        return None
    batch_id, _, query_id = known.partition(" ")
    return BatchMark(stream_id, query_id, int(batch_id))


def last_number(handle: TableHandle, stream_id: str, query_id: str) -> int | None:
    """The number of the newest batch of a stream that the table holds.

    Raises:
        InputError: It was counted by another checkpoint, so that nothing can be said of the batches of this one.
    """
    last = last_batch(handle, stream_id)
    if last is not None and last.query_id != query_id:
        raise InputError(
            f"stream {stream_id!r} has written to {handle.name} up to batch {last.batch_id} with another checkpoint: "
            "which batches of this one are in the table cannot be known",
            hint="go on with that checkpoint, or give this stream another stream_id",
        )
    return None if last is None else last.batch_id
