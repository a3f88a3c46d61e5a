"""What every source of changes is turned into: records that fit a table, or that say why they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql import types as T  # noqa: N812

DELETED: Final = "_rd_deleted"
ORDER: Final = "_rd_order"
BAD: Final = "_rd_bad"
RAW: Final = "_rd_raw"
AT: Final = "_rd_at"
SKIP: Final = "_rd_skip"
EXTRA: Final = "_rd_extra"
HELPERS: Final = (DELETED, ORDER, BAD, RAW, AT, SKIP, EXTRA)


@dataclass(frozen=True)
class Shape:
    """What a reader must know of the table: its columns, and which of them are the key."""

    types: T.StructType
    key: tuple[str, ...]

    @property
    def required(self) -> list[str]:
        """Columns that may not be null."""
        return [column.name for column in self.types.fields if not column.nullable]


class Records(Protocol):
    """Turns a batch of a source into records."""

    @property
    def aside(self) -> tuple[str, ...]:
        """Columns of the source that serve the reader alone."""

    def read(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Records of a batch.

        Returns:
            Columns of the table, then `_rd_deleted` (the key is deleted), `_rd_order` (grows from change to change),
            `_rd_bad` (why the record is refused, else null), `_rd_raw` (the record as it came), `_rd_at` (when the
            change happened), `_rd_skip` (nothing to do, such as a tombstone) and `_rd_extra` (a second change that
            comes out of the same record).
        """


def first_reason(*tests: tuple[Column, str | Column]) -> Column:
    """The reason of the first test that holds, or null."""
    reason = F.lit(None).cast("string")
    for condition, text in reversed(tests):
        message = F.lit(text) if isinstance(text, str) else text
        reason = F.when(F.coalesce(condition, F.lit(False)), message).otherwise(reason)
    return reason


def null_in(columns: Sequence[str], values: dict[str, Column]) -> list[tuple[Column, str]]:
    """One test for each column that may not be null."""
    return [(values[name].isNull(), f"column {name!r} is null") for name in columns if name in values]
