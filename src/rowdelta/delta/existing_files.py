"""What the Iceberg table holds already: asked only where a Delta commit touches files that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change import as_content_file, stored_partition
from rowdelta.iceberg import ContentFile, snapshot_files, take_inventory

if TYPE_CHECKING:
    from collections.abc import Collection

    from rowdelta.iceberg import TableHandle


def all_deletes(handle: TableHandle) -> list[ContentFile]:
    """Every live delete file, also those that another writer may have added, as files that a commit can remove."""
    head = handle.snapshot()
    files = None if head is None else snapshot_files(handle, head)
    entries = () if files is None else (*files.position_deletes, *files.equality_deletes)
    return [as_content_file(handle, entry) for entry in entries]


def held_files(handle: TableHandle, paths: Collection[str] | None = None) -> dict[str, ContentFile]:
    """The data files of the table, or some of them, as files that a commit can remove."""
    head = handle.snapshot()
    if head is None:
        return {}
    return {
        file.path: ContentFile(
            path=file.path,
            file_format="PARQUET",
            record_count=file.records,
            file_size_in_bytes=file.size_in_bytes,
            spec_id=file.spec_id,
            partition=stored_partition(handle, file),
        )
        for file in take_inventory(handle, head).data
        if paths is None or file.path in paths
    }
