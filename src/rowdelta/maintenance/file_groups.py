"""Data files in groups that fit into a memory budget."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from rowdelta.errors import InputError
from rowdelta.maintenance.progress import Portion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.iceberg import DeleteEntry, LiveData

Thing = TypeVar("Thing")
DEFAULT_MEMORY: Final = "512m"
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LEAST: Final = 1 << 20
# At most one word of positions for 64 rows, as a record of Spark, in the shuffle, in Arrow and as a bitmap.
_BYTES_PER_64_ROWS: Final = 128
_BYTES_PER_FILE: Final = 2048


def memory_bytes(memory: str | int) -> int:
    """A memory budget in bytes."""
    size = size_in_bytes("memory", memory)
    if size < _LEAST:
        raise InputError(f"memory={memory!r} is too little to work with", hint="give at least 1m")
    return size


def size_in_bytes(name: str, size: str | int) -> int:
    """A size that a caller gave, in bytes.

    Examples:
        >>> size_in_bytes("memory", "512m"), size_in_bytes("memory", "1.5 GB"), size_in_bytes("memory", 4096)
        (536870912, 1610612736, 4096)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", str(size).lower())
    if found is None:
        raise InputError(f"{name}={size!r} is not a size", hint="write it as 512m or 2g, or as bytes")
    return int(float(found[1]) * _UNITS[found[2]])


def group_files(files: Iterable[LiveData], memory: int) -> list[list[LiveData]]:
    """Groups of files whose positions fit into the memory, in the order given; a larger file is alone."""
    files = list(files)
    return pack(files, [file.records // 64 * _BYTES_PER_64_ROWS + _BYTES_PER_FILE for file in files], memory)


def pack(things: Sequence[Thing], sizes: Sequence[float], room: float) -> list[list[Thing]]:
    """Things in groups that do not outgrow some room, in their order; a larger one is alone.

    Examples:
        >>> pack("abcd", [40, 60, 10, 200], 100)
        [['a', 'b'], ['c'], ['d']]
    """
    groups: list[list[Thing]] = []
    left = 0.0
    for thing, size in zip(things, sizes, strict=True):
        if not groups or size > left:
            groups.append([])
            left = room
        groups[-1].append(thing)
        left -= size
    return groups


def measure_files(files: Iterable[LiveData]) -> Portion:
    """What some files hold together."""
    some = list(files)
    return Portion(sum(file.records for file in some), sum(file.size_in_bytes for file in some), len(some))


def measure_deletes(entries: Iterable[DeleteEntry]) -> Portion:
    """What some deletes hold together; several vectors may be in one file, and count one by one."""
    some = list(entries)
    return Portion(sum(e.record_count for e in some), sum(e.file_size_in_bytes for e in some), len(some))
