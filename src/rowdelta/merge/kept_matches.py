"""Keeps the matches of keys from an older snapshot, as far as they are true in a newer one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap64

from rowdelta.change import POSITION, find_changed_files, read_existing_positions, select_positions
from rowdelta.codec import bitmap_to_numpy
from rowdelta.merge.matches import SOURCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from rowdelta.change import FilePositions, RowArrays, Target


@dataclass(frozen=True)
class FileMatches:
    """The rows of one data file that have a wanted key: `SOURCE` and what else is wanted of them, row by row."""

    file: FilePositions
    rows: RowArrays

    def without(self, ignored: npt.NDArray[np.int64]) -> FilePositions:
        """Selects the rows whose change is not ignored."""
        return select_positions(self.file, self.rows[POSITION][~np.isin(self.rows[SOURCE], ignored)])

    def without_positions(self, deleted: BitMap64) -> FileMatches | None:
        """Drops the rows at some positions; None if no row is left."""
        kept = ~np.isin(self.rows[POSITION], bitmap_to_numpy(deleted))
        if kept.all():
            return self
        if not kept.any():
            return None
        rows = {name: values[kept] for name, values in self.rows.items()}
        return FileMatches(select_positions(self.file, rows[POSITION]), rows)


@dataclass(frozen=True)
class KeptMatches:
    """What is still true of earlier matches.

    Attributes:
        by_file: The matches.
        unread: The files of the newer snapshot about which nothing is known.
    """

    by_file: dict[str, FileMatches]
    unread: frozenset[str]


def keep_matches(before: Target, by_file: Mapping[str, FileMatches], target: Target) -> KeptMatches | None:
    """Keeps matches that are still true; rows that were deleted by position since are dropped without reading them.

    Args:
        before: The older snapshot.
        by_file: Its matches.
        target: The newer snapshot.

    Returns:
        None if deletes have changed that may apply to any file.
    """
    if before.files is None or target.files is None:
        return None
    changed = find_changed_files(target.handle, before.files, target.files)
    if changed is None:
        return None
    handle, nothing = target.handle, BitMap64()
    old = read_existing_positions(handle, before.files, changed.redeleted)
    new = read_existing_positions(handle, target.files, changed.redeleted)
    restored = {path for path in changed.redeleted if not old.get(path, nothing) <= new.get(path, nothing)}
    kept = {}
    for path, matches in by_file.items():
        left: FileMatches | None = matches
        if path in changed.removed or path in restored:
            left = None
        elif path in changed.redeleted:
            left = matches.without_positions(new.get(path, nothing))
        if left is not None:
            kept[path] = left
    return KeptMatches(kept, changed.added | restored)
