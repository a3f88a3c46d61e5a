"""Plain rows of changes, with or without a column for the operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import TimestampType

from rowdelta.cdc.records import (
    AT,
    BAD,
    DELETED,
    EXTRA,
    ORDER,
    RAW,
    SKIP,
    check_values,
    find_first_reason,
    write_row_as_json,
)
from rowdelta.errors import InputError
from rowdelta.spark import quote, try_cast

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.cdc.records import Shape


@dataclass(frozen=True)
class OpColumn:
    """Rows with the names of the table's columns.

    Attributes:
        op: The column with the operation; None if every row is an upsert.
        upserts: Its values for rows that are inserted or replaced, in upper or lower case.
        deletes: Its values for keys that are deleted.
        at: The column with the time of a change, for the lag in the progress.

    Examples:
        >>> reader = rd.cdc.OpColumn(op="kind", deletes=("gone",))
        >>> reader.aside, reader.upserts[:3]
        (('kind',), ('c', 'r', 'u'))
    """

    op: str | None = None
    upserts: tuple[str, ...] = ("c", "r", "u", "i", "insert", "update", "upsert")
    deletes: tuple[str, ...] = ("d", "delete")
    at: str | None = None

    @property
    def aside(self) -> tuple[str, ...]:
        """Columns of the source that only the reader uses."""
        return tuple(name for name in (self.op, self.at) if name is not None)

    def read(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Reads the records of a batch; see `Records.read`."""
        for name in (self.op, self.at):
            if name is not None and not shape.names.find(name, frame.columns):
                raise InputError(
                    f"the changes have no column {name!r}", hint=f"their columns are {', '.join(frame.columns)}"
                )
        op = F.lit(None).cast("string") if self.op is None else F.lower(F.col(quote(self.op)).cast("string"))
        tests: list[tuple[Column, str | Column]] = []
        if self.op is not None:
            is_unknown = ~F.coalesce(
                op.isin(*(value.lower() for value in (*self.upserts, *self.deletes))), F.lit(False)
            )
            value = F.coalesce(F.col(quote(self.op)).cast("string"), F.lit("null"))
            tests.append((is_unknown, F.concat(F.lit(f"unknown {self.op} "), value)))
        deleted = shape.test_delete(F.coalesce(op.isin(*(value.lower() for value in self.deletes)), F.lit(False)))
        tests += check_values(frame, shape, deleted)
        at = F.lit(None).cast(TimestampType()) if self.at is None else try_cast(F.col(quote(self.at)), TimestampType())
        return frame.select(
            "*",
            deleted.alias(DELETED),
            F.lit(None).cast("int").alias(ORDER),
            find_first_reason(*tests).alias(BAD),
            write_row_as_json().alias(RAW),
            at.alias(AT),
            F.lit(False).alias(SKIP),
            F.lit(False).alias(EXTRA),
        )
