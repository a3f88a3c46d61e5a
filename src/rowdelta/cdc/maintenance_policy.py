"""When a stream maintains its table: it resolves equality deletes and expires snapshots."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rowdelta.cdc.batch_marks import STREAM
from rowdelta.change import publish
from rowdelta.errors import CommitConflictError, InputError, RowDeltaError

if TYPE_CHECKING:
    from rowdelta._table import Table

PUBLISH_EVERY: Final = 10
log: Final = logging.getLogger("rowdelta")
_TOTAL: Final = "total-equality-deletes"


def count_equality_deletes(table: Table) -> int:
    """Returns the number of live equality deletes of the branch, from its newest snapshot."""
    head = table.metadata.head(table.branch)
    return 0 if head is None else int(head.summary.get(_TOTAL, 0))


@dataclass(frozen=True)
class ResolvePolicy:
    """Resolves after a number of commits, or at a number of live deletes, or never.

    It reads everything from the table's history, so that a restart of the stream makes no difference.

    Attributes:
        every: Commits between two resolves.
        max_debt: The number of live equality deletes that starts a resolve.
        publish: The branch that moves to every resolved state.
    """

    every: int | None = None
    max_debt: int | None = None
    publish: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("resolve_every", self.every), ("max_debt", self.max_debt)):
            if value is not None and value < 1:
                raise InputError(f"{name}={value} is not a positive number")
        if self.publish is not None and self.every is None and self.max_debt is None:
            object.__setattr__(self, "every", PUBLISH_EVERY)

    def before_batch(self, table: Table) -> None:
        """Moves the branch to what others have committed to the published branch, unless it has unpublished commits."""
        if self.publish is None:
            return
        metadata = table.metadata
        published, head = metadata.head(self.publish), metadata.head(table.branch)
        if published is None or head is None or published.id == head.id:
            return
        if metadata.descends(published, head.id):
            log.info("branch %s follows the commits of %s", table.branch, self.publish)
            publish(table._handle, table.branch, published.id)  # noqa: SLF001 - a table's own stream

    def after_commit(self, table: Table, stream_id: str) -> bool:
        """Resolves if it is due, and returns whether it did. After a conflict with other writers, it retries later."""
        is_due = self.every is not None and self._count_commits(table, stream_id) >= self.every
        is_full = self.max_debt is not None and count_equality_deletes(table) >= self.max_debt
        if not (is_due or is_full):
            return False
        try:
            self.resolve(table)
        except CommitConflictError as error:
            log.warning("the stream goes on, and resolves after its next commit: %s", error)
            return False
        return True

    def resolve(self, table: Table) -> None:
        """Resolves the live deletes and publishes the state."""
        table.resolve(publish=self.publish).execute()

    def is_behind(self, table: Table) -> bool:
        """Whether the branch has commits that are not published."""
        if self.publish is None:
            return False
        metadata = table.refresh().metadata
        published, head = metadata.head(self.publish), metadata.head(table.branch)
        if head is None or (head.parent_id is None and head.summary.get("total-records") == "0"):
            return False  # no batch has arrived yet
        return not metadata.descends(published, head.id)

    def _count_commits(self, table: Table, stream_id: str) -> int:
        """Counts the stream's commits since the last state that was published or had no equality deletes."""
        metadata, count, snapshot = table.metadata, 0, None
        published = None if self.publish is None else metadata.head(self.publish)
        for snapshot in metadata.ancestors(metadata.head(table.branch)):
            is_done = snapshot == published if self.publish is not None else int(snapshot.summary.get(_TOTAL, 0)) == 0
            if is_done:
                return count
            count += snapshot.summary.get(STREAM) == stream_id
        was_expired = snapshot is not None and snapshot.parent_id is not None
        return sys.maxsize if was_expired else count  # their number is unknown


@dataclass(frozen=True)
class ExpirePolicy:
    """Expires old snapshots after a number of commits to the table, by the table's own limits, or never.

    Commits of all writers count, by their sequence numbers. A restart makes no difference, because a round begins at a
    multiple.
    """

    every: int | None = None

    def __post_init__(self) -> None:
        if self.every is not None and self.every < 1:
            raise InputError(f"expire_every={self.every} is not a positive number")

    def check(self, table: Table) -> None:
        """Refuses a table whose files must not be removed, before the stream begins."""
        if self.every is not None:
            table.expire().check()

    def compute_round(self, table: Table) -> int:
        """Returns the number of the current round."""
        return 0 if self.every is None else table.metadata.last_sequence_number // self.every

    def expire(self, table: Table) -> int:
        """Expires snapshots, and returns their number. After an error, it tries again later."""
        try:
            return table.expire().execute().snapshots_expired
        except RowDeltaError as error:
            log.warning("the stream goes on, and expires snapshots later: %s", error)
            return 0
