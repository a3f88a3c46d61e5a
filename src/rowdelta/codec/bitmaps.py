"""Converts numpy arrays to bitmaps and back, in bulk. `bench/codec.py` measures both."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from rowdelta.errors import FormatError


def sort_distinct(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sorts values and removes duplicates; keys often come in runs, for which this is far faster than `np.unique`.

    Examples:
        >>> sort_distinct(np.array([3, 1, 3])).tolist()
        [1, 3]
    """
    values = np.sort(values, kind="stable")
    first = np.ones(len(values), bool)
    first[1:] = values[1:] != values[:-1]
    return values if first.all() else values[first]


def bitmap_from_sorted(values: npt.NDArray[Any]) -> BitMap64:
    """Builds a bitmap from a sorted integer array; equal neighbours count once.

    Raises:
        FormatError: The array is not one-dimensional, not of integers, not ascending, or has a negative value.

    Examples:
        >>> bitmap_from_sorted(np.array([1, 2, 2, 2**40]))
        BitMap64([1, 2, 1099511627776])
    """
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise FormatError(f"a bitmap needs a flat integer array, not {values.ndim} dimensions of {values.dtype}")
    if len(values) == 0:
        return BitMap64()
    falls = values[1:] < values[:-1]
    if falls.any():
        at = int(np.argmax(falls))
        raise FormatError(f"values are not sorted: {values[at]} comes before {values[at + 1]}", hint="sort them first")
    if values[0] < 0:
        raise FormatError(f"value {values[0]} is negative", hint="encode the keys with a signed codec first")
    # pyroaring reads an array.array through its buffer, four times as fast as it iterates over numpy.
    unsigned: array[int] = array("Q")
    unsigned.frombytes(np.ascontiguousarray(values, dtype=np.uint64).data.cast("B"))
    return BitMap64(unsigned)


def bitmap_to_numpy(bitmap: BitMap64, *, limit: int | None = None) -> npt.NDArray[np.uint64]:
    """Lists a bitmap's values in ascending order.

    Args:
        bitmap: The values.
        limit: How many values are too many. A few kilobytes of runs can represent billions of values, so give a limit
            for bitmaps from other sources.

    Raises:
        FormatError: There are more values than `limit`.

    Examples:
        >>> bitmap_to_numpy(BitMap64([1, 2**40])).tolist()
        [1, 1099511627776]
        >>> bitmap_to_numpy(BitMap64(range(1000)), limit=10)
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: bitmap has 1000 values, more than the limit of 10
    """
    if limit is not None and len(bitmap) > limit:
        raise FormatError(f"bitmap has {len(bitmap)} values, more than the limit of {limit}")
    if not bitmap:
        return np.empty(0, np.uint64)
    return np.frombuffer(bitmap.to_array(), np.uint64)
