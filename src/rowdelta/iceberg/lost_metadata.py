"""Removes the metadata file of a commit that lost a race, if the catalog leaves it behind.

Iceberg's JDBC catalog writes a metadata file for each attempt, and does not remove it when another writer was faster.
The file has a random name. But it is of the version that follows the base, and it has a snapshot of this attempt, which
no other file can have.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, Final

from rowdelta.spark import JavaError, read_java_message

if TYPE_CHECKING:
    from rowdelta.iceberg.table_handle import TableHandle

log: Final = logging.getLogger("rowdelta")
_LEAVES_FILES: Final = "org.apache.iceberg.jdbc.JdbcTableOperations"
_VERSION: Final = re.compile(r".*/(\d+)-[^/]*$")


def remove_lost_metadata(handle: TableHandle, base: Any, snapshot_id: int) -> None:
    """Removes the metadata file of an attempt. A file that cannot be removed becomes an orphan; that is not an error.

    Args:
        handle: The table.
        base: The metadata that the attempt was based on.
        snapshot_id: The snapshot of the attempt, which the catalog has certainly not accepted.
    """
    operations = handle.java_table.operations()
    version = _VERSION.match(str(base.metadataFileLocation() or ""))
    if version is None or str(operations.getClass().getName()) != _LEAVES_FILES:
        return
    prefix = str(operations.metadataFileLocation(f"{int(version[1]) + 1:05d}-"))
    try:
        handle.io.discard(path for path in handle.io.list_files(prefix) if _has_snapshot(handle, path, snapshot_id))
    except JavaError as error:
        log.warning("the metadata file of a commit that lost a race remains: %s", read_java_message(error))


def _has_snapshot(handle: TableHandle, path: str, snapshot_id: int) -> bool:
    metadata = handle.gateway.iceberg.TableMetadataParser.read(handle.java_table.io().newInputFile(path))
    return metadata.snapshot(snapshot_id) is not None
