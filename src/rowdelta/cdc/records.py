"""Records, the common form of all sources of changes: each fits the table, or has the reason why it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.cdc.value_checks import find_misfit
from rowdelta.errors import InputError
from rowdelta.spark import ANY_CASE, NameRule, quote
from rowdelta.verbs import EXACT_TIMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

DELETED: Final = "_rd_deleted"
ORDER: Final = "_rd_order"
BAD: Final = "_rd_bad"
RAW: Final = "_rd_raw"
AT: Final = "_rd_at"
SKIP: Final = "_rd_skip"
EXTRA: Final = "_rd_extra"
# Columns that a change does not carry, by name; only records that may lack some have it.
UNSENT: Final = "_rd_unsent"
HELPERS: Final = (DELETED, ORDER, BAD, RAW, AT, SKIP, EXTRA)


@dataclass(frozen=True)
class Shape:
    """What a reader needs to know about the table.

    Attributes:
        types: Its columns.
        key: The columns that identify a row.
        grows: Whether columns are widened to the types of the changes.
        delete_when: The caller's predicate for deletes, in addition to those of the format.
        names: When two names of columns are equal.
        order: Columns of the table that changes are compared by, also with rows of the table; every change needs them.
        takes_unsent: Whether values that a change does not carry are taken from the old row.
    """

    types: T.StructType
    key: tuple[str, ...]
    grows: bool = False
    delete_when: str | Column | None = field(default=None, compare=False)  # Spark's columns cannot be compared
    names: NameRule = ANY_CASE
    order: tuple[str, ...] = ()
    takes_unsent: bool = False

    @property
    def required(self) -> list[str]:
        """Columns that must not be null."""
        return [column.name for column in self.types.fields if not column.nullable]

    def test_delete(self, of_format: Column) -> Column:
        """Tests for a delete: by the format, or by the caller's predicate."""
        return of_format if self.delete_when is None else of_format | select_deletes(self.delete_when)


def select_deletes(delete_when: str | Column) -> Column:
    """Tests the caller's predicate for deletes; null counts as false."""
    return F.coalesce(F.expr(delete_when) if isinstance(delete_when, str) else delete_when, F.lit(False))


class Records(Protocol):
    """Converts batches of a source to records. `format=` of `rd.cdc.stream()` takes an implementation.

    Examples:
        >>> reader: rd.cdc.Records = rd.cdc.OpColumn(op="op", at="ts")
        >>> reader.aside
        ('op', 'ts')
    """

    @property
    def aside(self) -> tuple[str, ...]:
        """Columns of the source that only the reader uses.

        Examples:
            >>> rd.cdc.OpColumn(op="op").aside
            ('op',)
        """

    def read(self, frame: DataFrame, shape: Shape) -> DataFrame:
        """Reads the records of a batch.

        Returns:
            Columns of the table, then `_rd_deleted` (the key is deleted), `_rd_order` (grows from change to change),
            `_rd_bad` (why the record is refused, else null), `_rd_raw` (the record as it arrived), `_rd_at` (the time
            of the change), `_rd_skip` (nothing to do, such as a tombstone) and `_rd_extra` (a second change from the
            same record). If `shape.takes_unsent`, also `_rd_unsent`, where a change may lack columns: their names, as
            an array.

        Examples:
            >>> from rowdelta.cdc.records import Shape
            >>> records = rd.cdc.OpColumn(op="op").read(changes, Shape(t.read().schema, key=("id",)))
            >>> records.columns[-7:]
            ['_rd_deleted', '_rd_order', '_rd_bad', '_rd_raw', '_rd_at', '_rd_skip', '_rd_extra']
        """


def write_row_as_json() -> Column:
    """Writes a typed row as a JSON object, with times to the microsecond."""
    return F.to_json(F.struct("*"), EXACT_TIMES)


def find_first_reason(*tests: tuple[Column, str | Column]) -> Column:
    """Returns the reason of the first test that holds, or null."""
    reason = F.lit(None).cast("string")
    for condition, text in reversed(tests):
        message = F.lit(text) if isinstance(text, str) else text
        reason = F.when(F.coalesce(condition, F.lit(False)), message).otherwise(reason)
    return reason


def check_nulls(columns: Sequence[str], values: dict[str, Column]) -> list[tuple[Column, str]]:
    """Returns a test for each column that must not be null."""
    return [(values[name].isNull(), f"column {name!r} is null") for name in columns if name in values]


def check_values(frame: DataFrame, shape: Shape, deleted: Column) -> list[tuple[Column, str | Column]]:
    """Returns tests of typed rows: for nulls in required columns, and for values that do not fit their columns.

    Args:
        frame: The rows, with the names of the table's columns.
        shape: The table.
        deleted: Whether a row is a delete, so that only its key counts.
    """
    fold = shape.names.fold
    by_folded = {fold(name): name for name in frame.columns}
    names = [column.name for column in shape.types.fields if fold(column.name) in by_folded]
    sources = {name: by_folded[fold(name)] for name in names}
    values = {name: F.col(quote(source)) for name, source in sources.items()}
    tests: list[tuple[Column, str | Column]] = [*check_nulls(shape.key, values)]
    others = [name for name in shape.required if name not in shape.key]
    tests += [(~deleted & test, reason) for test, reason in check_nulls(others, values)]
    for name, source in sources.items():
        have, want = frame.schema[source].dataType, shape.types[name].dataType
        test = None if shape.grows and _widens(want, have) else find_misfit(values[name], have, want, shape.names)
        if test is None:
            continue
        value = values[name] if isinstance(want, T.NumericType) else F.to_json(values[name])
        reason = F.concat(F.lit(f"column {name!r} is {want.simpleString()}, but the value is "), value)
        tests.append((test if name in (*shape.key, *shape.order) else ~deleted & test, reason))
    return tests


def refuse_unordered(records: DataFrame, shape: Shape) -> DataFrame:
    """Refuses records without any value to order them by: compared with a row, they would count as older than it.

    Raises:
        InputError: The records do not have such a column.
    """
    nothing = F.lit(True)
    for name in shape.order:
        found = shape.names.find(name, records.columns)
        if not found:
            raise InputError(
                f"the changes have no column {name!r}, which order_by compares with rows of the table",
                hint=f"their columns are {', '.join(column for column in records.columns if column not in HELPERS)}",
            )
        nothing &= F.col(quote(found[0])).isNull()
    reason = f"{' and '.join(shape.order)} is null, so the change cannot be compared with the row in the table"
    unordered = F.when(~F.col(SKIP) & nothing, reason)
    return records.withColumn(BAD, F.coalesce(F.col(BAD), unordered))


def _widens(column: T.DataType, changes: T.DataType) -> bool:
    return (column.simpleString(), changes.simpleString()) in {("int", "bigint"), ("float", "double")}
