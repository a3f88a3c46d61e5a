"""What must not have happened between reading a snapshot and committing what was found in it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

from rowdelta.errors import CommitConflictError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from rowdelta.iceberg import SnapshotFiles, Uncommitted

log: Final = logging.getLogger("rowdelta")
ATTEMPTS: Final = 5
Found = TypeVar("Found")


def tried_again(run: Callable[[], Found], what: str, attempts: int = ATTEMPTS) -> Found:
    """Runs something from the beginning whenever another writer was in its way; the last conflict is raised."""
    for _ in range(attempts - 1):
        try:
            return run()
        except CommitConflictError as error:  # noqa: PERF203 - a conflict is rare
            log.info("%s starts again: %s", what, error.message)
    return run()


def steady_files(files: SnapshotFiles, touched: AbstractSet[str], oldest_allowed: int) -> Callable[[Uncommitted], None]:
    """A check of the manifests that are about to be committed.

    Args:
        files: The snapshot that was read.
        touched: Data files that must still be there.
        oldest_allowed: No data file below this sequence number may have come since. A rewrite keeps the number that
            it started with: its rows would come back to life when a newer equality delete is removed unseen.
    """
    read = {m["manifest_path"]: m for m in files.listing.records if not m.get("content")}

    def check(made: Uncommitted) -> None:
        handle = made.handle
        now = {m["manifest_path"]: m for m in made.listing.records if not m.get("content")}
        before = {e.path for path, m in read.items() if path not in now for e in handle.manifests.data(m)}
        after = {e.path: e for path, m in now.items() if path not in read for e in handle.manifests.data(m)}
        lost = sorted(touched & (before - after.keys()))
        if lost:
            raise CommitConflictError(f"another writer removed data file {lost[0]}", hint="run it again")
        late = [e for path, e in after.items() if path not in before and e.sequence_number < oldest_allowed]
        if late:
            raise CommitConflictError(
                f"another writer added {late[0].path} with sequence number {late[0].sequence_number}, older than the "
                f"equality deletes that are removed",
                hint="run it again",
            )

    return check


def all_of(checks: Sequence[Callable[[Uncommitted], None]]) -> Callable[[Uncommitted], None]:
    """One check after the other."""

    def check(made: Uncommitted) -> None:
        for each in checks:
            each(made)

    return check
