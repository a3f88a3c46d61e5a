"""Marks each commit with its stream and batch, so that a repeated batch is recognised: exactly once.

The mark is in the snapshot's summary and, in the same commit, in a table property. A rollback takes back the summary,
and the property outlives expired snapshots.
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
        query_id: Spark's id of the query, which its checkpoint keeps. Batch numbers are valid only within a query.
        batch_id: The number of the batch.
    """

    stream_id: str
    query_id: str
    batch_id: int

    @property
    def summary(self) -> dict[str, str]:
        """Its entries in the snapshot's summary."""
        return {STREAM: self.stream_id, BATCH: str(self.batch_id), QUERY: self.query_id}

    @property
    def on_commit(self) -> CommitMark:
        """What the commit of the batch adds to the table."""
        return CommitMark(self.summary, {f"{_PROPERTY}{self.stream_id}": f"{self.batch_id} {self.query_id}"})


def find_last_batch(handle: TableHandle, stream_id: str) -> BatchMark | None:
    """Returns the newest batch of a stream in the table; None if there is none."""
    oldest = None
    for snapshot in handle.metadata.ancestors(handle.metadata.head(handle.branch)):
        if snapshot.summary.get(STREAM) == stream_id:
            return BatchMark(stream_id, snapshot.summary[QUERY], int(snapshot.summary[BATCH]))
        oldest = snapshot
    value = handle.metadata.properties.get(f"{_PROPERTY}{stream_id}")
    was_expired = oldest is not None and oldest.parent_id is not None
    if value is None or not was_expired:
        return None
    batch_id, _, query_id = value.partition(" ")
    return BatchMark(stream_id, query_id, int(batch_id))


def find_last_number(handle: TableHandle, stream_id: str, query_id: str) -> int | None:
    """Returns the number of the newest batch of a stream in the table.

    Raises:
        InputError: Another checkpoint counted it, so that the batches of this one cannot be compared.
    """
    last = find_last_batch(handle, stream_id)
    if last is not None and last.query_id != query_id:
        raise InputError(
            f"stream {stream_id!r} has written to {handle.name} up to batch {last.batch_id} with another checkpoint: "
            "it is unknown which batches of this one are in the table",
            hint="continue with that checkpoint, or give this stream another stream_id",
        )
    return None if last is None else last.batch_id
