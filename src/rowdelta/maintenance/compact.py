"""`t.compact()`: Iceberg's own rewrite of data files, after the deletes that it cannot or should not apply itself.

Iceberg refuses to read equality delete vectors, and holds ordinary equality deletes in memory as hash sets of rows. So
equality deletes become positions first, which cost its reader next to nothing.
"""

from __future__ import annotations

import logging
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from rowdelta.change import DroppedPartitionError, Operation, Plan, Result, open_target
from rowdelta.errors import CommitConflictError, InputError
from rowdelta.iceberg import TableHandle, call_procedure, create_branch, drop_branch, fast_forward, snapshot_files
from rowdelta.maintenance.conflict_checks import retry_conflicts
from rowdelta.maintenance.dropped_partitions import refuse_to_lose_deletes, write_standard_deletes
from rowdelta.maintenance.partition_filter import find_covered_deletes, select_by_partition
from rowdelta.maintenance.progress import Portion, report_progress
from rowdelta.maintenance.remove_dangling import RemoveDangling
from rowdelta.maintenance.resolve import Resolve
from rowdelta.maintenance.spark_progress import watch_jobs
from rowdelta.maintenance.verify import VERIFIED_BELOW, compare_rows, read_all
from rowdelta.read import check_vectors, refresh_views
from rowdelta.spark import check_expression, stop_if_interrupted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from rowdelta.maintenance.progress import OnProgress

log: Final = logging.getLogger("rowdelta")
STRATEGIES: Final = ("binpack", "sort", "zorder")
DANGLING: Final = "remove-dangling-deletes"
_ATTEMPTS: Final = 3


@dataclass(frozen=True)
class CompactResult(Result):
    """What `compact` did. No visible row changes.

    Attributes:
        data_files_rewritten: Data files that were replaced.
        bytes_rewritten: Their size.
        failed_data_files: Files of groups that failed; only with Iceberg's `partial-progress.enabled`.
        equality_deletes: Equality deletes that were resolved first.
        positions: Rows that they deleted.
        dangling: Deletes that applied to nothing afterwards.
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


@dataclass(frozen=True)
class CompactOptions:
    """What Iceberg's rewrite is asked to do; see `Table.compact`."""

    strategy: str = "binpack"
    sort_order: str | None = None
    where: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise InputError(f"unknown strategy {self.strategy!r}", hint=f"use {', '.join(STRATEGIES)}")
        if self.strategy == "binpack" and self.sort_order is not None:
            raise InputError("binpack takes no sort_order", hint="use strategy='sort'")
        if self.strategy == "zorder" and not self.sort_order:
            raise InputError("zorder needs columns", hint="name them: sort_order='region, ts'")

    @property
    def is_whole(self) -> bool:
        """Whether all data files are rewritten, in one commit."""
        every, parts = (_is_true(self.options.get(name)) for name in ("rewrite-all", "partial-progress.enabled"))
        return self.where is None and every and not parts

    def arguments(self, table: str, branch: str) -> dict[str, Any]:
        """The arguments of `rewrite_data_files`."""
        order = f"zorder({self.sort_order})" if self.strategy == "zorder" else self.sort_order
        given = {
            "table": table,
            "strategy": "binpack" if self.strategy == "binpack" else "sort",
            "sort_order": order,
            # Iceberg looks for dangling deletes on main alone; `compact` does it itself, on any branch.
            "options": {key: str(value) for key, value in self.options.items() if key != DANGLING} or None,
            "where": self.where,
            "branch": branch,
        }
        return {name: value for name, value in given.items() if value is not None}


def _is_true(value: object) -> bool:
    return str(value).strip().lower() == "true"


class Compact(Operation[CompactResult]):
    """Resolves equality deletes, rewrites data files, and drops deletes that are left without data."""

    def __init__(
        self,
        handle: TableHandle,
        options: CompactOptions,
        memory: str | int,
        progress: OnProgress | None = None,
        *,
        verify: bool | None,
    ) -> None:
        if options.where is not None:
            if not isinstance(options.where, str):
                raise InputError("where must be SQL text, which Iceberg's procedure reads", hint='such as "id < 50"')
            check_expression(handle.gateway, options.where, "where")
        self._handle = handle
        self._options = options
        self._memory = memory
        self._progress = progress
        self._verify = verify
        self._result = CompactResult()

    def plan(self) -> Plan:
        """Says what would be resolved, and what Iceberg would be asked to do."""
        target = open_target(self._handle)
        if target.snapshot is None:
            return Plan(f"compact {self._handle.name}", (("data files", "none: the table is empty"),))
        self._check()
        first = self._first_steps()
        asked = self._options.arguments(self._handle.full_name, self._handle.branch)
        asked.pop("table")
        told = ", ".join(f"{name} => {value}" for name, value in asked.items())
        steps = [*first, ("rewrite_data_files", told), ("then", "deletes that apply to nothing are dropped")]
        if self._verified():
            steps.append(("verify", "all visible rows are compared before the branch moves"))
        return Plan(f"compact {self._handle.name}", tuple(dict(steps).items()))

    def _first_steps(self) -> tuple[tuple[str, str], ...]:
        resolve = self._resolve(self._handle)
        if resolve is None:
            return (("equality deletes", "none to resolve first"),)
        try:
            return resolve.plan().steps
        except DroppedPartitionError as error:
            return (("equality deletes", f"applied by the rewrite: {error.message}"),)

    def _check(self) -> None:
        if not self._options.is_whole:
            refuse_to_lose_deletes(self._handle)

    def _check_vectors(self) -> None:
        """Refuses damaged deletion vectors in the partitions to compact: Iceberg's reader may take them for empty."""
        files = open_target(self._handle).files
        vectors = [] if files is None else [entry for entry in files.position_deletes if entry.is_deletion_vector]
        if self._options.where is not None and vectors:
            vectors = select_by_partition(self._handle, vectors, self._options.where)
        check_vectors(self._handle, vectors)

    def execute(self) -> CompactResult:
        """Compacts in up to three snapshots: positions, data files, dangling deletes.

        Raises:
            CommitConflictError: Other writers changed the same files each time that it was tried.
            VerificationError: The visible rows would not be the same; the branch has not moved.
            FormatError: A deletion vector is damaged; nothing was committed.
        """
        started = time.monotonic()
        self._result = CompactResult()
        what = f"compact of {self._handle.name}"
        self._handle.run_interruptibly(lambda: retry_conflicts(self._run, what, _ATTEMPTS))
        return replace(self._result, seconds=time.monotonic() - started)

    def _run(self) -> None:
        """One try."""
        if open_target(self._handle).snapshot is None:
            return
        self._check()
        self._check_vectors()
        if self._verified():
            self._result = CompactResult(verified=True)  # what an earlier try did is gone
            self._on_a_branch()
        else:
            self._steps(self._handle)
        refresh_views(self._handle)

    def _steps(self, handle: TableHandle) -> None:
        """Compacts a branch. Deletes that others add before the rewrite begins are resolved by the next try."""
        resolve = self._resolve(handle)
        if resolve is not None:
            try:
                done = resolve.execute()
                self._add(done, equality_deletes=done.equality_deletes, positions=done.positions)
            except DroppedPartitionError as error:
                log.info("%s; its rewrite of data files applies the equality deletes instead", error.message)
                self._add(write_standard_deletes(handle))
        self._rewrite(handle)
        dropped = RemoveDangling(handle, self._progress).execute()
        self._add(dropped, dangling=dropped.delete_files_removed)

    def _on_a_branch(self) -> None:
        """Compacts on a branch of its own, compares, and only then moves the real one."""
        handle = self._handle
        start = handle.refresh().head(handle.branch)
        assert start is not None
        name, published = f"rowdelta-compact-{uuid.uuid4().hex[:12]}", False
        try:
            create_branch(handle, name)
            own = handle.on_branch(name)
            own.mark = handle.mark
            self._steps(own)
            made = handle.refresh().head(name)
            assert made is not None
            if made.id == start.id:
                return
            stop_if_interrupted()
            compare_rows(self._live(start.id), self._live(made.id), handle.name)
            try:
                fast_forward(handle, handle.branch, made.id, start.id)
            except CommitConflictError as error:
                raise CommitConflictError(
                    f"{handle.name} changed while it was compacted",
                    hint="run it again, or with verify=False, which lets Iceberg commit beside other writers",
                ) from error
            published = True
        finally:
            drop_branch(handle, name, start_id=None if published else start.id)

    def _add(self, done: Result, **more: int) -> None:
        """Counts what one step did."""
        before = self._result
        self._result = replace(
            before,
            snapshot_id=done.snapshot_id or before.snapshot_id,
            data_files_removed=before.data_files_removed + done.data_files_removed,
            delete_files_added=before.delete_files_added + done.delete_files_added,
            delete_files_removed=before.delete_files_removed + done.delete_files_removed,
            bytes_added=before.bytes_added + done.bytes_added,
            **{name: getattr(before, name) + count for name, count in more.items()},
        )

    def _resolve(self, handle: TableHandle) -> Resolve | None:
        """What must be resolved first: the partitions of the predicate where that can be, else everything."""
        target = open_target(handle)
        if target.files is None or not target.files.equality_deletes:
            return None
        where = None
        if self._options.where is not None:
            with suppress(InputError):
                deletes = target.files.equality_deletes
                covered = find_covered_deletes(handle, deletes, self._options.where, for_iceberg=True)
                where = None if covered.skipped else self._options.where
        # The rows are compared once, when all is done.
        return Resolve(handle, where, None, self._memory, self._progress, verify=False, partial_progress=False)

    def _verified(self) -> bool:
        if self._verify is not None:
            return self._verify
        head = self._handle.snapshot()
        return head is not None and int(head.summary.get("total-files-size", VERIFIED_BELOW)) < VERIFIED_BELOW

    def _live(self, snapshot_id: int) -> DataFrame:
        snapshot = self._handle.snapshot(snapshot_id)
        assert snapshot is not None
        files = snapshot_files(self._handle, snapshot)
        assert files is not None
        return read_all(self._handle, files)

    def _rewrite(self, handle: TableHandle) -> None:
        """Runs Iceberg's procedure, which commits to the branch itself, beside other writers."""
        handle.spark.catalog.refreshTable(handle.full_name)  # a new branch is not a new snapshot
        arguments = self._options.arguments(handle.full_name, handle.branch)
        head = handle.refresh().head(handle.branch)
        assert head is not None
        totals = (int(head.summary.get(f"total-{what}", 0)) for what in ("records", "files-size", "data-files"))
        whole = Portion(*totals)
        with report_progress(f"compact {handle.name}", [whole], self._progress) as reporter:
            with watch_jobs(handle.spark.sparkContext, reporter.within(whole)):
                numbers = call_procedure(handle, "rewrite_data_files", arguments)
            reporter.done(whole)
        made = handle.refresh().head(handle.branch)
        assert made is not None
        self._add(
            Result(
                snapshot_id=None if made.id == head.id else made.id,
                data_files_removed=numbers["rewritten_data_files_count"],
                delete_files_removed=numbers["removed_delete_files_count"],
            ),
            data_files_rewritten=numbers["rewritten_data_files_count"],
            data_files_added=numbers["added_data_files_count"],
            bytes_rewritten=numbers["rewritten_bytes_count"],
            failed_data_files=numbers["failed_data_files_count"],
        )
