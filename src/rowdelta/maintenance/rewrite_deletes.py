"""`t.rewrite_deletes()`: delete files in another encoding, or fewer of them; what they delete stays the same."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rowdelta.change import Operation, Plan, Result, apply, as_content_file, open_target
from rowdelta.encoding import DeleteEncoding, FileContent
from rowdelta.errors import InputError
from rowdelta.iceberg import RowChange, Validation, build_row_filter, list_delete_files
from rowdelta.maintenance.conflict_checks import retry_conflicts
from rowdelta.maintenance.file_groups import measure_deletes, size_in_bytes
from rowdelta.maintenance.progress import report_progress
from rowdelta.maintenance.restore_offsets import restore_vector_offsets
from rowdelta.maintenance.rewrite_equality import EqualityRewrite
from rowdelta.maintenance.rewrite_positions import plan_position_rewrite
from rowdelta.maintenance.verify import VERIFIED_BELOW, build_row_check
from rowdelta.maintenance.verify_keys import build_key_check
from rowdelta.read import check_vectors
from rowdelta.spark import check_expression

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import Column

    from rowdelta.iceberg import DeleteEntry, NewDelete, SnapshotFiles, TableHandle, Uncommitted
    from rowdelta.maintenance.progress import OnProgress, Reporter
    from rowdelta.maintenance.rewrite_equality import EqualityGroup
    from rowdelta.maintenance.rewrite_positions import PositionRewrite

DEFAULT_MIN_INPUT_FILES: Final = 2
TARGET_SIZE: Final = "write.delete.target-file-size-bytes"


@dataclass(frozen=True)
class RewriteDeletesResult(Result):
    """What `rewrite_deletes` did. No visible row changes.

    Attributes:
        equality_deletes: Equality deletes that were written anew.
        position_deletes: Position deletes that were written anew.
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


@dataclass(frozen=True)
class _Work:
    files: SnapshotFiles
    equality: EqualityRewrite
    groups: list[EqualityGroup]
    positions: PositionRewrite
    size_in_bytes: int

    @property
    def equality_count(self) -> int:
        return sum(len(group.entries) for group in self.groups)


class RewriteDeletes(Operation[RewriteDeletesResult]):
    """Writes delete files anew. Equality deletes keep their age, and positions are merged by data file."""

    def __init__(
        self,
        handle: TableHandle,
        target_encoding: str | None,
        where: str | Column | None,
        *,
        min_input_files: int = DEFAULT_MIN_INPUT_FILES,
        target_size: str | int | None = None,
        verify: bool | None = None,
        progress: OnProgress | None = None,
    ) -> None:
        if min_input_files < 1:
            raise InputError(f"min_input_files={min_input_files} is less than one")
        known = [encoding.shown(FileContent.EQUALITY) for encoding in DeleteEncoding]
        if target_encoding is not None and target_encoding not in {*known, DeleteEncoding.DELETION_VECTOR.value}:
            raise InputError(f"unknown encoding {target_encoding!r}", hint=f"use {', '.join(known)}")
        self._handle = handle
        self._target = None if target_encoding is None else DeleteEncoding.from_name(target_encoding)
        self._where = None if where is None else check_expression(handle.gateway, where, "where")
        self._min_input_files = min_input_files
        properties = handle.metadata.properties
        self._target_size = size_in_bytes("target_size", target_size or int(properties.get(TARGET_SIZE, 64 << 20)))
        self._progress = progress
        self._verify = verify
        self._result = RewriteDeletesResult()

    def plan(self) -> Plan:
        """Says which delete files would be written anew, and into what."""
        title = f"rewrite deletes of {self._handle.name}"
        work = self._look()
        if work is None:
            return Plan(title, (("delete files", "none: nothing to do"),))
        goals = {group.encoding.shown(FileContent.EQUALITY) for group in work.groups}
        steps = [
            ("equality", f"{work.equality_count} into {len(work.groups)} as {', '.join(sorted(goals)) or 'they are'}"),
            ("position", f"{len(work.positions.entries)} merged by data file"),
            *(("skipped", reason) for reason in work.equality.skipped[:10]),
        ]
        if self._verified(work):
            steps.append(("verify", "all visible rows are compared before each commit"))
        return Plan(title, tuple(steps))

    def execute(self) -> RewriteDeletesResult:
        """Rewrites equality deletes in one snapshot and position deletes in another; each may have nothing to do.

        Raises:
            CommitConflictError: Other writers changed the same files each time that it was tried.
            VerificationError: The visible rows would not be the same; nothing was committed.
        """
        started = time.monotonic()
        self._result = RewriteDeletesResult()
        what = f"rewrite of the deletes of {self._handle.name}"
        self._handle.run_interruptibly(lambda: retry_conflicts(self._run, what))
        return replace(self._result, seconds=time.monotonic() - started)

    def _look(self) -> _Work | None:
        target = open_target(self._handle)
        if target.files is None or not (target.files.equality_deletes or target.files.position_deletes):
            return None
        files = target.files
        wanted = None
        if self._where is not None:
            chosen = list_delete_files(self._handle, files.snapshot.id).where(self._where)
            wanted = {(row.path, row.content_offset) for row in chosen.select("path", "content_offset").collect()}
        entries = [
            entry
            for entry in (*files.equality_deletes, *files.position_deletes)
            if wanted is None or (entry.path, entry.content_offset) in wanted or (entry.path, None) in wanted
        ]
        equality = EqualityRewrite(self._handle, files, self._target, self._min_input_files)
        groups = equality.groups(entry for entry in entries if entry.content is FileContent.EQUALITY)
        some = [entry for entry in entries if entry.content is FileContent.POSITION]
        positions = plan_position_rewrite(self._handle, files, some, self._min_input_files, self._target_size)
        size = sum(file.size_in_bytes for file in positions.data.values())
        return _Work(files, equality, groups, positions, size)

    def _verified(self, work: _Work) -> bool:
        return work.size_in_bytes < VERIFIED_BELOW if self._verify is None else self._verify

    def _run(self) -> None:
        work = self._look()
        if work is not None and restore_vector_offsets(self._handle, work.files):
            work = self._look()
        if work is None:
            return
        check_vectors(self._handle, work.positions.entries)
        self._result = replace(
            self._result, verified=self._verified(work), skipped=tuple(dict.fromkeys(work.equality.skipped))
        )
        if work.groups:
            self._commit(self._equality_change(work), equality=work.equality_count)
            work = self._look()
        if work is not None and work.positions.entries:
            entries = work.positions.entries
            with self._reporting("position", [entries]) as reporter:
                self._commit(work.positions.change(verify=self._verified(work)), positions=len(entries))
                reporter.done(measure_deletes(entries))

    def _reporting(self, kind: str, groups: Sequence[Sequence[DeleteEntry]]) -> AbstractContextManager[Reporter]:
        action = f"rewrite {kind} deletes of {self._handle.name}"
        return report_progress(action, list(map(measure_deletes, groups)), self._progress)

    def _equality_change(self, work: _Work) -> RowChange:
        new: list[NewDelete] = []
        try:
            with self._reporting("equality", [group.entries for group in work.groups]) as reporter:
                for group in work.groups:
                    new.append(work.equality.write(group))
                    reporter.done(measure_deletes(group.entries))
        except BaseException:
            self._handle.io.discard([made.file.path for made in new])
            raise
        old = [as_content_file(self._handle, entry) for group in work.groups for entry in group.entries]
        checks = [build_key_check(work.files, work.groups, [made.file.path for made in new])]
        checks += [build_row_check()] if self._verified(work) else []

        def check(made: Uncommitted) -> None:
            for each in checks:
                each(made)

        validation = Validation(work.files.snapshot.id, build_row_filter(self._handle, None), further=check)
        return RowChange(deletes=new, removed_deletes=old, validation=validation)

    def _commit(self, change: RowChange, *, equality: int = 0, positions: int = 0) -> None:
        snapshot, before = apply(self._handle, change), self._result
        self._result = replace(
            before,
            snapshot_id=snapshot.id,
            equality_deletes=before.equality_deletes + equality,
            position_deletes=before.position_deletes + positions,
            delete_files_added=before.delete_files_added + len(change.deletes),
            delete_files_removed=before.delete_files_removed + len(change.removed_deletes),
            bytes_added=before.bytes_added + change.size_in_bytes,
        )
