"""Files that go from storage."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from rowdelta.iceberg.java_errors import JavaError, java_message, java_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.iceberg.handle import TableHandle

log = logging.getLogger("rowdelta")


def delete_files(handle: TableHandle, paths: Sequence[str]) -> int:
    """Removes files in bulk where the storage can, else in parallel; what cannot be removed is logged and left.

    Returns:
        How many are gone. A storage that cannot remove in bulk does not say what failed, so that all are counted.
    """
    if not paths:
        return 0
    gateway, io = handle.gateway, handle._table.io()
    # As one text: py4j would send a list one by one.
    listed = gateway.iceberg.util.JsonUtil.mapper().readValue(
        json.dumps(list(paths)), gateway.java_class("java.util.ArrayList")
    )
    if not gateway.java_class("org.apache.iceberg.io.SupportsBulkOperations").isInstance(io):
        gateway.iceberg.CatalogUtil.deleteFiles(io, listed, "unreachable", True)
        return len(paths)
    try:
        io.deleteFiles(listed)
    except JavaError as error:
        failed = len(paths)
        if isinstance(error, Py4JJavaError) and java_name(error) == "BulkDeletionFailureException":
            failed = int(error.java_exception.numberFailedObjects())
        log.warning("%s of %s files cannot be removed: %s", f"{failed:,}", f"{len(paths):,}", java_message(error))
        return len(paths) - failed
    return len(paths)
