"""Checks the structure of portable Roaring bytes before any C code sees them.

pyroaring accepts wrong offsets, wrong cardinalities of run containers, high keys that Java refuses, and superfluous
bytes (`tests/codec/roaring_test.py`). Here, every byte of the input is checked.
One pass in plain Python finds where each 32-bit bitmap lies, in constant time per bitmap; all of their containers are
then checked together with numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rowdelta.errors import FormatError

COOKIE_WITHOUT_RUNS = 12346
COOKIE_WITH_RUNS = 12347
MAX_ARRAY_CARDINALITY = 4096
BITSET_BYTES = 8192
CONTAINERS = 65536
OFFSETS_FROM = 4  # with runs, a bitmap has an offset table from this many containers on
SMALLEST_ENTRY = 12  # bytes of a high key and an empty bitmap
BITSETS_AT_ONCE = 256  # 2 MB: bounds the copies made while counting bits

_U16, _U32, _U64 = Struct("<H"), Struct("<I"), Struct("<Q")

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass
class _Bitmaps:
    """Where the non-empty 32-bit bitmaps of the input lie: one row each, all positions from the start of the input."""

    rows: list[tuple[int, int, int, int, int, int, int]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # container positions of bitmaps that have no offset table


def check32(data: bytes) -> None:
    """Refuses bytes that are not exactly one well-formed 32-bit bitmap.

    Examples:
        >>> check32(bytes.fromhex("3a300000 00000000"))
        >>> check32(b"????????")
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: Roaring bitmap at byte 0 starts with cookie 0x3f3f3f3f, not 12346 or 12347
    """
    bitmaps = _Bitmaps()
    end = _find_bitmap(data, 0, bitmaps)
    _check_end(data, end)
    _check_containers(data, bitmaps)


def check64(data: bytes, *, high_key_limit: int) -> None:
    """Refuses bytes that are not exactly one well-formed 64-bit bitmap with high keys up to `high_key_limit`.

    Examples:
        >>> check64(bytes(8), high_key_limit=0)
        >>> check64(bytes(9), high_key_limit=0)
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: Roaring bitmap ends at byte 8 but the input has 9 bytes
    """
    size = len(data)
    if size < _U64.size:
        raise FormatError(f"64-bit Roaring bitmap has {size} bytes, fewer than the 8 of its bitmap count")
    (count,) = _U64.unpack_from(data)
    if count > (size - _U64.size) // SMALLEST_ENTRY:
        raise FormatError(f"64-bit Roaring bitmap claims {count} bitmaps, more than its {size} bytes can hold")
    bitmaps = _Bitmaps()
    position, previous = _U64.size, -1
    for _ in range(count):
        if position + _U32.size > size:
            raise _make_truncation_error(data, position + _U32.size)
        (key,) = _U32.unpack_from(data, position)
        if key > high_key_limit:
            raise FormatError(
                f"64-bit Roaring bitmap has high key {key} (0x{key:08x}), above the limit of {high_key_limit}",
                hint="Iceberg's Java reader refuses it too: Invalid unsigned key" if key >> 31 else None,
            )
        if key <= previous:
            raise FormatError(f"64-bit Roaring bitmap has high key {key} after {previous}: keys must ascend")
        previous = key
        position = _find_bitmap(data, position + _U32.size, bitmaps)
    _check_end(data, position)
    _check_containers(data, bitmaps)


def _find_bitmap(data: bytes, position: int, bitmaps: _Bitmaps) -> int:
    """Records where the parts of the bitmap at `position` are, and returns its end, according to its own headers."""
    size = len(data)
    if position + 8 > size:
        raise _make_truncation_error(data, position + 8)
    (cookie,) = _U32.unpack_from(data, position)
    if cookie == COOKIE_WITHOUT_RUNS:
        (count,) = _U32.unpack_from(data, position + 4)
        flags, keys = -1, position + 8
        if count > CONTAINERS:
            raise FormatError(f"Roaring bitmap at byte {position} claims {count} containers; there are at most 65536")
        if count == 0:
            return keys
    elif cookie & 0xFFFF == COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        flags, keys = position + 4, position + 4 + (count + 7) // 8
    else:
        raise FormatError(f"Roaring bitmap at byte {position} starts with cookie 0x{cookie:08x}, not 12346 or 12347")
    offsets = keys + 4 * count if flags < 0 or count >= OFFSETS_FROM else -1
    first = keys + 4 * count * (1 if offsets < 0 else 2)
    if first > size:
        raise _make_truncation_error(data, first)
    bitmap = (position, flags, keys, offsets, first, count)
    end = _walk_containers(data, bitmap, bitmaps.starts) if offsets < 0 else _find_last_container_end(data, bitmap)
    if end > size:
        raise _make_truncation_error(data, end)
    bitmaps.rows.append((*bitmap, end))
    return end


def _walk_containers(data: bytes, bitmap: tuple[int, ...], starts: list[int]) -> int:
    _, flags, keys, _, end, count = bitmap
    for index in range(count):
        starts.append(end)
        end += _measure_container(data, flags, keys, index, end)
    return end


def _find_last_container_end(data: bytes, bitmap: tuple[int, ...]) -> int:
    position, flags, keys, offsets, first, count = bitmap
    start = position + int(_U32.unpack_from(data, offsets + 4 * (count - 1))[0])
    if start < first:
        raise FormatError(f"container {count - 1} of the Roaring bitmap at byte {position} starts inside the header")
    return start + _measure_container(data, flags, keys, count - 1, start)


def _measure_container(data: bytes, flags: int, keys: int, index: int, start: int) -> int:
    if flags >= 0 and data[flags + index // 8] >> index % 8 & 1:
        if start + 2 > len(data):
            raise _make_truncation_error(data, start + 2)
        return 2 + 4 * int(_U16.unpack_from(data, start)[0])
    cardinality = int(_U16.unpack_from(data, keys + 4 * index + 2)[0]) + 1
    return 2 * cardinality if cardinality <= MAX_ARRAY_CARDINALITY else BITSET_BYTES


def _check_containers(data: bytes, bitmaps: _Bitmaps) -> None:
    """Checks the containers of all bitmaps at once: key order, offsets, then the content of each type."""
    if not bitmaps.rows:
        return
    raw = np.frombuffer(data, np.uint8)
    position, flags, keys, offsets, first, counts, end = np.array(bitmaps.rows, np.int64).T
    leading = np.cumsum(counts) - counts  # index of the first container of each bitmap
    owner = np.repeat(np.arange(len(counts)), counts)
    slot = np.arange(len(owner)) - leading[owner]
    following = owner[1:] == owner[:-1]

    key = _read_u16(raw, keys[owner] + 4 * slot)
    cardinality = _read_u16(raw, keys[owner] + 4 * slot + 2) + 1
    _refuse(following & (key[1:] <= key[:-1]), key[1:], "does not have a larger key than the one before it")

    flag_at = flags[owner] + slot // 8
    is_run = (flags[owner] >= 0) & (raw[flag_at] >> (slot % 8).astype(np.uint8) & 1).astype(bool)

    start = np.empty(len(owner), np.int64)
    listed = offsets[owner] >= 0
    offset_at = (offsets[owner] + 4 * slot)[listed]
    start[listed] = position[owner[listed]] + _read_u16(raw, offset_at) + (_read_u16(raw, offset_at + 2) << 16)
    start[~listed] = bitmaps.starts
    _refuse((start < first[owner]) | (start + 2 > end[owner]), key, "has an offset outside its bitmap")

    run_count = np.where(is_run, _read_u16(raw, start), 0)
    is_array = ~is_run & (cardinality <= MAX_ARRAY_CARDINALITY)
    size = np.where(is_run, 2 + 4 * run_count, np.where(is_array, 2 * cardinality, BITSET_BYTES))
    expected = end[owner]
    expected[:-1][following] = start[1:][following]
    wrong = start + size != expected
    wrong[leading] |= start[leading] != first
    _refuse(wrong, key, "does not lie right after the one before it: its offset or its size is wrong")

    _check_arrays(data, start[is_array], cardinality[is_array], key[is_array])
    is_bitset = ~is_run & ~is_array
    _check_bitsets(raw, start[is_bitset], cardinality[is_bitset], key[is_bitset])
    _check_runs(raw, start[is_run], run_count[is_run], cardinality[is_run], key[is_run])


def _check_arrays(data: bytes, start: Ints, cardinality: Ints, key: Ints) -> None:
    for parity in (0, 1):  # a 16-bit view of the input shows the arrays at even places, another those at odd ones
        chosen = (start % 2 == parity) & (cardinality > 1)
        if not chosen.any():
            continue
        view = np.frombuffer(data, "<u2", count=(len(data) - parity) // 2, offset=parity)
        begin = start[chosen] // 2
        bounds = np.stack([begin, begin + cardinality[chosen] - 1], axis=1).ravel()
        low, high = int(bounds[0]), int(bounds[-1])
        falls = np.zeros(high - low + 1, np.bool_)  # one more than there are steps: reduceat takes no bound at the end
        np.less_equal(view[low + 1 : high + 1], view[low:high], out=falls[:-1])
        _refuse(np.logical_or.reduceat(falls, bounds - low)[::2], key[chosen], "is an array that does not ascend")


def _check_bitsets(raw: npt.NDArray[np.uint8], start: Ints, cardinality: Ints, key: Ints) -> None:
    if not len(start):
        return
    windows = np.lib.stride_tricks.sliding_window_view(raw, BITSET_BYTES)
    for at in range(0, len(start), BITSETS_AT_ONCE):
        chunk = slice(at, at + BITSETS_AT_ONCE)
        counted = _count_bits(windows[start[chunk]])
        _refuse(counted != cardinality[chunk], key[chunk], "is a bitset with another cardinality than its header says")


def _check_runs(raw: npt.NDArray[np.uint8], start: Ints, count: Ints, cardinality: Ints, key: Ints) -> None:
    if not len(start):
        return
    _refuse(count == 0, key, "is a run container without runs")
    leading = np.cumsum(count) - count
    at = np.repeat(start + 2 - 4 * leading, count) + 4 * np.arange(count.sum())
    owner = np.repeat(np.arange(len(count)), count)
    begin = _read_u16(raw, at)
    last = begin + _read_u16(raw, at + 2)
    _refuse(last >= CONTAINERS, key[owner], "has a run that ends after 65535")
    # CRoaring's own validation refuses runs that touch as well: bitmaps of the same values would not be equal.
    touching = (owner[1:] == owner[:-1]) & (begin[1:] <= last[:-1] + 1)
    _refuse(touching, key[owner[1:]], "has runs that overlap, touch or do not ascend")
    counted = np.add.reduceat(last - begin + 1, leading)
    _refuse(counted != cardinality, key, "has runs of another cardinality than its header says")


def _read_u16(raw: npt.NDArray[np.uint8], at: Ints) -> Ints:
    return raw[at].astype(np.int64) | raw[at + 1].astype(np.int64) << 8


def _count_bits(rows: npt.NDArray[np.uint8]) -> Ints:
    if hasattr(np, "bitwise_count"):
        counts: Ints = np.bitwise_count(rows.view(np.uint64)).sum(axis=1, dtype=np.int64)
    else:  # numpy 1
        counts = np.unpackbits(rows, axis=1).sum(axis=1, dtype=np.int64)
    return counts


def _refuse(wrong: npt.NDArray[Any], key: Ints, problem: str) -> None:
    if wrong.any():
        raise FormatError(f"Roaring container with key {key[int(np.argmax(wrong))]} {problem}")


def _make_truncation_error(data: bytes, needed: int) -> FormatError:
    return FormatError(f"Roaring bitmap needs {needed} bytes but the input has {len(data)}")


def _check_end(data: bytes, end: int) -> None:
    if end != len(data):
        raise FormatError(f"Roaring bitmap ends at byte {end} but the input has {len(data)} bytes")
