"""`t.remove_dangling()`: drops deletes that no longer apply to any data file; reads only metadata."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rowdelta._deprecated import RenamedAttribute
from rowdelta.change import (
    Operation,
    Plan,
    Result,
    commit_and_refresh,
    find_dropped_partition,
    open_target,
    to_content_file,
)
from rowdelta.encoding import FileContent
from rowdelta.iceberg import RowChange, Validation, build_delete_index, build_row_filter
from rowdelta.maintenance.conflict_checks import build_data_file_check, retry_conflicts
from rowdelta.maintenance.file_groups import measure_deletes
from rowdelta.maintenance.progress import report_progress, show_search
from rowdelta.maintenance.restore_offsets import restore_vector_offsets

if TYPE_CHECKING:
    from rowdelta.iceberg import DeleteEntry, SnapshotFiles, TableHandle
    from rowdelta.maintenance.progress import OnProgress


@dataclass(frozen=True)
class RemoveDanglingResult(Result):
    """What `remove_dangling` did.

    Attributes:
        dangling: Deletes that were dropped, by content (`position`, `equality`).
        remaining: Deletes that apply to nothing but stay: their partition's column was dropped, so Iceberg cannot
            remove them.

    Examples:
        >>> t.remove_dangling().execute().dangling  # there is none
        {}
    """

    dangling: dict[str, int] = field(default_factory=dict)
    remaining: int = 0
    left = RenamedAttribute("remaining")


@dataclass(frozen=True)
class _RemovalPlan:
    files: SnapshotFiles | None
    removable: list[DeleteEntry]
    remaining: int


class RemoveDangling(Operation[RemoveDanglingResult]):
    """Drops deletes that apply to nothing: the data is gone, newer, in other partitions, or outside of their bounds."""

    def __init__(self, handle: TableHandle, progress: OnProgress | None = None) -> None:
        self._handle = handle
        self._progress = progress

    def plan(self) -> Plan:
        """Says how many deletes would go."""
        plan = self._plan_attempt()
        steps = [(name, f"{count} apply to no data file") for name, count in _count_by_content(plan.removable).items()]
        if plan.remaining:
            why = "of partitions whose column was dropped: Iceberg cannot remove them"
            steps.append(("remaining", f"{plan.remaining} {why}"))
        return Plan(
            f"remove dangling deletes of {self._handle.name}", tuple(steps) or (("deletes", "none is dangling"),)
        )

    def execute(self) -> RemoveDanglingResult:
        """Drops them in one snapshot; does nothing if there are none."""
        started = time.monotonic()
        action = f"removal of dangling deletes of {self._handle.name}"
        result = self._handle.run_interruptibly(lambda: retry_conflicts(self._remove, action))
        return replace(result, seconds=time.monotonic() - started)

    def _remove(self) -> RemoveDanglingResult:
        action = f"remove dangling deletes of {self._handle.name}"
        with show_search(action, self._progress):
            plan = self._plan_attempt()
            if plan.files is not None and plan.removable and restore_vector_offsets(self._handle, plan.files):
                plan = self._plan_attempt()
        files, dangling = plan.files, plan.removable
        if files is None or not dangling:
            return RemoveDanglingResult(remaining=plan.remaining)
        newest = max((e.sequence_number for e in dangling if e.content is FileContent.EQUALITY), default=0)
        validation = Validation(
            files.snapshot.id,
            build_row_filter(self._handle, None),
            further=build_data_file_check(files, frozenset(), newest),
        )
        whole = measure_deletes(dangling)
        with report_progress(action, [whole], self._progress) as reporter:
            removed = [to_content_file(self._handle, entry) for entry in dangling]
            snapshot = commit_and_refresh(self._handle, RowChange(removed_deletes=removed, validation=validation))
            reporter.finish_group(whole)
        return RemoveDanglingResult(
            snapshot_id=snapshot.id,
            delete_files_removed=len(removed),
            dangling=_count_by_content(dangling),
            remaining=plan.remaining,
        )

    def _plan_attempt(self) -> _RemovalPlan:
        target = open_target(self._handle)
        if target.files is None or not (target.files.equality_deletes or target.files.position_deletes):
            return _RemovalPlan(target.files, [], 0)
        inventory = build_delete_index(self._handle, target.files.snapshot)
        dangling = [entry for entry, data in inventory.match_entries() if not len(data)]
        removable = [entry for entry in dangling if find_dropped_partition(self._handle, entry.spec_id) is None]
        return _RemovalPlan(target.files, removable, len(dangling) - len(removable))


def _count_by_content(dangling: list[DeleteEntry]) -> dict[str, int]:
    contents = [entry.content.value for entry in dangling]
    return {content: contents.count(content) for content in sorted(set(contents))}
