"""Tells Iceberg about a change: makes the update that becomes one snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rowdelta.iceberg.content_files import to_java
from rowdelta.iceberg.file_batches import pass_files
from rowdelta.iceberg.scan_planning import check_whole_files

if TYPE_CHECKING:
    from rowdelta.iceberg.row_change import RowChange
    from rowdelta.iceberg.row_filter import RowFilter
    from rowdelta.iceberg.table_handle import TableHandle

_FEW_MANIFESTS: Final = 16
_FEW_BYTES: Final = 4 << 20


def make_snapshot_update(handle: TableHandle, change: RowChange, transaction: Any) -> Any:
    """Makes Iceberg's update with all files of a change; the caller commits it inside the transaction."""
    if change.whole_files is not None:
        _check_newer_files(handle, change, transaction, change.whole_files)
        update = transaction.newDelete().toBranch(handle.branch).deleteFromRowFilter(change.whole_files.certain)
    elif change.is_empty:  # an append: it checks no deletes
        update = transaction.newFastAppend().toBranch(handle.branch)
    elif any(new.sequence_number is not None for new in change.deletes):
        update = _replace_deletes(handle, change, transaction)
    else:
        update = _change_rows(handle, change, transaction)
    for key, value in {**change.summary, **handle.mark.summary}.items():
        update.set(key, value)
    return update


def _change_rows(handle: TableHandle, change: RowChange, transaction: Any) -> Any:
    """Adds and removes data and delete files."""
    delta = transaction.newRowDelta().toBranch(handle.branch)
    gateway, specs = handle.gateway, transaction.table().specs()
    pass_files(gateway, delta, "addDeletes", [new.file for new in change.deletes], specs)
    pass_files(gateway, delta, "removeDeletes", change.removed_deletes, specs)
    pass_files(gateway, delta, "removeRows", change.removed_rows, specs)
    pass_files(gateway, delta, "addRows", change.kept_files, specs)
    if change.rows is not None:
        change.rows.add_to(delta)
    if change.validation is not None:
        change.validation.configure(gateway, delta)
    elif (head := transaction.table().snapshot(handle.branch)) is not None:
        # Nothing needs validation. But Iceberg mistakes an equality delete vector for a deletion vector, and searches
        # the history for concurrent ones. Without a starting snapshot it reads the whole history, and fails if some
        # of it has expired.
        delta.validateFromSnapshot(head.snapshotId())
    return delta


def _replace_deletes(handle: TableHandle, change: RowChange, transaction: Any) -> Any:
    """Replaces deletes by others of the same age; Iceberg fails when one of the old ones is gone."""
    rewrite = transaction.newRewrite().toBranch(handle.branch)
    for old in change.removed_deletes:
        rewrite.deleteFile(to_java(handle, old))
    for new in change.deletes:
        assert new.sequence_number is not None
        rewrite.addFile(to_java(handle, new.file), new.sequence_number)
    return rewrite


def _check_newer_files(handle: TableHandle, change: RowChange, transaction: Any, condition: RowFilter) -> None:
    """Checks the files again if the branch has a newer snapshot than the one that the change is based on."""
    assert change.validation is not None
    head = int(transaction.table().snapshot(handle.branch).snapshotId())
    if head != change.validation.snapshot_id:
        check_whole_files(handle, head, condition)


def use_calling_thread(handle: TableHandle, change: RowChange, transaction: Any, update: Any) -> None:
    """Lets Iceberg read and write manifests in the calling thread if they are few and small.

    Iceberg polls its worker threads every 10 ms, several times in a commit. That was half of the time of a commit.
    """
    head = transaction.table().snapshot(handle.branch)
    if head is not None and head.allManifests(transaction.table().io()).size() > _FEW_MANIFESTS:
        return
    if head is not None and (change.removed_deletes or change.removed_rows or change.whole_files is not None):
        records = handle.manifests.read(head.manifestListLocation()).records  # Iceberg may have to read these
        if sum(record["manifest_length"] for record in records) > _FEW_BYTES:
            return
    guava = handle.gateway.iceberg.relocated.com.google.common.util.concurrent
    executor = guava.MoreExecutors.newDirectExecutorService()
    update.scanManifestsWith(executor)
    update.writeManifestsWith(executor, 1)
