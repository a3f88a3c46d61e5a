"""`t.compact()`: Iceberg's own rewrite of data files, after the deletes that it cannot or should not apply itself.

Iceberg refuses to read equality delete vectors, and holds ordinary equality deletes in memory as hash sets of rows. So
rowdelta first converts equality deletes to positions, which cost Iceberg's reader almost nothing.
"""

from __future__ import annotations

import logging
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rowdelta.change import DroppedPartitionError, Operation, Plan, Result, open_target
from rowdelta.errors import CommitConflictError, InputError
from rowdelta.iceberg import TableHandle, call_procedure, create_branch, drop_branch, fast_forward, read_snapshot_files
from rowdelta.maintenance.conflict_checks import retry_conflicts
from rowdelta.maintenance.dropped_partitions import refuse_to_lose_deletes, write_standard_deletes
from rowdelta.maintenance.partition_filter import find_covered_deletes, select_by_partition
from rowdelta.maintenance.progress import Portion, report_progress
from rowdelta.maintenance.remove_dangling import RemoveDangling
from rowdelta.maintenance.resolve import Resolve
from rowdelta.maintenance.spark_progress import watch_jobs
from rowdelta.maintenance.verify import VERIFIED_BELOW, compare_rows, read_all, should_verify
from rowdelta.read import check_vectors, refresh_views
from rowdelta.spark import check_expression, stop_if_interrupted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.iceberg import Snapshot
    from rowdelta.maintenance.compact_options import CompactOptions
    from rowdelta.maintenance.progress import OnProgress

log: Final = logging.getLogger("rowdelta")
_ATTEMPTS: Final = 3


@dataclass(frozen=True)
class CompactResult(Result):
    """What `compact` did. No visible row changes.

    Attributes:
        data_files_rewritten: Data files that were replaced.
        bytes_rewritten: The size of these files.
        failed_data_files: Files of groups that failed; only with Iceberg's `partial-progress.enabled`.
        equality_deletes: Equality deletes that were resolved first.
        positions: Rows that these deletes deleted.
        dangling: Deletes that no longer applied to any data file afterwards.
        verified: Whether all visible rows were compared before the commit.

    Examples:
        >>> _ = t.delete_keys(changes, key="id").execute()
        >>> result = t.compact(options={"rewrite-all": "true"}).execute()
        >>> result.equality_deletes, result.positions, result.data_files_rewritten, result.dangling
        (1, 2, 1, 0)
    """

    data_files_rewritten: int = 0
    bytes_rewritten: int = 0
    failed_data_files: int = 0
    equality_deletes: int = 0
    positions: int = 0
    dangling: int = 0
    verified: bool = False


class Compact(Operation[CompactResult]):
    """Resolves equality deletes, rewrites data files, and drops deletes that no longer apply to any data."""

    def __init__(
        self,
        handle: TableHandle,
        options: CompactOptions,
        memory: str | int,
        progress: OnProgress | None = None,
        *,
        verify: bool | None,
    ) -> None:
        if options.data_files is not None:
            if not isinstance(options.data_files, str):
                raise InputError(
                    "data_files must be SQL text, which Iceberg's procedure reads", hint='such as "id < 50"'
                )
            check_expression(handle.gateway, options.data_files, "data_files")
        self._handle = handle
        self._options = options
        self._memory = memory
        self._progress = progress
        self._verify = verify
        self._result = CompactResult()

    def plan(self) -> Plan:
        """Says what would be resolved, and what Iceberg would be asked to do."""
        title = f"compact {self._handle.name}"
        if open_target(self._handle).snapshot is None:
            return Plan(title, (("data files", "none: the table is empty"),))
        self._check_partitions()
        arguments = self._options.build_arguments(self._handle.full_name, self._handle.branch)
        arguments.pop("table")
        steps = [
            *self._describe_resolve(),
            ("rewrite_data_files", ", ".join(f"{name} => {value}" for name, value in arguments.items())),
            ("then", "deletes that apply to nothing are dropped"),
        ]
        if self._should_verify():
            steps.append(("verify", "all visible rows are compared before the branch moves"))
        return Plan(title, tuple(dict(steps).items()))

    def execute(self) -> CompactResult:
        """Compacts in up to three snapshots: positions, data files, dangling deletes.

        Raises:
            CommitConflictError: Other writers changed the same files in every attempt.
            VerificationError: The visible rows would not be the same; the branch has not moved.
            FormatError: A deletion vector is damaged; nothing was committed.
        """
        started = time.monotonic()
        self._result = CompactResult()
        action = f"compact of {self._handle.name}"
        self._handle.run_interruptibly(lambda: retry_conflicts(self._compact, action, _ATTEMPTS))
        return replace(self._result, seconds=time.monotonic() - started)

    def _compact(self) -> None:
        """Runs one attempt."""
        if open_target(self._handle).snapshot is None:
            return
        self._check_partitions()
        self._check_vectors()
        if self._should_verify():
            self._result = CompactResult(verified=True)  # the work of an earlier attempt was dropped with its branch
            self._compact_on_branch()
        else:
            self._compact_head(self._handle)
        refresh_views(self._handle)

    def _check_partitions(self) -> None:
        if not self._options.is_whole:
            refuse_to_lose_deletes(self._handle)

    def _check_vectors(self) -> None:
        """Refuses damaged deletion vectors in the partitions to compact: Iceberg's reader may treat them as empty."""
        files = open_target(self._handle).files
        vectors = [] if files is None else [entry for entry in files.position_deletes if entry.is_deletion_vector]
        if self._options.data_files is not None and vectors:
            vectors = select_by_partition(self._handle, vectors, self._options.data_files)
        check_vectors(self._handle, vectors)

    def _should_verify(self) -> bool:
        head = self._handle.snapshot() if self._verify is None else None
        size = VERIFIED_BELOW if head is None else int(head.summary.get("total-files-size", VERIFIED_BELOW))
        return should_verify(self._verify, size)

    def _compact_on_branch(self) -> None:
        """Compacts on a temporary branch, compares the rows, and only then moves the real branch."""
        handle = self._handle
        start = _read_head(handle, handle.branch)
        name, published = f"rowdelta-compact-{uuid.uuid4().hex[:12]}", False
        try:
            create_branch(handle, name)
            own = handle.on_branch(name)
            own.mark = handle.mark
            self._compact_head(own)
            new_head = _read_head(handle, name)
            if new_head.id == start.id:
                return
            stop_if_interrupted()
            compare_rows(self._read_rows(start.id), self._read_rows(new_head.id), handle.name)
            try:
                fast_forward(handle, handle.branch, new_head.id, start.id)
            except CommitConflictError as error:
                raise CommitConflictError(
                    f"{handle.name} changed while it was compacted",
                    hint="run it again, or use verify=False, which lets Iceberg commit alongside other writers",
                ) from error
            published = True
        finally:
            drop_branch(handle, name, start_id=None if published else start.id)

    def _read_rows(self, snapshot_id: int) -> DataFrame:
        """Reads the live rows of a snapshot."""
        snapshot = self._handle.snapshot(snapshot_id)
        assert snapshot is not None
        files = read_snapshot_files(self._handle, snapshot)
        assert files is not None
        return read_all(self._handle, files)

    def _compact_head(self, handle: TableHandle) -> None:
        """Compacts a branch. Deletes that others add before the rewrite begins are left to the next attempt."""
        self._resolve(handle)
        self._rewrite_data_files(handle)
        self._remove_dangling(handle)

    def _plan_resolve(self, handle: TableHandle) -> Resolve | None:
        """Plans what to resolve first: the partitions of the predicate if possible, else everything."""
        files = open_target(handle).files
        if files is None or not files.equality_deletes:
            return None
        partitions = None
        if self._options.data_files is not None:
            with suppress(InputError):
                predicate = self._options.data_files
                covered = find_covered_deletes(handle, files.equality_deletes, predicate, for_iceberg=True)
                partitions = None if covered.skipped else predicate
        # The rows are compared once, when all is done.
        return Resolve(handle, partitions, None, self._memory, self._progress, verify=False, partial_progress=False)

    def _describe_resolve(self) -> tuple[tuple[str, str], ...]:
        resolve = self._plan_resolve(self._handle)
        if resolve is None:
            return (("equality deletes", "none to resolve first"),)
        try:
            return resolve.plan().steps
        except DroppedPartitionError as error:
            return (("equality deletes", f"applied by the rewrite: {error.message}"),)

    def _resolve(self, handle: TableHandle) -> None:
        resolve = self._plan_resolve(handle)
        if resolve is None:
            return
        try:
            resolved = resolve.execute()
            self._add(resolved, equality_deletes=resolved.equality_deletes, positions=resolved.positions)
        except DroppedPartitionError as error:
            log.info("%s; its rewrite of data files applies the equality deletes instead", error.message)
            self._add(write_standard_deletes(handle))

    def _rewrite_data_files(self, handle: TableHandle) -> None:
        """Runs Iceberg's procedure, which commits to the branch itself, alongside other writers."""
        handle.spark.catalog.refreshTable(handle.full_name)  # a new branch is not a new snapshot
        arguments = self._options.build_arguments(handle.full_name, handle.branch)
        head = _read_head(handle, handle.branch)
        totals = (int(head.summary.get(f"total-{name}", 0)) for name in ("records", "files-size", "data-files"))
        whole = Portion(*totals)
        with report_progress(f"compact {handle.name}", [whole], self._progress) as reporter:
            with watch_jobs(handle.spark.sparkContext, reporter.track_group(whole)):
                numbers = call_procedure(handle, "rewrite_data_files", arguments)
            reporter.finish_group(whole)
        new_head = _read_head(handle, handle.branch)
        self._add(
            Result(
                snapshot_id=None if new_head.id == head.id else new_head.id,
                data_files_removed=numbers["rewritten_data_files_count"],
                delete_files_removed=numbers["removed_delete_files_count"],
            ),
            data_files_rewritten=numbers["rewritten_data_files_count"],
            data_files_added=numbers["added_data_files_count"],
            bytes_rewritten=numbers["rewritten_bytes_count"],
            failed_data_files=numbers["failed_data_files_count"],
        )

    def _remove_dangling(self, handle: TableHandle) -> None:
        removed = RemoveDangling(handle, self._progress).execute()
        self._add(removed, dangling=removed.delete_files_removed)

    def _add(self, step: Result, **counts: int) -> None:
        """Adds what one step did to the result."""
        before = self._result
        self._result = replace(
            before,
            snapshot_id=step.snapshot_id or before.snapshot_id,
            data_files_removed=before.data_files_removed + step.data_files_removed,
            delete_files_added=before.delete_files_added + step.delete_files_added,
            delete_files_removed=before.delete_files_removed + step.delete_files_removed,
            bytes_added=before.bytes_added + step.bytes_added,
            **{name: getattr(before, name) + count for name, count in counts.items()},
        )


def _read_head(handle: TableHandle, branch: str) -> Snapshot:
    """Reads the newest snapshot of a branch that has one."""
    head = handle.refresh().head(branch)
    assert head is not None
    return head
