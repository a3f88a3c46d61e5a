"""Which rows of a source match which rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle
    from rowdelta.merge.condition import OnCondition


@dataclass(frozen=True)
class Matching:
    """A table, a source, and the condition that compares their rows.

    Attributes:
        handle: The table.
        source: The rows to compare with those of the table.
        on: When a row of the source matches a row of the table.
        aliases: The names of the table and the source in conditions and values.
    """

    handle: TableHandle
    source: DataFrame
    on: OnCondition
    aliases: tuple[str, str]

    @property
    def keeps_all_rows(self) -> bool:
        """Whether rows of the table that match nothing are wanted, too."""
        return False
