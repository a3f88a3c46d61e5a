"""Which equality deletes of a snapshot can still find a row. The others need not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rowdelta.iceberg import inventory_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rowdelta.iceberg import DeleteEntry, SnapshotFiles, TableHandle

# To open a delete file takes as long as to look at the metrics of so many data files; a kibibyte of keys, as at one.
_OPEN: Final = 50
_LOOKED_AT_AT_MOST: Final = 20_000


def find_needed_deletes(
    handle: TableHandle, files: SnapshotFiles, only: AbstractSet[str] | None = None
) -> tuple[DeleteEntry, ...]:
    """The equality deletes that may apply to a data file: to an older one, in their partition, within their bounds.

    Where the metrics of all data files would take longer to look at than the deletes to read, all are needed.

    Args:
        handle: The table.
        files: The snapshot.
        only: The data files that will be read; all of them when left out.
    """
    count = files.count("files")
    to_read = sum(_OPEN + (entry.file_size_in_bytes >> 10) for entry in files.equality_deletes)
    if count is None or count > min(to_read, _LOOKED_AT_AT_MOST):
        return files.equality_deletes
    inventory = inventory_of(handle, files.listing)
    read = np.array([only is None or file.path in only for file in inventory.data], bool)
    needed = {(entry.path, entry.content_offset) for entry, found in inventory.applicable() if read[found].any()}
    return tuple(entry for entry in files.equality_deletes if (entry.path, entry.content_offset) in needed)
