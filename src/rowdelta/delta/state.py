"""What the Iceberg table holds already: asked only where a Delta commit touches files that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.iceberg import ContentFile, snapshot_files, take_inventory
from rowdelta.ops.position_files import as_content_file, stored_partition

if TYPE_CHECKING:
    from collections.abc import Collection

    from rowdelta.iceberg import DeleteEntry, TableHandle


def deletes_of(handle: TableHandle, paths: Collection[str]) -> list[DeleteEntry]:
    """The live delete files of some data files; data manifests are not read."""
    return [entry for entry in all_deletes(handle) if entry.referenced_data_file in paths] if paths else []


def all_deletes(handle: TableHandle) -> list[DeleteEntry]:
    """Every live delete file, also those that another writer may have added."""
    head = handle.snapshot()
    files = None if head is None else snapshot_files(handle, head)
    return [] if files is None else [*files.position_deletes, *files.equality_deletes]


def held_paths(handle: TableHandle, paths: Collection[str]) -> set[str]:
    """Which of some data files the table holds."""
    head = handle.snapshot()
    if head is None or head.manifest_list is None or not paths:
        return set()
    manifests = handle.manifests.read(head.manifest_list).records
    return {
        entry.path
        for manifest in manifests
        if not manifest.get("content")
        for entry in handle.manifests.data(manifest)
        if entry.path in paths
    }


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


def removable(handle: TableHandle, entries: Collection[DeleteEntry]) -> list[ContentFile]:
    """Delete files as files that a commit can remove."""
    return [as_content_file(handle, entry) for entry in entries]
