"""What deletes cost a reader: a model with few constants, each one measured.

The yardstick is an aggregate over 3 of 8 columns of 20 million rows, warm, on 2 cores (Spark 4.1, Iceberg 1.12): 0.6 s
without deletes. Another machine has other seconds; what the model is for is to compare states of one table.
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
# deletes at 2.76 s, 2.16 s more than the plain scan: what each row pays for a look into a hash set, however small.
STOCK_PROBE_SECONDS_PER_ROW: Final = 2.16 / _ROWS
# The rest grows with the keys, which every reader loads into a hash set.
_KEYS: Final = (0, 100_000, 1_000_000, 5_000_000)
_STOCK_KEY_SECONDS: Final = (0.0, 0.44, 4.44, 13.84)
# The high-water mark of the JVM in the same runs was 1.7, 5.4 and 8.8 GB; the same line meets no deletes at 1.29 GB.
_STOCK_KEY_BYTES: Final = (0.0, 0.41 * GIB, 4.11 * GIB, 7.51 * GIB)
# The same deletes as rowdelta's filter took 1.2 to 1.3 s, whatever their number.
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
    """What reading with deletes costs more than reading without them.

    Attributes:
        seconds: Further time of a full scan.
        memory_bytes: Memory for the deletes.
    """

    seconds: float = 0.0
    memory_bytes: int = 0


def scan_seconds(rows: int) -> float:
    """The time of the yardstick's query over some rows without deletes.

    Examples:
        >>> round(scan_seconds(20_000_000), 3)
        0.6
    """
    return rows * SCAN_SECONDS_PER_ROW


def stock_cost(probed_rows: int, keys: int, opened_files: int = 0) -> ReadCost:
    """What Iceberg's own reader pays: a hash set of all keys, probed by every row of the files that they apply to.

    Args:
        probed_rows: Rows in the data files that have equality deletes.
        keys: Keys of these deletes.
        opened_files: Position delete files to open.

    Examples:
        >>> round(scan_seconds(20_000_000) + stock_cost(20_000_000, 1_000_000).seconds, 1)
        7.2
    """
    return ReadCost(
        probed_rows * STOCK_PROBE_SECONDS_PER_ROW + _grown(keys, _STOCK_KEY_SECONDS) + opened_files * OPEN_SECONDS,
        int(_grown(keys, _STOCK_KEY_BYTES)),
    )


def rowdelta_cost(probed_rows: int, memory_bytes: int, opened_files: int = 0) -> ReadCost:
    """What rowdelta's reader pays: a look into a bitmap for every row of the files that have equality deletes."""
    return ReadCost(probed_rows * ROWDELTA_PROBE_SECONDS_PER_ROW + opened_files * OPEN_SECONDS, memory_bytes)


def bitmap_bytes(keys: int, span: int | None) -> int:
    """The memory of keys as a bitmap, or as rows of a join where they are not whole numbers.

    Args:
        keys: How many keys.
        span: How many whole numbers lie from the lowest to the highest key; None for other keys.

    Examples:
        >>> bitmap_bytes(1_000_000, 20_000_000), bitmap_bytes(2, 1 << 40), bitmap_bytes(2, None)
        (2506752, 16384, 128)
    """
    if span is None:
        return keys * _JOINED_KEY_BYTES
    return min(keys, span // _CONTAINER + 1) * _CONTAINER_BYTES


def stock_keys_within(memory_bytes: int) -> int:
    """How many equality deletes a stock reader holds in some memory.

    Examples:
        >>> stock_keys_within(stock_cost(0, 500_000).memory_bytes)
        500000
    """
    return round(float(np.interp(memory_bytes, _STOCK_KEY_BYTES, _KEYS)))


def _grown(keys: int, measured: tuple[float, ...]) -> float:
    """The measured curve at some number of keys; beyond the last point its last slope goes on."""
    beyond = max(keys - _KEYS[-1], 0)
    slope = (measured[-1] - measured[-2]) / (_KEYS[-1] - _KEYS[-2])
    return float(np.interp(keys, _KEYS, measured)) + beyond * slope
