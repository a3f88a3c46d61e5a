"""What a converted table says about its Delta table, in its properties and in the summaries of its snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rowdelta.iceberg import TableHandle, TableMetadata

SOURCE: Final = "rowdelta.delta.source"
TABLE_ID: Final = "rowdelta.delta.id"
VERSION: Final = "rowdelta.delta.version"
TIMESTAMP: Final = "rowdelta.delta.timestamp"
OPERATION: Final = "rowdelta.delta.operation"
SNAPSHOT_VERSION: Final = "rowdelta.delta.snapshot-version"
FOLDER: Final = "rowdelta.delta.delete-folder"
DEFAULT_FOLDER: Final = "deletion-vectors"


def is_last_conversion(handle: TableHandle) -> bool:
    """Whether the newest snapshot is the one that the last conversion made."""
    head = handle.snapshot()
    version = None if head is None else head.summary.get(VERSION, "")
    return version == handle.metadata.properties.get(SNAPSHOT_VERSION)


def find_delete_folder(metadata: TableMetadata) -> str:
    """Finds the folder of a table's delete files."""
    return metadata.properties.get(FOLDER, f"{metadata.location.rstrip('/')}/{DEFAULT_FOLDER}")
