"""Reports the progress of a stream, batch by batch."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rich.console import Console

log: Final = logging.getLogger("rowdelta")


@dataclass(frozen=True)
class BatchProgress:
    """One batch of a stream.

    Attributes:
        stream_id: The stream.
        batch_id: The batch's number.
        replayed: The table already had this batch, so nothing was done.
        records: Records in the batch; each is a change, bad, or has nothing to do.
        changes: Changes that were applied.
        skipped: Records with nothing to do, such as tombstones.
        bad: Records that were refused and are in quarantine.
        keys: Distinct keys.
        rows: Rows written.
        inserted: New rows among them; None if the old rows were not looked up (`resolve=False`).
        updated: Rows that replaced others; None if the old rows were not looked up.
        deleted: Rows that were deleted; None if the old rows were not looked up.
        ignored: Changes that were not newer than the row in the table (`keep_newer=True`).
        bytes: Bytes written, of rows and deletes.
        commits: Commits of this run so far.
        lag_seconds: The age of the newest change after its commit; None if changes have no time.
        debt: Live equality deletes of the branch after the batch.
        resolved: Whether the stream resolved the deletes after this batch.
        expired: Snapshots that the stream expired after this batch.
        snapshot_id: The snapshot of the batch; None if there was nothing to commit.
        seconds: The duration of the batch, including resolve and expire.

    Examples:
        >>> print(BatchProgress("orders", 7, records=20, changes=20, keys=18, rows=17, bytes=5120, debt=180, seconds=1))
        batch 7: 20 records, 18 keys, 17 rows, 5,120 bytes, debt 180 deletes, 1.0 s
    """

    stream_id: str
    batch_id: int
    replayed: bool = False
    records: int = 0
    changes: int = 0
    skipped: int = 0
    bad: int = 0
    keys: int = 0
    rows: int = 0
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    ignored: int = 0
    bytes: int = 0
    commits: int = 0
    lag_seconds: float | None = None
    debt: int = 0
    resolved: bool = False
    expired: int = 0
    snapshot_id: int | None = None
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Returns the numbers as a plain dictionary.

        Examples:
            >>> BatchProgress("orders", 7, replayed=True).to_dict()["replayed"]
            True
        """
        return asdict(self)

    def __str__(self) -> str:
        if self.replayed:
            return f"batch {self.batch_id}: already in the table, skipped"
        parts = [f"{self.records:,} records", f"{self.keys:,} keys", f"{self.rows:,} rows", f"{self.bytes:,} bytes"]
        parts += [f"{self.ignored:,} ignored"] if self.ignored else []
        parts += [f"{self.bad:,} bad"] if self.bad else []
        parts += [f"lag {self.lag_seconds:.0f} s"] if self.lag_seconds is not None else []
        parts += [f"debt {self.debt:,} deletes", "resolved"] if self.resolved else [f"debt {self.debt:,} deletes"]
        parts += [f"{self.expired:,} snapshots expired"] if self.expired else []
        return f"batch {self.batch_id}: {', '.join(parts)}, {self.seconds:.1f} s"


OnBatch = Callable[[BatchProgress], None]


def report(progress: Any, listeners: Sequence[Callable[[Any], None]], source: str) -> None:
    """Reports progress to the log and every listener; one that fails does not stop the stream."""
    log.info("%s, %s", source, progress)
    for listener in listeners:
        _call(progress, listener)


def _call(progress: Any, listener: Callable[[Any], None]) -> None:
    try:
        listener(progress)
    except Exception:
        log.exception("a progress listener failed")


def make_terminal_listeners() -> list[Callable[[Any], None]]:
    """Returns a listener that prints a line for each batch, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return []
    console = Console(stderr=True, highlight=True)
    return [lambda progress: console.print(str(progress))]
