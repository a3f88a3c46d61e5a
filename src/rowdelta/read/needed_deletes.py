"""Finds the equality deletes of a snapshot that may still delete a row. The others are not read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rowdelta.iceberg import index_manifest_list

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rowdelta.iceberg import DeleteEntry, SnapshotFiles, TableHandle

# Opening a delete file takes as long as comparing the metrics of so many data files; a kibibyte of keys, as one.
_OPEN_COST: Final = 50
_MOST_FILES_COMPARED: Final = 20_000


def find_needed_deletes(
    handle: TableHandle, files: SnapshotFiles, only: AbstractSet[str] | None = None
) -> tuple[DeleteEntry, ...]:
    """Finds the equality deletes that may apply to a data file: an older one, in their partition, within their bounds.

    If comparing the metrics of all data files would take longer than reading the deletes, all are needed.

    Args:
        handle: The table.
        files: The snapshot.
        only: The data files that will be read; by default, all of them.
    """
    count = files.count("files")
    to_read = sum(_OPEN_COST + (entry.file_size_in_bytes >> 10) for entry in files.equality_deletes)
    if count is None or count > min(to_read, _MOST_FILES_COMPARED):
        return files.equality_deletes
    inventory = index_manifest_list(handle, files.listing)
    read = np.array([only is None or file.path in only for file in inventory.data], bool)
    applicable = inventory.match_entries()
    needed = {(entry.path, entry.content_offset) for entry, files_hit in applicable if read[files_hit].any()}
    return tuple(entry for entry in files.equality_deletes if (entry.path, entry.content_offset) in needed)
