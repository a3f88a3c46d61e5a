"""How fast the codecs are on a million keys, and how many bytes they take: `python bench/codec.py`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rowdelta.codec import bitmap_from_sorted, bitmap_to_numpy, decode_vector, encode_vector, get_compression

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

REPEATS = 7


def best(action: Callable[[], Any]) -> float:
    """Milliseconds of the fastest of some repeats."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return round(min(times) * 1000, 2)


def parquet_size(values: npt.NDArray[np.int64]) -> int:
    sink = pa.BufferOutputStream()
    table = pa.table({"id": values})
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")
    return int(sink.getvalue().size)


def measure(values: npt.NDArray[np.int64]) -> dict[str, float]:
    bitmap = bitmap_from_sorted(values)
    vector = encode_vector(bitmap)
    delta = get_compression("delta-zstd")
    packed = delta.encode(bitmap)
    assert decode_vector(vector, cardinality=len(values)) == delta.decode(packed) == bitmap
    return {
        "values": len(values),
        "build ms": best(lambda: bitmap_from_sorted(values)),
        "encode ms": best(lambda: encode_vector(bitmap)),
        "decode ms": best(lambda: decode_vector(vector)),
        "decode to numpy ms": best(lambda: bitmap_to_numpy(decode_vector(vector))),
        "delta-zstd encode ms": best(lambda: delta.encode(bitmap)),
        "delta-zstd decode ms": best(lambda: delta.decode(packed)),
        "roaring bytes": len(vector),
        "delta-zstd bytes": len(packed),
        "parquet bytes": parquet_size(values),
    }


def main() -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(0)
    million = 1_000_000
    shapes = {
        "1M random of 20M": np.sort(rng.choice(20 * million, million, replace=False)),
        "5M random of 20M": np.sort(rng.choice(20 * million, 5 * million, replace=False)),
        "1M random of 8G": np.unique(rng.integers(0, 2**33, million)),
        "1M in a row": np.arange(million),
    }
    results = {name: measure(values) for name, values in shapes.items()}
    for name, result in results.items():
        print(name)
        for what, number in result.items():
            print(f"  {what:22} {number:>14,}")
    return results


if __name__ == "__main__":
    main()
