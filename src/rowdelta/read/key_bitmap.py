"""Integer keys as one bitmap: looking a key up is faster than a join, and needs no broadcast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.spark import make_frame_from_arrow, parse_column, select_scalar

if TYPE_CHECKING:
    import numpy.typing as npt
    from pyspark.sql import Column, DataFrame, SparkSession

MOST_BYTES: Final = 8 << 20  # every task has them
MOST_BYTES_PER_KEY: Final = 48  # as many as a join needs
FEW_BYTES: Final = 128 << 10


@dataclass(frozen=True)
class KeyBits:
    """A set of keys.

    Attributes:
        frame: One row, with the words of the bitmap.
        key: The integer of a row's key, in SQL.
        low: The smallest key.
        high: The largest key.
        with_null: Whether the null key is among them.
    """

    frame: DataFrame
    key: str
    low: int
    high: int
    with_null: bool

    def remove_from(self, rows: DataFrame, max_broadcast_bytes: int) -> DataFrame:  # noqa: ARG002
        """Selects the rows that have none of the keys."""
        return rows.where(~self.test_key())

    def keep_in(self, rows: DataFrame, max_broadcast_bytes: int) -> DataFrame:  # noqa: ARG002
        """Selects the rows that have one of the keys."""
        return rows.where(self.test_key())

    def test_key(self) -> Column:
        """Whether a row has one of the keys, never null; the range of keys lets Spark skip files and row groups."""
        inside = parse_column(f"{self.key} BETWEEN {self.low}L AND {self.high}L")
        word = F.get(
            select_scalar(self.frame), parse_column(f"cast(shiftright({self.key}, 6) - {self.low >> 6}L as int)")
        )
        is_set = F.getbit(word, parse_column(f"cast({self.key} & 63 as int)")) == 1
        # Spark may evaluate the parts of an AND in any order, and the index of a key far outside the range overflows.
        hit = F.when(inside, is_set).otherwise(F.lit(False))
        return hit | parse_column(f"{self.key} IS NULL") if self.with_null else inside & hit


def make_key_bits(
    spark: SparkSession,
    keys: npt.NDArray[np.int64],
    key: str,
    *,
    with_null: bool = False,
    bytes_per_key: int = MOST_BYTES_PER_KEY,
) -> KeyBits | None:
    """Makes the bitmap of sorted keys; None if they are so far apart that it would be large.

    Args:
        spark: The session.
        keys: The keys, without null.
        key: The integer of a row's key, in SQL.
        with_null: Whether the null key is among them.
        bytes_per_key: How large the bitmap may be, within its limit for every task.
    """
    words = pack_bits(keys, bytes_per_key)
    if words is None:
        return None
    table = pa.table({"words": pa.ListArray.from_arrays(pa.array([0, len(words)], pa.int32()), pa.array(words))})
    return KeyBits(make_frame_from_arrow(spark, table), key, int(keys[0]), int(keys[-1]), with_null)


def pack_bits(keys: npt.NDArray[np.int64], bytes_per_key: int = MOST_BYTES_PER_KEY) -> npt.NDArray[np.int64] | None:
    """Packs sorted keys into words, from the word of the first key; None if there would be too many.

    Examples:
        >>> pack_bits(np.array([65, 130])).tolist()
        [2, 4]
    """
    count = (int(keys[-1]) >> 6) - (int(keys[0]) >> 6) + 1 if len(keys) else 0
    most = min(MOST_BYTES, max(FEW_BYTES, bytes_per_key * len(keys)))
    if not 0 < count <= most // 8:
        return None
    bits = np.zeros(count * 64, np.uint8)
    bits[keys - (keys[0] >> 6 << 6)] = 1
    return np.packbits(bits, bitorder="little").view(np.int64)
