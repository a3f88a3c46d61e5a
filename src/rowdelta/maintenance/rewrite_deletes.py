"""`t.rewrite_deletes()`: rewrites delete files in another encoding, or as fewer files. They delete the same rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rowdelta.change import Operation, Plan, Result, commit_and_refresh
from rowdelta.choices import Encoding, check_choice
from rowdelta.encoding import DeleteEncoding
from rowdelta.errors import InputError
from rowdelta.maintenance.conflict_checks import retry_conflicts
from rowdelta.maintenance.file_groups import measure_deletes, parse_size
from rowdelta.maintenance.progress import report_progress
from rowdelta.maintenance.restore_offsets import restore_vector_offsets
from rowdelta.maintenance.rewrite_equality import stage_equality_rewrite
from rowdelta.maintenance.rewrite_plan import describe_rewrite, plan_rewrite
from rowdelta.maintenance.rewrite_positions import stage_position_rewrite
from rowdelta.maintenance.verify import should_verify
from rowdelta.read import check_vectors
from rowdelta.spark import check_expression

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import Column

    from rowdelta.iceberg import DeleteEntry, RowChange, TableHandle
    from rowdelta.maintenance.progress import OnProgress, Reporter
    from rowdelta.maintenance.rewrite_plan import RewritePlan

DEFAULT_MIN_INPUT_FILES: Final = 2
TARGET_SIZE: Final = "write.delete.target-file-size-bytes"


@dataclass(frozen=True)
class RewriteDeletesResult(Result):
    """What `rewrite_deletes` did. No visible row changes.

    Attributes:
        equality_deletes: Equality deletes that were rewritten.
        position_deletes: Position deletes that were rewritten.
        verified: Whether all visible rows were compared before each commit.
        skipped: Why some deletes stay as they are.

    Examples:
        >>> _ = t.delete_keys(changes, key="id").execute()
        >>> result = t.rewrite_deletes("full-row", verify=False).execute()
        >>> result.equality_deletes, result.delete_files_added, result.delete_files_removed, result.verified
        (1, 1, 1, False)
    """

    equality_deletes: int = 0
    position_deletes: int = 0
    verified: bool = False
    skipped: tuple[str, ...] = ()


class RewriteDeletes(Operation[RewriteDeletesResult]):
    """Rewrites delete files. Equality deletes keep their age, and positions are merged by data file."""

    def __init__(
        self,
        handle: TableHandle,
        target_encoding: Encoding | None,
        delete_files: str | Column | None,
        *,
        min_input_files: int = DEFAULT_MIN_INPUT_FILES,
        target_size: str | int | None = None,
        verify: bool | None = None,
        progress: OnProgress | None = None,
    ) -> None:
        if min_input_files < 1:
            raise InputError(f"min_input_files={min_input_files} is less than one")
        if target_encoding is not None:
            check_choice("encoding", target_encoding, Encoding)
        self._handle = handle
        self._target = None if target_encoding is None else DeleteEncoding.from_name(target_encoding)
        self._delete_files = (
            None if delete_files is None else check_expression(handle.gateway, delete_files, "delete_files")
        )
        self._min_input_files = min_input_files
        properties = handle.metadata.properties
        self._target_size = parse_size("target_size", target_size or int(properties.get(TARGET_SIZE, 64 << 20)))
        self._progress = progress
        self._verify = verify
        self._result = RewriteDeletesResult()

    def plan(self) -> Plan:
        """Says which delete files would be rewritten, and into what."""
        title = f"rewrite deletes of {self._handle.name}"
        plan = self._plan_attempt()
        if plan is None:
            return Plan(title, (("delete files", "none: nothing to do"),))
        steps = describe_rewrite(plan)
        if self._should_verify(plan):
            steps = (*steps, ("verify", "all visible rows are compared before each commit"))
        return Plan(title, steps)

    def execute(self) -> RewriteDeletesResult:
        """Rewrites equality deletes in one snapshot and position deletes in another, if there are any to rewrite.

        Raises:
            CommitConflictError: Other writers changed the same files in every attempt.
            VerificationError: The visible rows would not be the same; nothing was committed.
        """
        started = time.monotonic()
        self._result = RewriteDeletesResult()
        action = f"rewrite of the deletes of {self._handle.name}"
        self._handle.run_interruptibly(lambda: retry_conflicts(self._rewrite, action))
        return replace(self._result, seconds=time.monotonic() - started)

    def _rewrite(self) -> None:
        """Runs one attempt. Its commits count, even if another attempt follows."""
        plan = self._plan_attempt()
        if plan is not None and restore_vector_offsets(self._handle, plan.files):
            plan = self._plan_attempt()
        if plan is None:
            return
        check_vectors(self._handle, plan.positions.entries)
        skipped = tuple(dict.fromkeys(plan.skipped))
        self._result = replace(self._result, verified=self._should_verify(plan), skipped=skipped)
        if plan.groups:
            self._rewrite_equality(plan)
            plan = self._plan_attempt()
        if plan is not None and plan.positions.entries:
            self._rewrite_positions(plan)

    def _plan_attempt(self) -> RewritePlan | None:
        return plan_rewrite(self._handle, self._target, self._delete_files, self._min_input_files, self._target_size)

    def _should_verify(self, plan: RewritePlan) -> bool:
        return should_verify(self._verify, plan.size_in_bytes)

    def _rewrite_equality(self, plan: RewritePlan) -> None:
        verify = self._should_verify(plan)
        with self._report_progress("equality", [group.entries for group in plan.groups]) as reporter:
            change = stage_equality_rewrite(self._handle, plan.files, plan.groups, reporter, verify=verify)
        self._commit(change, equality=plan.equality_count)

    def _rewrite_positions(self, plan: RewritePlan) -> None:
        entries, verify = plan.positions.entries, self._should_verify(plan)
        with self._report_progress("position", [entries]) as reporter:
            self._commit(stage_position_rewrite(plan.positions, verify=verify), positions=len(entries))
            reporter.finish_group(measure_deletes(entries))

    def _report_progress(
        self, content: str, groups: Sequence[Sequence[DeleteEntry]]
    ) -> AbstractContextManager[Reporter]:
        action = f"rewrite {content} deletes of {self._handle.name}"
        return report_progress(action, [measure_deletes(group) for group in groups], self._progress)

    def _commit(self, change: RowChange, *, equality: int = 0, positions: int = 0) -> None:
        """Commits a change and adds it to the result."""
        snapshot, before = commit_and_refresh(self._handle, change), self._result
        self._result = replace(
            before,
            snapshot_id=snapshot.id,
            equality_deletes=before.equality_deletes + equality,
            position_deletes=before.position_deletes + positions,
            delete_files_added=before.delete_files_added + len(change.deletes),
            delete_files_removed=before.delete_files_removed + len(change.removed_deletes),
            bytes_added=before.bytes_added + change.size_in_bytes,
        )
