"""A merge by one integer column: a bitmap of its source's keys finds rows of the table, before or without a join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.read import integer_sql, make_key_bits
from rowdelta.spark import computed_rows, quote, sql_column
from rowdelta.verbs.merge_condition import write_range
from rowdelta.verbs.merge_matches import SOURCE

if TYPE_CHECKING:
    import numpy.typing as npt
    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import Field, TableHandle
    from rowdelta.read import KeyBits
    from rowdelta.verbs.merge_condition import OnCondition

_KEY: Final = "__rd_key"
_TYPES: Final = {"long", "int"}
_KEYS_AT_MOST: Final = 2_000_000  # they are collected


@dataclass(frozen=True)
class KeyLookup:
    """The keys of a source that are not null.

    Attributes:
        keys: The keys, sorted.
        numbers: The number of the source's row of each key.
        bits: The keys as a bitmap.
        range: A predicate that all rows with a key of the source meet.
        decides: Whether a row matches if it has one of the keys; otherwise it may.
    """

    keys: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    bits: KeyBits
    range: str
    decides: bool

    @property
    def key(self) -> Column:
        """The key of a row of the table, for `find`."""
        return sql_column(f"{self.bits.key} AS {_KEY}")

    def find(self, rows: DataFrame) -> pa.Table:
        """Rows that `bits` has found, with `SOURCE` in place of their `key`; what matches twice is there twice."""
        found = rows.toArrow()
        keys = found[_KEY].to_numpy()
        first = np.searchsorted(self.keys, keys, "left")
        counts = np.searchsorted(self.keys, keys, "right") - first
        assert not len(keys) or counts.min() > 0
        if len(keys) and counts.max() > 1:
            before = np.cumsum(counts) - counts
            place = np.arange(counts.sum()) - np.repeat(before - first, counts)
            found = found.take(pa.array(np.repeat(np.arange(len(keys)), counts)))
        else:
            place = first
        return found.drop_columns([_KEY]).append_column(SOURCE, pa.array(self.numbers[place], pa.int64()))


def can_look_up(handle: TableHandle, source: DataFrame, on: OnCondition) -> bool:
    """Whether a condition compares one integer column with one of the source, of the same type."""
    if len(on.pairs) != 1:
        return False
    column, right = _pair(handle, on)
    return column.type_name in _TYPES and handle.column_types[column.name].dataType == source.schema[right].dataType


def _pair(handle: TableHandle, on: OnCondition) -> tuple[Field, str]:
    """The column of the table, and the name of the source's."""
    ((left, right),) = on.pairs.items()
    return handle.metadata.schema.top_level[left], right


def is_small(source: DataFrame) -> bool:
    """Whether the keys of a source can be collected; of one that has not been computed nobody knows."""
    rows = computed_rows(source)
    return rows is not None and rows <= _KEYS_AT_MOST


def build_lookup(handle: TableHandle, source: DataFrame, on: OnCondition) -> KeyLookup | None:
    """The keys of a source that `can_look_up`; None where they are too far apart for a bitmap."""
    column, right = _pair(handle, on)
    kind = source.schema[right].dataType
    key = F.col(quote(right))
    table = source.where(key.isNotNull()).select(key.cast("bigint").alias(_KEY), SOURCE).toArrow()
    keys, numbers = table[_KEY].to_numpy(), table[SOURCE].to_numpy()
    order = np.argsort(keys, kind="stable")
    bits = make_key_bits(handle.spark, keys[order], integer_sql(column, column.sql))
    if bits is None:
        return None
    within = write_range(column.name, kind.simpleString(), str(bits.low), str(bits.high))
    return KeyLookup(keys[order], numbers[order], bits, within, decides=on.is_complete)
