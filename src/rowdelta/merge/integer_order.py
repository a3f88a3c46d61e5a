"""Compares the order of changes with that of rows in arrays: for integers, dates and timestamps, no join is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rowdelta.merge.matches import SOURCE
from rowdelta.spark import collect_arrow, parse_column

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_OLD: Final = "__rd_old"


@dataclass(frozen=True)
class IntegerOrder:
    """The columns of an order, each as SQL that gives an integer.

    Attributes:
        old: The columns of the table.
        new: The columns of the changes.
        dead: Whether a row of the table is a tombstone: 0 or 1. None if it has none.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    dead: Column | None = None

    @property
    def of_row(self) -> list[Column]:
        """The order of a row of the table, to be collected with it."""
        return [parse_column(f"{text} AS {_OLD}{number}") for number, text in enumerate(self.old)]

    def collect_new(self, changes: DataFrame) -> pa.Table:
        """Collects the order of all changes, with their numbers in `SOURCE`."""
        values = [parse_column(f"{text} AS new{number}") for number, text in enumerate(self.new)]
        table: pa.Table = collect_arrow(changes.select(SOURCE, *values))
        return table.sort_by(SOURCE)

    def find_stale(self, pairs: pa.Table, new: pa.Table) -> npt.NDArray[np.int32]:
        """Says of each pair whether its change is not newer than its row. A null is older than any value.

        Args:
            pairs: Rows of the table with `SOURCE` and their order.
            new: What `collect_new` has collected.
        """
        place = np.searchsorted(new[SOURCE].to_numpy(), pairs[SOURCE].to_numpy())
        newer = np.zeros(pairs.num_rows, bool)
        same = np.ones(pairs.num_rows, bool)
        for number in range(len(self.old)):
            old_known, old = _split(pairs[f"{_OLD}{number}"])
            new_known, new_values = (part[place] for part in _split(new[f"new{number}"]))
            newer |= same & ((new_known & ~old_known) | (new_known & old_known & (new_values > old)))
            same &= (new_known == old_known) & (~new_known | (new_values == old))
        return (~newer).astype(np.int32)

    def drop_old(self, pairs: pa.Table) -> pa.Table:
        """Drops the order of the rows."""
        return pairs.drop_columns([f"{_OLD}{number}" for number in range(len(self.old))])


def _split(column: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Splits a column into whether there is a value, and the values."""
    known = ~column.is_null().to_numpy() if column.null_count else np.ones(len(column), bool)
    return known, column.fill_null(0).to_numpy() if column.null_count else column.to_numpy()
