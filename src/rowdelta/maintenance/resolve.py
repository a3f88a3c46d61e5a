"""`t.resolve()`: turns equality deletes of every encoding into positions, which every engine of the version reads."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rowdelta._deprecated import RenamedAttribute
from rowdelta.change import Operation, Plan, Result, commit_and_refresh, count_removed_files, publish
from rowdelta.errors import CommitConflictError, InputError
from rowdelta.iceberg import read_snapshot_files
from rowdelta.maintenance.conflict_checks import retry_conflicts
from rowdelta.maintenance.file_groups import measure_files, parse_memory
from rowdelta.maintenance.progress import report_progress
from rowdelta.maintenance.resolve_attempt import find_positions, stage_group, stage_rest
from rowdelta.maintenance.resolve_plan import describe_resolve, plan_resolve
from rowdelta.maintenance.restore_offsets import restore_vector_offsets
from rowdelta.maintenance.verify import should_verify
from rowdelta.read import check_vectors
from rowdelta.spark import check_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from rowdelta.change import FilePositions
    from rowdelta.iceberg import LiveData, RowChange, Snapshot, TableHandle
    from rowdelta.maintenance.progress import OnProgress
    from rowdelta.maintenance.resolve_plan import ResolvePlan


@dataclass(frozen=True)
class ResolveResult(Result):
    """What `resolve` did. No visible row changes, so `rows_deleted` is 0.

    Attributes:
        positions: Rows that were deleted by key, and are now deleted by position or removed with their file.
        equality_deletes: Equality deletes that were removed.
        dangling: How many of them no longer applied to any data file.
        files_scanned: Data files that were read.
        files_pruned: Data files that cannot hold any of the keys.
        groups: The number of groups in which the files were read.
        verified: Whether all visible rows were compared before the commit.
        published: The branch that was moved to the resolved state; None if it did not have to move.
        omitted: Why some equality deletes remain.

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
    omitted: tuple[str, ...] = ()
    left_out = RenamedAttribute("omitted")


class Resolve(Operation[ResolveResult]):
    """Finds the rows that equality deletes delete, and deletes them by position instead."""

    def __init__(
        self,
        handle: TableHandle,
        partitions: str | Column | None,
        publish: str | None,
        memory: str | int,
        progress: OnProgress | None = None,
        *,
        verify: bool | None,
        partial_progress: bool,
    ) -> None:
        if publish is not None and publish == handle.branch:
            raise InputError(
                f"branch {publish!r} itself is resolved: there is nothing to publish",
                hint=f'open the table with another branch: rd.table(spark, "{handle.name}", branch="ingest")',
            )
        self._handle = handle
        self._partitions = None if partitions is None else check_expression(handle.gateway, partitions, "partitions")
        self._publish = publish
        self._verify = verify
        self._memory = parse_memory(memory)
        self._progress = progress
        self._partial = partial_progress
        self._result = ResolveResult()
        self._resolved: Snapshot | None = None

    def plan(self) -> Plan:
        """Says which deletes would go, and which files would be read for it."""
        plan = self._plan_attempt()
        steps = (("equality deletes", "none: nothing to do"),) if plan is None else describe_resolve(plan)
        if plan is not None and self._should_verify(plan):
            steps = (*steps, ("verify", "all visible rows are compared before the commit"))
        if self._publish is not None:
            steps = (*steps, ("publish", f"branch {self._publish} moves forward to the resolved state"))
        return Plan(f"resolve {self._handle.name}", steps)

    def execute(self) -> ResolveResult:
        """Resolves in one snapshot, or in one for each group with partial progress.

        Raises:
            CommitConflictError: Other writers changed the same files in every attempt, or added equality deletes to a
                state that was to be published.
            VerificationError: The visible rows would not be the same; nothing was committed.
            FormatError: A deletion vector of a file that is read is damaged; nothing was committed.
        """
        started = time.monotonic()
        self._result, self._resolved = ResolveResult(), None
        self._handle.run_interruptibly(self._resolve_and_publish)
        return replace(self._result, seconds=time.monotonic() - started)

    def _resolve_and_publish(self) -> None:
        retry_conflicts(self._resolve, f"resolve of {self._handle.name}")
        # Later commits may already be on top of the resolved state: the branch moves to that state alone.
        if self._publish is not None and self._resolved is not None:
            moved = publish(self._handle, self._publish, self._resolved.id)
            self._result = replace(self._result, published=self._publish if moved else None)

    def _resolve(self) -> None:
        """Runs one attempt. Its commits count, even if a later group has a conflict and another attempt follows."""
        plan = self._plan_attempt()
        if plan is not None and restore_vector_offsets(self._handle, plan.files):
            plan = self._plan_attempt()
        if plan is None:
            self._resolved = self._handle.snapshot()
            return
        self._result = replace(self._result, omitted=plan.covered.skipped)
        if not plan.deletes:
            self._resolved = plan.files.snapshot
            return
        check_vectors(self._handle, plan.list_deletion_vectors())
        groups = plan.group()
        self._result = replace(
            self._result,
            dangling=len(plan.affected.dangling),
            files_scanned=len(plan.affected.files),
            files_pruned=plan.affected.total - len(plan.affected.files),
            groups=len(groups),
            verified=self._should_verify(plan),
        )
        self._resolve_groups(plan, groups)
        if self._publish is not None:
            self._check_publishable(plan)

    def _plan_attempt(self) -> ResolvePlan | None:
        return plan_resolve(self._handle, self._partitions, self._publish, self._memory)

    def _should_verify(self, plan: ResolvePlan) -> bool:
        return should_verify(self._verify, plan.affected.size_in_bytes)

    def _resolve_groups(self, plan: ResolvePlan, groups: Sequence[Sequence[LiveData]]) -> None:
        """Stages and commits positions, group by group or all at once; the equality deletes go with the last."""
        verify = self._should_verify(plan)
        action, portions = f"resolve {self._handle.name}", [measure_files(group) for group in groups]
        positions: list[FilePositions] = []
        with report_progress(action, portions, self._progress) as reporter:
            for index, (group, portion) in enumerate(zip(groups, portions, strict=True), 1):
                positions += find_positions(plan, group)
                reporter.finish_group(portion)
                if self._partial and index < len(groups):
                    change = stage_group(plan, positions, group, verify=verify)
                    if change is not None:
                        self._commit(change, positions)
                    positions = []
            change = stage_rest(plan, positions, verify=verify)
            self._resolved = self._commit(change, positions, resolved=len(plan.deletes))

    def _commit(self, change: RowChange, positions: Sequence[FilePositions], resolved: int = 0) -> Snapshot:
        """Commits a change and adds it to the result."""
        snapshot, before = commit_and_refresh(self._handle, change), self._result
        self._result = replace(
            before,
            snapshot_id=snapshot.id,
            positions=before.positions + sum(len(file.positions) for file in positions),
            equality_deletes=before.equality_deletes + resolved,
            data_files_removed=before.data_files_removed + count_removed_files(snapshot),
            delete_files_added=before.delete_files_added + len(change.deletes),
            delete_files_removed=before.delete_files_removed + len(change.removed_deletes),
            bytes_added=before.bytes_added + change.size_in_bytes,
        )
        return snapshot

    def _check_publishable(self, plan: ResolvePlan) -> None:
        """Refuses to publish equality deletes that others have added since; the next attempt resolves only these."""
        files = None if self._resolved is None else read_snapshot_files(self._handle, self._resolved)
        resolved = {entry.path for entry in plan.files.equality_deletes}
        if files is not None and any(entry.path not in resolved for entry in files.equality_deletes):
            raise CommitConflictError(
                f"another writer added equality deletes to branch {self._handle.branch!r} while it was resolved: "
                f"branch {self._publish!r} was not moved",
                hint="run it again; what was resolved stays resolved",
            )
