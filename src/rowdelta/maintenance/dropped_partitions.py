"""Handles data files of partitions whose column was dropped: Iceberg writes no deletes for them, but can rewrite them.

Its rewrite applies only standard equality deletes, so equality delete vectors are rewritten as such first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change import DroppedPartitionError, find_dropped_partition, open_target
from rowdelta.errors import TableError
from rowdelta.iceberg import build_delete_index
from rowdelta.maintenance.partition_filter import CoveredDeletes
from rowdelta.maintenance.rewrite_deletes import RewriteDeletes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rowdelta.iceberg import DeleteEntry, SnapshotFiles, TableHandle
    from rowdelta.maintenance.rewrite_deletes import RewriteDeletesResult


def write_standard_deletes(handle: TableHandle) -> RewriteDeletesResult:
    """Rewrites equality delete vectors as standard files.

    Raises:
        TableError: A vector cannot be rewritten, as is always the case in such a partition.
    """
    files = open_target(handle).files
    for entry in () if files is None else files.equality_deletes:
        name = find_dropped_partition(handle, entry.spec_id)
        if entry.is_vector and name is not None:
            raise TableError(
                f"equality delete vector {entry.path} is of a partition by {name}, whose column was dropped: Iceberg "
                "can neither read it nor replace it",
                hint="rowdelta reads the table: write its rows to a new one, t.read().writeTo(...).create()",
            )
    where = "content = 'equality' AND encoding <> 'full-row'"
    rewritten = RewriteDeletes(handle, "full-row", where, verify=False).execute()
    if rewritten.skipped:
        raise TableError(
            f"Iceberg cannot read all equality deletes: {rewritten.skipped[0]}", hint="see t.delete_files()"
        )
    return rewritten


def exclude_dropped_partitions(handle: TableHandle, files: SnapshotFiles, covered: CoveredDeletes) -> CoveredDeletes:
    """Excludes deletes of such partitions, which no commit can remove; they may stay if no data file is left there.

    Raises:
        DroppedPartitionError: A data file is left.
    """
    unremovable = _find_in_dropped_partitions(handle, covered.deletes)
    if not unremovable:
        return covered
    name = _find_dropped_column(handle, files)
    if name is not None:
        raise DroppedPartitionError(handle.name, name)
    removable = tuple(entry for entry in covered.deletes if find_dropped_partition(handle, entry.spec_id) is None)
    reason = f"{len(unremovable)} equality deletes are of partitions whose column was dropped, and apply to nothing"
    return CoveredDeletes(removable, (*covered.skipped, reason))


def refuse_to_lose_deletes(handle: TableHandle) -> None:
    """Refuses a rewrite of some files if others remain in such a partition and have deletes.

    Iceberg 1.12 rewrites the manifest of the files that stay, without their partition. Then no delete of the partition
    applies to them, and deleted rows would come back. A rewrite of all files in one commit avoids this.
    """
    files = open_target(handle).files
    if files is None or not _find_in_dropped_partitions(handle, (*files.equality_deletes, *files.position_deletes)):
        return
    name = _find_dropped_column(handle, files)
    if name is not None:
        raise TableError(
            f"files of {handle.name} are partitioned by {name}, whose column was dropped, and have deletes: these "
            "files must be rewritten all at once",
            hint="use t.compact(options={'rewrite-all': 'true'}), without data_files= and without partial progress",
        )


def _find_dropped_column(handle: TableHandle, files: SnapshotFiles) -> str | None:
    """Finds the dropped column of a partition that still has data files."""
    specs = {file.spec_id for file in build_delete_index(handle, files.snapshot).data}
    return next(filter(None, (find_dropped_partition(handle, spec_id) for spec_id in sorted(specs))), None)


def _find_in_dropped_partitions(handle: TableHandle, deletes: Iterable[DeleteEntry]) -> list[DeleteEntry]:
    return [entry for entry in deletes if find_dropped_partition(handle, entry.spec_id) is not None]
