"""Measure the speed of the codecs and the size of their output, without Spark. Every scale uses the same keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import Measure, time_of
from rowdelta.codec import bitmap_from_sorted, bitmap_to_numpy, decode_deletion_vector, encode_deletion_vector
from rowdelta.codec.set_compression import get_compression

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

REPEATS = 7
MILLION = 1_000_000
BUILD_GOAL, DECODE_GOAL = "<= 60", "<= 10"


def run() -> list[Measure]:
    rng = np.random.default_rng(0)
    shapes = {
        "1M random of 20M": np.sort(rng.choice(20 * MILLION, MILLION, replace=False)),
        "5M random of 20M": np.sort(rng.choice(20 * MILLION, 5 * MILLION, replace=False)),
        "1M random of 8G": np.unique(rng.integers(0, 2**33, MILLION)),
        "1M in a row": np.arange(MILLION),
    }
    return [measure for name, values in shapes.items() for measure in [*_times(name, values), *_sizes(name, values)]]


def _times(shape: str, values: npt.NDArray[np.int64]) -> list[Measure]:
    bitmap = bitmap_from_sorted(values)
    vector, delta = encode_deletion_vector(bitmap), get_compression("delta-zstd")
    packed = delta.encode(bitmap)
    assert decode_deletion_vector(vector, cardinality=len(values)) == delta.decode(packed) == bitmap
    goals = (BUILD_GOAL, DECODE_GOAL) if len(values) <= MILLION else ("", "")
    return [
        _milliseconds(f"{shape}: build", lambda: bitmap_from_sorted(values), goals[0]),
        _milliseconds(f"{shape}: encode", lambda: encode_deletion_vector(bitmap)),
        _milliseconds(f"{shape}: decode to numpy", lambda: bitmap_to_numpy(decode_deletion_vector(vector)), goals[1]),
        _milliseconds(f"{shape}: encode as delta-zstd", lambda: delta.encode(bitmap)),
        _milliseconds(f"{shape}: decode delta-zstd", lambda: delta.decode(packed)),
    ]


def _sizes(shape: str, values: npt.NDArray[np.int64]) -> list[Measure]:
    bitmap, parquet = bitmap_from_sorted(values), _parquet_size(values)
    packed = {"Roaring": encode_deletion_vector(bitmap), "delta-zstd": get_compression("delta-zstd").encode(bitmap)}
    return [
        Measure(
            f"{shape}: bytes of a delta-encoded Parquet column / {name}",
            round(parquet / len(content), 2),
            detail={"parquet_bytes": parquet, "bytes": len(content)},
        )
        for name, content in packed.items()
    ]


def _milliseconds(name: str, action: Callable[[], Any], goal: str = "") -> Measure:
    timing = time_of(action, REPEATS)
    best, worst = (round(seconds * 1000, 2) for seconds in (timing.best, timing.worst))
    detail = {"seconds": [round(s, 5) for s in timing.seconds], "range": [best, worst], "warm_ups": timing.warm_ups}
    return Measure(name, best, goal, "ms", detail)


def _parquet_size(values: npt.NDArray[np.int64]) -> int:
    sink = pa.BufferOutputStream()
    table = pa.table({"id": values})
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")
    return int(sink.getvalue().size)
