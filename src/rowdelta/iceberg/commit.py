"""Commits one snapshot for one operation: its rows and deletes appear together, or not at all."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rowdelta.encoding import DeleteFileFacts, validate
from rowdelta.errors import CommitConflictError
from rowdelta.iceberg.commit_attempt import CommitAttempt
from rowdelta.iceberg.commit_retries import CommitRetries
from rowdelta.spark import JavaError, has_other_cached_queries, read_java_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowdelta.iceberg.row_change import NewDelete, RowChange
    from rowdelta.iceberg.snapshots import Snapshot
    from rowdelta.iceberg.table_handle import CommitMark, TableHandle

log: Final = logging.getLogger("rowdelta")


@contextmanager
def mark_commits(handle: TableHandle, mark: CommitMark) -> Iterator[None]:
    """Marks every commit inside the block. A mark is part of its commit: both are there, or neither is."""
    before, handle.mark = handle.mark, mark
    try:
        yield
    finally:
        handle.mark = before


def commit_change(handle: TableHandle, change: RowChange) -> Snapshot:
    """Commits a change to the handle's branch, and tries again if another writer was faster.

    Raises:
        CommitConflictError: Validation failed, or other writers were faster too often. The files of the change are
            removed.
        CommitStateUnknownError: The catalog did not answer. No file is removed.
    """
    for new in change.deletes:
        _check_delete(new)
    retries = CommitRetries(handle.metadata.properties)
    attempt = CommitAttempt(handle, change)
    try:
        with handle.io.write_in_background(change.contents) as wait:
            while not attempt.try_commit(retries, wait):
                attempt = CommitAttempt(handle, change)
    except BaseException as error:
        if not attempt.in_doubt and not attempt.done:
            attempt.clean_up(None)
            keeps_rows = change.rows_survive_conflict and isinstance(error, CommitConflictError)
            _remove_files(handle, change, keeps_rows=keeps_rows)
        raise
    handle.take_current()
    refresh_spark_cache(handle)
    assert attempt.snapshot is not None
    return attempt.snapshot


def refresh_spark_cache(handle: TableHandle) -> None:
    """Invalidates what Spark has cached of the table. The commit has happened, so a failure here is only logged.

    If no query of a user is cached, only the table object of Spark's catalog may be old. It is usually the object of
    this handle, and loading the table again would be another request to the catalog.
    """
    try:
        if has_other_cached_queries(handle.gateway):
            handle.spark.catalog.refreshTable(handle.full_name)
        else:
            handle.refresh_spark()
    except JavaError as error:
        log.warning("a cached query over %s cannot be computed again: %s", handle.name, read_java_message(error))


def _check_delete(new: NewDelete) -> None:
    file = new.file
    assert file.content is not None
    validate(
        DeleteFileFacts(
            content=file.content,
            file_format=file.file_format,
            encoding=new.encoding,
            equality_field_ids=tuple(file.equality_ids or ()) or None,
            referenced_data_file=file.referenced_data_file,
            path=file.path,
        )
    )


def _remove_files(handle: TableHandle, change: RowChange, *, keeps_rows: bool) -> None:
    handle.io.discard({new.file.path for new in change.deletes})
    if change.rows is not None and not keeps_rows:
        change.rows.remove()
