"""Estimates what deletes cost a reader: a model with few constants, each of them measured.

The reference query is an aggregate over 3 of 8 columns of 20 million rows, warm, on 2 cores (Spark 4.1, Iceberg 1.12):
0.6 s without deletes. Other machines take other times; use the model to compare states of one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

GIB: Final = 1 << 30
_ROWS: Final = 20_000_000
# The aggregate without deletes; with deletion vectors it took 0.59 s, so positions in vectors are free.
SCAN_SECONDS_PER_ROW: Final = 0.6 / _ROWS
# Iceberg's reader with 100K, 1M and 5M equality deletes: 3.2, 7.2 and 16.6 s. The line through the first two meets no
# deletes at 2.76 s, 2.16 s more than the plain scan: what each row pays for a lookup in a hash set, however small.
ICEBERG_PROBE_SECONDS_PER_ROW: Final = 2.16 / _ROWS
# The rest grows with the keys, which every reader loads into a hash set.
_KEYS: Final = (0, 100_000, 1_000_000, 5_000_000)
_ICEBERG_KEY_SECONDS: Final = (0.0, 0.44, 4.44, 13.84)
# The high-water mark of the JVM in the same runs was 1.7, 5.4 and 8.8 GB; the same line meets no deletes at 1.29 GB.
_ICEBERG_KEY_BYTES: Final = (0.0, 0.41 * GIB, 4.11 * GIB, 7.51 * GIB)
# The same deletes as rowdelta's filter took 1.2 to 1.3 s, regardless of their number.
ROWDELTA_PROBE_SECONDS_PER_ROW: Final = 0.65 / _ROWS
# Resolving 200K keys over the same rows took 2.3 s: a scan of the key column and of nothing else.
RESOLVE_SECONDS_PER_ROW: Final = 2.3 / _ROWS
# Deleting 1% of the same rows took 0.74 s: a job over the files and a commit.
COMMIT_SECONDS: Final = 0.7
# Iceberg's rewrite_data_files of 10 million rows x 8 columns (180 MB of Parquet) took 8.4 s.
REWRITE_BYTES_PER_SECOND: Final = 20_000_000
# 4 million positions in 2 files of version 2 did not slow a scan down, but each file must be opened: a scan of 100 data
# files with a position delete file each took 0.2 s longer when none was cached.
OPEN_SECONDS: Final = 0.002

_CONTAINER: Final = 1 << 16
_CONTAINER_BYTES: Final = _CONTAINER // 8
_JOINED_KEY_BYTES: Final = 64


@dataclass(frozen=True)
class ReadCost:
    """What reading with deletes costs on top of reading without them.

    Attributes:
        seconds: Additional time of a full scan.
        memory_bytes: Memory for the deletes.
    """

    seconds: float = 0.0
    memory_bytes: int = 0


def estimate_scan_seconds(rows: int) -> float:
    """Estimates the time of the reference query over some rows without deletes.

    Examples:
        >>> round(estimate_scan_seconds(20_000_000), 3)
        0.6
    """
    return rows * SCAN_SECONDS_PER_ROW


def estimate_iceberg_cost(probed_rows: int, keys: int, opened_files: int = 0) -> ReadCost:
    """Estimates the cost of Iceberg's reader: a hash set of all keys, probed by every row of the files concerned.

    Args:
        probed_rows: Rows in the data files that have equality deletes.
        keys: Keys of these deletes.
        opened_files: Position delete files to open.

    Examples:
        >>> round(estimate_scan_seconds(20_000_000) + estimate_iceberg_cost(20_000_000, 1_000_000).seconds, 1)
        7.2
    """
    return ReadCost(
        probed_rows * ICEBERG_PROBE_SECONDS_PER_ROW
        + _interpolate(keys, _ICEBERG_KEY_SECONDS)
        + opened_files * OPEN_SECONDS,
        int(_interpolate(keys, _ICEBERG_KEY_BYTES)),
    )


def estimate_rowdelta_cost(probed_rows: int, memory_bytes: int, opened_files: int = 0) -> ReadCost:
    """Estimates the cost of rowdelta's reader: a bitmap, probed by every row of the files with equality deletes."""
    return ReadCost(probed_rows * ROWDELTA_PROBE_SECONDS_PER_ROW + opened_files * OPEN_SECONDS, memory_bytes)


def estimate_bitmap_bytes(keys: int, span: int | None) -> int:
    """Estimates the memory of keys as a bitmap, or as rows of a join where they are not whole numbers.

    Args:
        keys: How many keys.
        span: How many whole numbers lie from the lowest to the highest key; None for other keys.

    Examples:
        >>> estimate_bitmap_bytes(1_000_000, 20_000_000), estimate_bitmap_bytes(2, 1 << 40)
        (2506752, 16384)
        >>> estimate_bitmap_bytes(2, None)
        128
    """
    if span is None:
        return keys * _JOINED_KEY_BYTES
    return min(keys, span // _CONTAINER + 1) * _CONTAINER_BYTES


def find_keys_within(memory_bytes: int) -> int:
    """Finds how many equality deletes fit into some memory of Iceberg's reader.

    Examples:
        >>> find_keys_within(estimate_iceberg_cost(0, 500_000).memory_bytes)
        500000
    """
    return round(float(np.interp(memory_bytes, _ICEBERG_KEY_BYTES, _KEYS)))


def _interpolate(keys: int, measured: tuple[float, ...]) -> float:
    """Interpolates the measured curve at a number of keys; beyond the last point, it continues the last slope."""
    beyond = max(keys - _KEYS[-1], 0)
    slope = (measured[-1] - measured[-2]) / (_KEYS[-1] - _KEYS[-2])
    return float(np.interp(keys, _KEYS, measured)) + beyond * slope
