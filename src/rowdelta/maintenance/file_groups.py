"""Groups data files so that each group fits into a memory budget."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from rowdelta.errors import InputError
from rowdelta.maintenance.progress import Portion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.iceberg import DeleteEntry, LiveData

Item = TypeVar("Item")
DEFAULT_MEMORY: Final = "512m"
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MIN_MEMORY: Final = 1 << 20
# At most one word of positions for 64 rows: as a record of Spark, in the shuffle, in Arrow and as a bitmap.
_BYTES_PER_64_ROWS: Final = 128
_BYTES_PER_FILE: Final = 2048


def parse_memory(memory: str | int) -> int:
    """Parses a memory budget into bytes."""
    size = parse_size("memory", memory)
    if size < _MIN_MEMORY:
        raise InputError(f"memory={memory!r} is too small", hint="give at least 1m")
    return size


def parse_size(name: str, size: str | int) -> int:
    """Parses a size that the caller gave into bytes.

    Examples:
        >>> parse_size("memory", "512m"), parse_size("memory", "1.5 GB"), parse_size("memory", 4096)
        (536870912, 1610612736, 4096)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", str(size).lower())
    if match is None:
        raise InputError(f"{name}={size!r} is not a size", hint="write it as 512m or 2g, or as bytes")
    return int(float(match[1]) * _UNITS[match[2]])


def group_files(files: Iterable[LiveData], memory: int) -> list[list[LiveData]]:
    """Groups files so that their positions fit into the memory, in the given order; a larger file is alone."""
    files = list(files)
    return pack(files, [file.records // 64 * _BYTES_PER_64_ROWS + _BYTES_PER_FILE for file in files], memory)


def pack(items: Sequence[Item], sizes: Sequence[float], room: float) -> list[list[Item]]:
    """Packs items, in their order, into groups that fit into some room; a larger item is alone.

    Examples:
        >>> pack("abcd", [40, 60, 10, 200], 100)
        [['a', 'b'], ['c'], ['d']]
    """
    groups: list[list[Item]] = []
    free = 0.0
    for item, size in zip(items, sizes, strict=True):
        if not groups or size > free:
            groups.append([])
            free = room
        groups[-1].append(item)
        free -= size
    return groups


def measure_files(files: Iterable[LiveData]) -> Portion:
    """Adds up the rows and bytes of files."""
    files = list(files)
    return Portion(sum(file.records for file in files), sum(file.size_in_bytes for file in files), len(files))


def measure_deletes(entries: Iterable[DeleteEntry]) -> Portion:
    """Adds up the records and bytes of deletes; vectors in one file count one by one."""
    entries = list(entries)
    return Portion(sum(e.record_count for e in entries), sum(e.file_size_in_bytes for e in entries), len(entries))
