"""Converts entries of manifests to files that a commit can add or remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.iceberg import ContentFile
from rowdelta.spark import convert_to_json_values

if TYPE_CHECKING:
    from rowdelta.iceberg import DataEntry, DeleteEntry, LiveData, TableHandle


def to_content_file(handle: TableHandle, entry: DeleteEntry) -> ContentFile:
    """Makes a delete file of a manifest entry, so that a commit can remove it."""
    return ContentFile(
        path=entry.path,
        file_format=entry.file_format,
        record_count=entry.record_count,
        file_size_in_bytes=entry.file_size_in_bytes,
        content=entry.content,
        spec_id=entry.spec_id,
        partition=partition_to_json(handle, entry),
        equality_ids=list(entry.equality_ids) or None,
        referenced_data_file=entry.referenced_data_file if entry.is_deletion_vector else None,
        content_offset=entry.content_offset,
        content_size_in_bytes=entry.content_size_in_bytes,
    )


def partition_to_json(handle: TableHandle, entry: DeleteEntry | DataEntry | LiveData) -> list[Any]:
    """Writes the partition values of an entry as JSON values."""
    return convert_to_json_values(handle.metadata.partition_types[entry.spec_id], entry.partition)
