"""Keeps the newest state of each key: a late change is ignored, and a deleted key may leave a tombstone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import store_typed_value
from rowdelta.choices import Tombstones, check_choice
from rowdelta.errors import InputError
from rowdelta.merge import CHANGE, DEAD, DELETED, STALE, TABLE, IntegerOrder
from rowdelta.read import is_integer, write_integer_sql
from rowdelta.spark import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import Field, TableHandle
    from rowdelta.verbs.change_batch import ChangeBatch, ChangeRules


TOMBSTONE_COLUMN: Final = "is_deleted"


@dataclass(frozen=True)
class NewestRows:
    """How changes are compared with rows of the table.

    Attributes:
        handle: The table.
        order: The columns whose values grow from an older change to a newer one.
        tombstone: The boolean column that marks a deleted key; None if the row of a deleted key goes.
    """

    handle: TableHandle
    order: tuple[Field, ...]
    tombstone: str | None = None

    @property
    def needs_rows(self) -> str:
        """The argument that needs the rows of the table."""
        return "keep_newer=True"

    def compare(self, batch: ChangeBatch) -> dict[str, Column]:
        """Says of a row (`TABLE`) whether it is as new as the change of its key (`CHANGE`), and whether it is live.

        A null is older than any value, and NaN is newer, as in `order_by`.
        """
        old = F.struct(*(F.col(f"{TABLE}.{quote(column.name)}") for column in self.order))
        new = F.struct(*(F.col(f"{CHANGE}.{name}") for name in batch.order))
        compared = {STALE: (~(new > old)).cast("int")}
        if self.tombstone is not None:
            compared[DEAD] = _test_tombstone(f"{TABLE}.{quote(self.tombstone)}")
        return compared

    def compare_integers(self, batch: ChangeBatch) -> IntegerOrder | None:
        """Does the same without a join, if every column of the order is an integer, a date or a timestamp."""
        if not all(is_integer(column) for column in self.order):
            return None
        old = tuple(write_integer_sql(column, column.sql) for column in self.order)
        new = tuple(write_integer_sql(column, name) for column, name in zip(self.order, batch.order, strict=True))
        return IntegerOrder(old, new, None if self.tombstone is None else _test_tombstone(quote(self.tombstone)))

    def cast_order(self, batch: ChangeBatch, changes: DataFrame) -> DataFrame:
        """Casts the values of `order_by` to the types of the table's columns, in which they are compared."""
        values = {}
        for name, column in zip(batch.order, self.order, strict=True):
            have, want = changes.schema[name].dataType, self.handle.column_types[column.name].dataType
            values[name] = store_typed_value(self.handle, column, F.col(name), have, want)
        return changes.withColumns(values)

    def add_tombstone_column(self, changes: DataFrame) -> DataFrame:
        """Adds the column for tombstones to changes that do not have it, so that the table may require it."""
        if self.tombstone is None or self.handle.name_rule.find(self.tombstone, changes.columns):
            return changes
        return changes.withColumn(self.tombstone, F.lit(False))

    def bury(self, batch: ChangeBatch, changes: DataFrame) -> DataFrame:
        """Turns changes that delete into tombstones: rows with the key and its order, and nulls where possible."""
        if self.tombstone is None:
            return changes
        kept = {*batch.key, *(column.name for column in self.order)}
        columns = [c for c in self.handle.metadata.schema.fields if c.name in changes.columns]
        emptied = [column.name for column in columns if not column.required and column.name not in kept]
        deleted = F.col(DELETED)
        values = {name: F.when(~deleted, F.col(quote(name))) for name in emptied}
        return changes.withColumns({**values, self.tombstone: deleted, DELETED: F.lit(False)})


def _test_tombstone(column: str) -> Column:
    return F.coalesce(F.col(column), F.lit(False)).cast("int")


def read_newest_rows(
    handle: TableHandle, rules: ChangeRules, *, keep_newer: bool, tombstones: Tombstones, tombstone_column: str
) -> NewestRows | None:
    """Reads the arguments that compare changes with the table; None if changes are not compared.

    Raises:
        InputError: `order_by` does not name columns of the table, or the column for tombstones does not fit.
    """
    check_choice("tombstones", tombstones, Tombstones)
    if not keep_newer:
        if tombstones == "keep":
            raise InputError(
                "tombstones='keep' keeps deleted keys, but without keep_newer=True no change is compared with them",
                hint="use keep_newer=True as well",
            )
        return None
    if not rules.order_by:
        raise InputError(
            "keep_newer=True compares changes with rows of the table, but order_by is missing",
            hint="order_by='lsn', for a column of the table that grows with every change",
        )
    column = _find_tombstone_column(handle, rules, tombstone_column) if tombstones == "keep" else None
    return NewestRows(handle, _find_order(handle, rules.order_by), column)


def check_whole_rows(columns: Sequence[str] | None, rules: ChangeRules, *, keep_newer: bool) -> None:
    """Refuses to compare or complete rows of which only some columns are set.

    Raises:
        InputError: The arguments contradict each other.
    """
    if columns is not None and (keep_newer or rules.unsent is not None):
        named = "keep_newer=True" if keep_newer else "unsent="
        raise InputError(
            f"columns=[...] sets some columns of a row, and {named} replaces whole rows", hint="omit one of them"
        )


def _find_order(handle: TableHandle, order_by: Sequence[str | Column]) -> tuple[Field, ...]:
    schema, rule = handle.metadata.schema, handle.name_rule
    names = [column.name for column in schema.fields]
    for value in order_by:
        if not isinstance(value, str) or not rule.find(value, names):
            raise InputError(
                f"keep_newer=True needs columns of {handle.name} in order_by, and {value} is not one",
                hint=f"store the order in the table; its columns are {', '.join(names)}",
            )
    return tuple(schema.find(str(value), rule) for value in order_by)


def _find_tombstone_column(handle: TableHandle, rules: ChangeRules, name: str) -> str:
    schema = handle.metadata.schema
    names = handle.name_rule.find(name, [column.name for column in schema.fields])
    if not names:
        raise InputError(
            f"tombstones='keep' needs a boolean column {name!r}, and {handle.name} has none",
            hint=f"ALTER TABLE {handle.name} ADD COLUMN {quote(name)} boolean, or name another in tombstone_column",
        )
    column = schema.find(name, handle.name_rule)
    if column.type_name != "boolean":
        raise InputError(
            f"column {column.name!r} of {handle.name} is {column.type_name}, and a tombstone needs a boolean",
            hint="name another column in tombstone_column",
        )
    if rules.delete_when is None:
        raise InputError(
            "tombstones='keep' marks deleted keys, but no change deletes",
            hint="say which changes delete: delete_when=\"op = 'D'\"",
        )
    return column.name
