"""`t.remove_dangling()`: deletes that apply to no data file any more are dropped, by metadata alone."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rowdelta.change import Operation, Plan, Result, apply, as_content_file, dropped_partition, open_target
from rowdelta.encoding import FileContent
from rowdelta.iceberg import RowChange, Validation, build_row_filter, take_inventory
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
        left: Deletes that apply to nothing and stay: Iceberg can remove none of a partition whose column was dropped.

    Examples:
        >>> t.remove_dangling().execute().dangling  # there is none
        {}
    """

    dangling: dict[str, int] = field(default_factory=dict)
    left: int = 0


@dataclass(frozen=True)
class _Found:
    files: SnapshotFiles | None
    removable: list[DeleteEntry]
    left: int


class RemoveDangling(Operation[RemoveDanglingResult]):
    """Drops deletes that apply to nothing: their data is gone, younger, elsewhere, or outside of their bounds."""

    def __init__(self, handle: TableHandle, progress: OnProgress | None = None) -> None:
        self._handle = handle
        self._progress = progress

    def plan(self) -> Plan:
        """Says how many deletes would go."""
        found = self._look()
        steps = [(name, f"{count} apply to no data file") for name, count in _counts(found.removable).items()]
        if found.left:
            steps.append(("left", f"{found.left} of partitions whose column was dropped: Iceberg cannot remove them"))
        return Plan(
            f"remove dangling deletes of {self._handle.name}", tuple(steps) or (("deletes", "none is dangling"),)
        )

    def execute(self) -> RemoveDanglingResult:
        """Drops them in one snapshot; where there are none, nothing happens."""
        started = time.monotonic()
        what = f"removal of dangling deletes of {self._handle.name}"
        result = self._handle.run_interruptibly(lambda: retry_conflicts(self._run, what))
        return replace(result, seconds=time.monotonic() - started)

    def _run(self) -> RemoveDanglingResult:
        action = f"remove dangling deletes of {self._handle.name}"
        with show_search(action, self._progress):
            found = self._look()
            if found.files is not None and found.removable and restore_vector_offsets(self._handle, found.files):
                found = self._look()
        files, dangling = found.files, found.removable
        if files is None or not dangling:
            return RemoveDanglingResult(left=found.left)
        newest = max((e.sequence_number for e in dangling if e.content is FileContent.EQUALITY), default=0)
        validation = Validation(
            files.snapshot.id,
            build_row_filter(self._handle, None),
            further=build_data_file_check(files, frozenset(), newest),
        )
        whole = measure_deletes(dangling)
        with report_progress(action, [whole], self._progress) as reporter:
            gone = [as_content_file(self._handle, entry) for entry in dangling]
            snapshot = apply(self._handle, RowChange(removed_deletes=gone, validation=validation))
            reporter.done(whole)
        return RemoveDanglingResult(
            snapshot_id=snapshot.id, delete_files_removed=len(gone), dangling=_counts(dangling), left=found.left
        )

    def _look(self) -> _Found:
        target = open_target(self._handle)
        if target.files is None or not (target.files.equality_deletes or target.files.position_deletes):
            return _Found(target.files, [], 0)
        inventory = take_inventory(self._handle, target.files.snapshot)
        dangling = [entry for entry, found in inventory.applicable() if not len(found)]
        removable = [entry for entry in dangling if dropped_partition(self._handle, entry.spec_id) is None]
        return _Found(target.files, removable, len(dangling) - len(removable))


def _counts(dangling: list[DeleteEntry]) -> dict[str, int]:
    kinds = [entry.content.value for entry in dangling]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}
