"""Keys as arrays in memory, one batch for each partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change.row_errors import translate_row_errors
from rowdelta.codec import sort_distinct
from rowdelta.encoding import BatchStatistics
from rowdelta.read import locate_bit, unpack_words, write_integer_sql
from rowdelta.spark import collect_arrow, convert_to_plain_values, estimate_size, select_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from rowdelta.change.key_input import KeyInput


# The size of a frame in memory. If it has not been computed, Spark estimates it from its sources.
_FEW_BYTES: Final = 64 << 20
_UNKNOWN_BYTES: Final = 1 << 50  # what Spark assumes for a frame of unknown size
NULL_KEY_HINT: Final = "no row can match it: filter such keys out"


@dataclass(frozen=True)
class IntegerBatch:
    """The distinct keys of one partition, sorted, as signed integers.

    Attributes:
        partition: The values of the partition, as `convert_to_plain_values` gives them.
    """

    partition: tuple[Any, ...]
    keys: npt.NDArray[np.int64]
    has_null: bool
    rows: int = 0  # more than keys if a key occurs twice

    @property
    def count(self) -> int:
        """Distinct keys; a null counts."""
        return len(self.keys) + self.has_null

    @property
    def statistics(self) -> BatchStatistics:
        """What the choice of an encoding depends on."""
        low, high = (int(self.keys[0]), int(self.keys[-1])) if len(self.keys) else (None, None)
        return BatchStatistics(len(self.keys), low, high, has_null=self.has_null)


@dataclass(frozen=True)
class HashedBatch:
    """The distinct keys of one partition with Spark's 64-bit hash of each; key columns are named by field id."""

    partition: tuple[Any, ...]
    keys: pa.Table
    hashes: npt.NDArray[np.int64]


def has_many_keys(keys: KeyInput) -> bool:
    """Whether Spark estimates more keys than the driver should hold one by one."""
    return _FEW_BYTES < estimate_size(keys.frame) < _UNKNOWN_BYTES


def measure_integer_keys(keys: KeyInput) -> list[BatchStatistics]:
    """Measures keys by partition, and collects none. A key that occurs twice counts twice."""
    number, parts = write_integer_sql(keys.columns[0], "k0"), keys.partition_names
    grouped = select_sql(keys.frame, *parts, f"{number} as k").groupBy(*parts)
    with translate_row_errors(NULL_KEY_HINT):
        rows = grouped.agg(
            F.count("k").alias("count"),
            F.min("k").alias("low"),
            F.max("k").alias("high"),
            F.count_if(F.col("k").isNull()).alias("nulls"),
        ).collect()
    return [
        BatchStatistics(row["count"], row["low"], row["high"], has_null=row["nulls"] > 0)
        for row in rows
        if row["count"] or row["nulls"]
    ]


def collect_integer_batches(keys: KeyInput) -> list[IntegerBatch]:
    """Collects integer keys: few one by one, many as one 64-bit word for every 64 neighbours."""
    number = write_integer_sql(keys.columns[0], "k0")
    if estimate_size(keys.frame) <= _FEW_BYTES:
        return _collect_small_batch(keys, number)
    parts = keys.partition_names
    # A task for each core is enough: the shuffle that follows moves few words, and its cost grows with the tasks.
    frame = keys.frame.coalesce(keys.frame.sparkSession.sparkContext.defaultParallelism)
    block, bit = locate_bit("k")
    numbers = select_sql(frame, *parts, f"{number} as k")
    words = select_sql(numbers, *parts, f"{block} as block", f"{bit} as bit")
    with translate_row_errors(NULL_KEY_HINT):
        table = collect_arrow(
            words.groupBy(*parts, "block").agg(F.bit_or("bit").alias("word"), F.count("*").alias("rows"))
        )
    batches = []
    for partition, rows in _split_by_partition(table, parts):
        blocks = rows["block"].combine_chunks()
        nulls = blocks.is_null().to_numpy(zero_copy_only=False)
        word = rows["word"].fill_null(0).combine_chunks().to_numpy()
        unpacked = unpack_words(blocks.fill_null(0).to_numpy()[~nulls], word[~nulls])
        batches.append(IntegerBatch(partition, unpacked, bool(nulls.any()), int(pc.sum(rows["rows"]).as_py())))
    return batches


def _collect_small_batch(keys: KeyInput, number: str) -> list[IntegerBatch]:
    """Collects the keys of a small batch: it takes less time to make them distinct here than in a shuffle."""
    parts = keys.partition_names
    with translate_row_errors(NULL_KEY_HINT):
        table = collect_arrow(select_sql(keys.frame, *parts, f"{number} as k"))
    batches = []
    for partition, rows in _split_by_partition(table, parts):
        column = rows["k"].combine_chunks()
        distinct = sort_distinct(column.drop_null().to_numpy())
        batches.append(IntegerBatch(partition, distinct, column.null_count > 0, rows.num_rows))
    return batches


def collect_hashed_batches(keys: KeyInput) -> list[HashedBatch]:
    """Collects distinct keys of any type, with their hashes."""
    names, parts = keys.key_names, keys.partition_names
    frame = keys.frame.select(*names, *parts).distinct().withColumn("hash", F.xxhash64(*names))
    with translate_row_errors(NULL_KEY_HINT):
        table = collect_arrow(frame)
    ids = [str(column.id) for column in keys.columns]
    return [
        HashedBatch(partition, rows.select(names).rename_columns(ids), rows["hash"].to_numpy())
        for partition, rows in _split_by_partition(table, parts)
    ]


def _split_by_partition(table: pa.Table, parts: list[str]) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
    if not table.num_rows:
        return
    if not parts:
        yield (), table
        return
    codes = np.zeros(table.num_rows, np.int64)
    for name in parts:
        values = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * (len(values.dictionary) + 1) + values.indices.to_numpy()
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)  # keeps the codes small
    order = np.argsort(codes, kind="stable")
    table = table.take(pa.array(order))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1)).tolist()
    for start, end in zip(starts, [*starts[1:], table.num_rows], strict=True):
        rows = table.slice(start, end - start)
        yield tuple(convert_to_plain_values(rows[name].slice(0, 1))[0] for name in parts), rows
