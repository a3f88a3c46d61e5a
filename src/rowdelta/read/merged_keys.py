"""Merges deleted integer keys of many ages, so that the cost of a read does not grow with the number of delete files.

For a key in several deletes, only the newest counts: a row is deleted if it is older. So all deletes of one scope
become one sorted array of keys, each with a sequence number. For a join, they are bitmaps of 65,536 keys (`containers`)
or, if keys are sparse, plain values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Longs = npt.NDArray[np.int64]

CONTAINER_BITS: Final = 16
WORDS: Final = 1 << (CONTAINER_BITS - 6)
NULL_CONTAINER: Final = 2**63 - 1  # no key is in this container: keys >> 16 are far smaller
BYTES_PER_VALUE: Final = 48  # in a hashed relation of Spark, with its row
SMALL: Final = 8 << 20


@dataclass(frozen=True)
class Level:
    """The keys of one delete file, sorted and distinct, as signed integers."""

    sequence_number: int
    keys: Longs
    has_null: bool = False


@dataclass(frozen=True)
class MergedKeys:
    """Distinct sorted keys, each with the newest sequence number that deletes it.

    `sequence_numbers` is None if all rows are older than every delete: then the keys are enough.
    """

    keys: Longs
    sequence_numbers: Longs | None
    null_sequence_number: int | None

    @cached_property
    def dense(self) -> bool:
        """Whether bitmaps are smaller than plain values, or small in any case."""
        containers = 1 + int(np.count_nonzero(np.diff(self.keys >> CONTAINER_BITS))) if len(self.keys) else 0
        return containers * WORDS * 8 <= max(SMALL, len(self.keys) * BYTES_PER_VALUE)


def merge_levels(levels: Sequence[Level], *, ages_matter: bool) -> MergedKeys:
    """Merges the keys of delete files of one scope.

    Examples:
        >>> old, new = Level(3, np.array([1, 2])), Level(7, np.array([2, 9]))
        >>> merged = merge_levels([new, old], ages_matter=True)
        >>> merged.keys.tolist(), merged.sequence_numbers.tolist()
        ([1, 2, 9], [3, 7, 7])
    """
    nulls = [level.sequence_number for level in levels if level.has_null]
    ordered = sorted(levels, key=lambda level: level.sequence_number)
    parts = [level.keys for level in ordered]
    keys = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])
    ages = None
    if ages_matter:
        ages = np.repeat([level.sequence_number for level in ordered], [len(level.keys) for level in ordered])
    if len(ordered) > 1:
        order = np.argsort(keys, kind="stable")  # equal keys stay in order of age
        keys = keys[order]
        last = np.append(keys[1:] != keys[:-1], True) if len(keys) else np.empty(0, bool)
        keys, ages = keys[last], None if ages is None else ages[order][last]
    return MergedKeys(keys, None if ages is None else ages.astype(np.int64), max(nulls, default=None))


def make_container_table(merged: MergedKeys) -> pa.Table:
    """Makes rows of (container, words): bit `key & 63` of word `(key >> 6) & 1023` of container `key >> 16`.

    If ages matter, `ranks` counts the keys before each word, and `ages` lists their sequence numbers in the order of
    keys. The null key has a container of its own, `NULL_CONTAINER`, whose only age is in `null_age`.
    """
    keys = merged.keys
    word_starts = _find_starts(keys >> 6)
    bits = np.uint64(1) << (keys & 63).astype(np.uint64)
    word_values = np.bitwise_or.reduceat(bits, word_starts) if len(keys) else bits
    word_keys = keys[word_starts]
    container_starts = _find_starts(keys >> CONTAINER_BITS)
    containers = keys[container_starts] >> CONTAINER_BITS
    row = np.searchsorted(containers, word_keys >> CONTAINER_BITS)
    column = (word_keys >> 6) & (WORDS - 1)
    words = np.zeros((len(containers), WORDS), np.uint64)
    words[row, column] = word_values
    columns: dict[str, Any] = {"container": pa.array(containers), "words": _to_lists(words.view(np.int64))}
    if merged.sequence_numbers is not None:
        counts = np.zeros((len(containers), WORDS), np.int32)
        counts[row, column] = np.diff(np.append(word_starts, len(keys)))
        ranks = np.cumsum(counts, axis=1, dtype=np.int32) - counts
        offsets = np.append(container_starts, len(keys)).astype(np.int32)
        columns["ranks"] = _to_lists(ranks)
        columns["ages"] = pa.ListArray.from_arrays(pa.array(offsets), pa.array(merged.sequence_numbers))
    columns["null_age"] = pa.nulls(len(containers), pa.int64())
    return _with_null(pa.table(columns), "container", "null_age", merged.null_sequence_number)


def make_value_table(merged: MergedKeys) -> pa.Table:
    """Makes rows of (key, age), with a null for the null key; `age` only if ages matter."""
    columns: dict[str, Any] = {"key": pa.array(merged.keys)}
    if merged.sequence_numbers is not None:
        columns["age"] = pa.array(merged.sequence_numbers)
    table = pa.table(columns)
    if merged.null_sequence_number is None:
        return table
    null = {"key": [None], "age": [merged.null_sequence_number]}
    return pa.concat_tables([table, pa.table({n: null[n] for n in columns}, schema=table.schema)])


def _with_null(table: pa.Table, key: str, age: str, sequence_number: int | None) -> pa.Table:
    if sequence_number is None:
        return table
    row = {name: [None] for name in table.column_names} | {key: [NULL_CONTAINER], age: [sequence_number]}
    return pa.concat_tables([table, pa.table(row, schema=table.schema)])


def _find_starts(groups: Longs) -> npt.NDArray[np.intp]:
    """Finds where each run of equal values starts."""
    if not len(groups):
        return np.empty(0, np.intp)
    return np.append(0, np.flatnonzero(groups[1:] != groups[:-1]) + 1)


def _to_lists(matrix: npt.NDArray[Any]) -> pa.ListArray:
    offsets = np.arange(0, matrix.size + 1, matrix.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(matrix.reshape(-1)))
