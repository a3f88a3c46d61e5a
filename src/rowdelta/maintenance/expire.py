"""`t.expire()`: removes old snapshots, and every file that only they need."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rowdelta.change import Operation, Plan, Result
from rowdelta.errors import InputError, TableError
from rowdelta.iceberg import (
    compare_documents,
    expire_all,
    expire_own,
    plan_expiry,
    refresh_spark_cache,
    select_own_files,
)
from rowdelta.maintenance.file_removal import remove_files
from rowdelta.maintenance.older_than import format_time, parse_cutoff
from rowdelta.maintenance.progress import show_search
from rowdelta.read import refresh_views

if TYPE_CHECKING:
    from rowdelta.iceberg import TableHandle
    from rowdelta.maintenance.older_than import OlderThan
    from rowdelta.maintenance.progress import OnProgress

GC_ENABLED: Final = "gc.enabled"
# Set on a table that was converted from a Delta table: its data files are Delta's.
DELTA_SOURCE: Final = "rowdelta.delta.source"
# The folder of its delete files, if it is not the table's own.
DELTA_DELETES: Final = "rowdelta.delta.delete-folder"


@dataclass(frozen=True)
class ExpireResult(Result):
    """What `expire` removed.

    Attributes:
        snapshots_expired: Snapshots that were removed.
        references_removed: Branches and tags that were older than their own age limit.
        data_files_removed: Data files that were removed from storage. (Delete files: `delete_files_removed`.)
        manifests_removed: Manifests that were removed.
        manifest_lists_removed: Manifest lists that were removed.

    Examples:
        >>> t.expire().execute()  # by the table's own limit: 5 days
        ExpireResult(snapshot_id=None, ... snapshots_expired=0, ... manifest_lists_removed=0)
    """

    snapshots_expired: int = 0
    references_removed: tuple[str, ...] = ()
    manifests_removed: int = 0
    manifest_lists_removed: int = 0


class Expire(Operation[ExpireResult]):
    """Removes old snapshots, and the files that no other snapshot needs."""

    def __init__(
        self,
        handle: TableHandle,
        older_than: OlderThan | None,
        retain_last: int | None,
        progress: OnProgress | None = None,
    ) -> None:
        if retain_last is not None and (isinstance(retain_last, bool) or retain_last < 1):
            raise InputError(f"retain_last is {retain_last!r}", hint="keep at least 1 snapshot of each branch")
        self._handle = handle
        self._older_than = parse_cutoff(older_than)
        self._retain_last = retain_last
        self._progress = progress

    def plan(self) -> Plan:
        """Says which snapshots and how many files would go."""
        owns_data = self.check()
        expiry, files = plan_expiry(self._handle, self._older_than, self._retain_last)
        if not owns_data:
            files = select_own_files(files, self._find_own_folders())
        total = len(self._handle.metadata.snapshots)
        limit = "the table's own limit" if self._older_than is None else format_time(self._older_than)
        steps = [
            ("older than", limit),
            ("snapshots", f"{len(expiry.snapshots):,} of {total:,} expire"),
            ("branches and tags", ", ".join(expiry.references) or "all stay"),
            ("data files", f"{len(files.data):,} are removed" if owns_data else "all stay: they are a Delta table's"),
            ("delete files", f"{len(files.deletes):,} are removed"),
            ("metadata files", f"{files.metadata_files:,} are removed"),
            ("bytes", f"{files.size_in_bytes:,} of data and deletes are freed"),
        ]
        return Plan(f"expire snapshots of {self._handle.name}", tuple(steps))

    def execute(self) -> ExpireResult:
        """Expires in one commit, then removes the files. Ctrl-C waits: no later call would find the files."""
        return self._handle.run_interruptibly(self._expire, cancel=False)

    def _expire(self) -> ExpireResult:
        started = time.monotonic()
        action = f"expire {self._handle.name}"
        owns_data = self.check()
        before = self._handle.read_whole_document()
        with show_search(action, self._progress):
            if owns_data:
                files = expire_all(self._handle, self._older_than, self._retain_last)
            else:
                folders = self._find_own_folders()
                files = expire_own(self._handle, before, self._older_than, self._retain_last, folders)
        # Before anything else that may fail: no later call would find these files.
        removed = remove_files(self._handle, action, files.by_kind, self._progress, finish_anyway=True)
        self._handle.take_current()  # the commit has just read it
        expiry = compare_documents(before, self._handle.read_whole_document())
        if expiry.snapshots:
            refresh_spark_cache(self._handle)
            refresh_views(self._handle)
        return ExpireResult(
            delete_files_removed=removed["deletes"],
            seconds=time.monotonic() - started,
            snapshots_expired=len(expiry.snapshots),
            references_removed=expiry.references,
            data_files_removed=removed["data"],
            manifests_removed=removed["manifests"],
            manifest_lists_removed=removed["manifest_lists"],
        )

    def _find_own_folders(self) -> list[str]:
        """Finds the folders in which a table that was converted from Delta has its own files."""
        metadata = self._handle.metadata
        return [folder for folder in (metadata.location, metadata.properties.get(DELTA_DELETES)) if folder]

    def check(self) -> bool:
        """Whether the table's data files are its own to remove.

        Raises:
            TableError: The table may remove nothing at all.
        """
        properties = self._handle.refresh().properties
        if DELTA_SOURCE in properties:
            return False
        require_gc(self._handle, "snapshots cannot be expired")
        return True


def require_gc(handle: TableHandle, refusal: str) -> None:
    """Refuses a table whose properties say that other tables may share its files."""
    value = handle.metadata.properties.get(GC_ENABLED, "true")
    if value.strip().lower() != "true":
        raise TableError(
            f"{refusal}: {GC_ENABLED} is {value!r} on {handle.name}, because its files may belong to other tables too",
            hint=f"if they do not: ALTER TABLE {handle.name} SET TBLPROPERTIES ('{GC_ENABLED}'='true')",
        )
