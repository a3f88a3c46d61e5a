"""`t.resolve()`: equality deletes of every encoding become positions, which every engine of the version reads."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rowdelta.change import Operation, Plan, Result, apply, files_removed, open_target, publish
from rowdelta.errors import CommitConflictError, InputError
from rowdelta.iceberg import check_fast_forward, snapshot_files
from rowdelta.maintenance.affected_files import find_candidates
from rowdelta.maintenance.conflict_checks import tried_again
from rowdelta.maintenance.dropped_partitions import removable
from rowdelta.maintenance.file_groups import in_groups, memory_bytes, portion
from rowdelta.maintenance.partition_filter import covered_deletes
from rowdelta.maintenance.progress import reporting
from rowdelta.maintenance.resolve_attempt import Resolution
from rowdelta.maintenance.restore_offsets import mend_places
from rowdelta.maintenance.verify import VERIFIED_BELOW
from rowdelta.read import check_vectors
from rowdelta.spark import check_expression

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rowdelta.change import FilePositions
    from rowdelta.iceberg import LiveData, Snapshot, TableHandle
    from rowdelta.maintenance.progress import OnProgress


@dataclass(frozen=True)
class ResolveResult(Result):
    """What `resolve` did. No visible row changes, so `rows_deleted` is 0.

    Attributes:
        positions: Rows that were deleted by key and now are by position, or gone with their file.
        equality_deletes: Equality deletes that are gone.
        dangling: How many of them applied to nothing any more.
        files_scanned: Data files that were read.
        files_pruned: Data files that no key could be in.
        groups: In how many parts the files were read.
        verified: Whether all visible rows were compared before the commit.
        published: The branch that was moved to the resolved state, if it was not there already.
        left_out: Why some equality deletes are still there.

    Examples:
        >>> _ = t.delete_keys(changes, key="id").execute()
        >>> result = t.resolve().execute()
        >>> result.positions, result.files_scanned, result.delete_files_added, result.verified
        (2, 1, 1, True)
    """

    positions: int = 0
    equality_deletes: int = 0
    dangling: int = 0
    files_scanned: int = 0
    files_pruned: int = 0
    groups: int = 0
    verified: bool = False
    published: str | None = None
    left_out: tuple[str, ...] = ()


class Resolve(Operation[ResolveResult]):
    """Finds the rows that equality deletes delete, and deletes them by position instead."""

    def __init__(
        self,
        handle: TableHandle,
        where: str | Column | None,
        publish: str | None,
        memory: str | int,
        progress: OnProgress | None = None,
        *,
        verify: bool | None,
        partial_progress: bool,
    ) -> None:
        if publish is not None and publish == handle.branch:
            raise InputError(
                f"branch {publish!r} is the one that is resolved: there is nothing to publish",
                hint=f'open the table with another branch: rd.table(spark, "{handle.name}", branch="ingest")',
            )
        self._handle = handle
        self._where = None if where is None else check_expression(handle.gateway, where, "where")
        self._publish = publish
        self._verify = verify
        self._memory = memory_bytes(memory)
        self._progress = progress
        self._partial = partial_progress
        self._result = ResolveResult()
        self._resolved: Snapshot | None = None

    def plan(self) -> Plan:
        """Says which deletes would go, and which files would be read for it."""
        work = self._look()
        steps = (("equality deletes", "none: nothing to do"),) if work is None else work.steps()
        if work is not None and self._verified(work):
            steps = (*steps, ("verify", "all visible rows are compared before the commit"))
        if self._publish is not None:
            steps = (*steps, ("publish", f"branch {self._publish} moves forward to the resolved state"))
        return Plan(f"resolve {self._handle.name}", steps)

    def execute(self) -> ResolveResult:
        """Resolves in one snapshot, or in one for each group with partial progress.

        Raises:
            CommitConflictError: Other writers changed the same files each time that it was tried, or added equality
                deletes to a state that was to be published.
            VerificationError: The visible rows would not be the same; nothing was committed.
            FormatError: A deletion vector of a file that is read is damaged; nothing was committed.
        """
        started = time.monotonic()
        self._result = ResolveResult()
        published = self._handle.run_interruptibly(self._resolve_and_publish)
        return replace(self._result, published=published, seconds=time.monotonic() - started)

    def _resolve_and_publish(self) -> str | None:
        tried_again(self._run, f"resolve of {self._handle.name}")
        return self._published()

    def _look(self) -> Resolution | None:
        """What there is to do; None where there are no equality deletes."""
        target = open_target(self._handle)
        if self._publish is not None and target.snapshot is not None:
            check_fast_forward(self._handle, self._publish, target.snapshot.id)
        if target.files is None or not target.files.equality_deletes:
            return None
        covered = covered_deletes(self._handle, target.files.equality_deletes, self._where)
        if self._publish is not None and len(covered.deletes) < len(target.files.equality_deletes):
            raise InputError(
                "with where=, some equality deletes stay, and the state is not one that every engine reads",
                hint="publish without where=",
            )
        covered = removable(self._handle, target.files, covered)
        found = find_candidates(self._handle, target.files, covered.deletes)
        return Resolution(self._handle, target.files, covered, found, self._memory)

    def _verified(self, work: Resolution) -> bool:
        return work.found.size_in_bytes < VERIFIED_BELOW if self._verify is None else self._verify

    def _run(self) -> None:
        """One try. What it commits counts, even when a later group meets a conflict and all is looked at again."""
        work = self._look()
        if work is not None and mend_places(self._handle, work.files):
            work = self._look()
        if work is None:
            self._resolved = self._handle.snapshot()
            return
        self._result = replace(self._result, left_out=work.covered.left_out)
        if not work.deletes:
            self._resolved = work.files.snapshot
            return
        check_vectors(self._handle, work.vectors())
        groups = in_groups(work.found.files, self._memory)
        self._result = replace(
            self._result,
            dangling=len(work.found.dangling),
            files_scanned=len(work.found.files),
            files_pruned=work.found.total - len(work.found.files),
            groups=len(groups),
            verified=self._verified(work),
        )
        with reporting(f"resolve {self._handle.name}", list(map(portion, groups)), self._progress) as reporter:
            touched: list[FilePositions] = []
            for index, group in enumerate(groups, 1):
                touched += work.positions(group)
                reporter.done(portion(group))
                if self._partial and index < len(groups):
                    self._commit(work, touched, group)
                    touched = []
            self._commit(work, touched, None)
        if self._publish is not None:
            self._check_publishable(work)

    def _commit(self, work: Resolution, touched: list[FilePositions], group: list[LiveData] | None) -> None:
        """Commits positions; without a group it is the last time, and the equality deletes go."""
        change = work.change(touched, group, verify=self._verified(work))
        if change is None:
            return
        snapshot, before = apply(self._handle, change), self._result
        self._resolved = snapshot if group is None else None
        self._result = replace(
            before,
            snapshot_id=snapshot.id,
            positions=before.positions + sum(len(file.positions) for file in touched),
            equality_deletes=before.equality_deletes + (len(work.deletes) if group is None else 0),
            data_files_removed=before.data_files_removed + files_removed(snapshot),
            delete_files_added=before.delete_files_added + len(change.deletes),
            delete_files_removed=before.delete_files_removed + len(change.removed_deletes),
            bytes_added=before.bytes_added + change.size_in_bytes,
        )

    def _check_publishable(self, work: Resolution) -> None:
        """Keys that others committed during the run are still there; the next try has only these to resolve."""
        files = None if self._resolved is None else snapshot_files(self._handle, self._resolved)
        known = {entry.path for entry in work.files.equality_deletes}
        if files is not None and any(entry.path not in known for entry in files.equality_deletes):
            raise CommitConflictError(
                f"another writer added equality deletes to branch {self._handle.branch!r} while it was resolved: "
                f"branch {self._publish!r} was not moved",
                hint="run it again; what was resolved stays resolved",
            )

    def _published(self) -> str | None:
        """Moves the branch to the state that was resolved, which later commits may already have left behind."""
        if self._publish is None or self._resolved is None:
            return None
        return self._publish if publish(self._handle, self._publish, self._resolved.id) else None
