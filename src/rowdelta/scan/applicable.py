"""Which equality deletes of a snapshot can still find a row. The others need not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rowdelta.iceberg import inventory_of, scope
from rowdelta.scan.scopes import scope_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    import numpy.typing as npt

    from rowdelta.iceberg import DeleteEntry, Inventory, SnapshotFiles, TableHandle

# Bounds say nothing of NaN, which is a key like any other.
_NO_ORDER: Final = ("float", "double")
# To open a delete file takes as long as to look at the metrics of so many data files; a kibibyte of keys, as at one.
_OPEN: Final = 50


def needed_deletes(
    handle: TableHandle, files: SnapshotFiles, only: AbstractSet[str] | None = None
) -> tuple[DeleteEntry, ...]:
    """The equality deletes that may apply to a data file: to an older one, in their partition, within their bounds.

    Where the metrics of all data files would take longer to look at than the deletes to read, all are needed.

    Args:
        handle: The table.
        files: The snapshot.
        only: The data files that will be read; all of them when left out.
    """
    listed = [manifest for manifest in files.listing.records if not manifest.get("content")]
    counts = [manifest.get(name) for manifest in listed for name in ("added_files_count", "existing_files_count")]
    to_read = sum(_OPEN + (entry.file_size_in_bytes >> 10) for entry in files.equality_deletes)
    if sum(count or 0 for count in counts) > to_read:
        return files.equality_deletes
    inventory = inventory_of(handle, files.listing)
    read = np.array([only is None or file.path in only for file in inventory.data], bool)
    needed = {(entry.path, entry.content_offset) for entry, found in applicable(handle, inventory) if read[found].any()}
    return tuple(entry for entry in files.equality_deletes if (entry.path, entry.content_offset) in needed)


def applicable(handle: TableHandle, inventory: Inventory) -> Iterator[tuple[DeleteEntry, npt.NDArray[np.int64]]]:
    """Each delete with the indices of the data files that it may apply to, by metadata alone."""
    by_id = handle.metadata.schema.by_id
    for delete, found in zip(inventory.deletes, inventory.matches(), strict=True):
        entry = delete.entry
        if any(field_id in by_id and by_id[field_id].type_name in _NO_ORDER for field_id in entry.equality_ids):
            yield entry, _by_age_and_scope(handle, inventory, entry)
        else:
            yield entry, found


def _by_age_and_scope(handle: TableHandle, inventory: Inventory, entry: DeleteEntry) -> npt.NDArray[np.int64]:
    everywhere = scope_of(entry, handle.metadata.specs) is None
    place = scope(entry.spec_id, entry.partition)
    found = [
        index
        for index, file in enumerate(inventory.data)
        if file.sequence_number < entry.sequence_number and (everywhere or scope(file.spec_id, file.partition) == place)
    ]
    return np.array(found, np.int64)
