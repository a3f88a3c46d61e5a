"""Removes files from storage."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from rowdelta.iceberg.file_io import run_in_parallel
from rowdelta.spark import JavaError, Py4JJavaError, read_java_message, read_java_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.iceberg.table_handle import TableHandle

log: Final = logging.getLogger("rowdelta")


def delete_from_storage(handle: TableHandle, paths: Sequence[str]) -> int:
    """Removes files, in bulk if the storage supports it. A file that cannot be removed is logged.

    Returns:
        How many files were removed.
    """
    if not paths:
        return 0
    if not _removes_in_bulk(handle):
        return sum(run_in_parallel(lambda path: handle.io.discard([path]), paths))
    io, listed = handle.java_table.io(), handle.gateway.text_list(paths)
    try:
        io.deleteFiles(listed)
    except JavaError as error:
        failed = len(paths)
        if isinstance(error, Py4JJavaError) and read_java_name(error) == "BulkDeletionFailureException":
            failed = int(error.java_exception.numberFailedObjects())
        log.warning("%s of %s files cannot be removed: %s", f"{failed:,}", f"{len(paths):,}", read_java_message(error))
        return len(paths) - failed
    return len(paths)


def _removes_in_bulk(handle: TableHandle) -> bool:
    bulk = handle.gateway.java_class("org.apache.iceberg.io.SupportsBulkOperations")
    return bool(bulk.isInstance(handle.java_table.io()))
