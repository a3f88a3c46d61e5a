"""Keys to look up in a table, and the join that finds their rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import and_
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import bind_keys, estimate_scan, write_partition_sql
from rowdelta.iceberg import build_row_filter
from rowdelta.merge.candidates import SourceKeys, collect_source_keys
from rowdelta.merge.condition import OnCondition
from rowdelta.merge.matches import SOURCE
from rowdelta.merge.matching import Matching
from rowdelta.spark import collect_arrow, parse_column, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from rowdelta.change import KeyInput
    from rowdelta.choices import Scope
    from rowdelta.iceberg import Field, TableHandle
    from rowdelta.merge.integer_order import IntegerOrder

TABLE: Final = "t"
CHANGE: Final = "s"
DELETED: Final = "__rd_deleted"
Deletes: TypeAlias = Literal["none", "some", "all"]


@dataclass(frozen=True)
class WantedKeys:
    """Keys to look up.

    Attributes:
        matching: How rows of the table match them. Its source has the keys and `SOURCE`, and all keys differ.
        keys: Their range, and a bitmap of them if there can be one.
        columns: The columns of the key.
        deletes: Which changes delete their key: `none`, `all`, or `some`, those with `DELETED`.
        details: What is wanted of each row that is found, by name: values of `TABLE` and `CHANGE`.
        order: How `STALE`, one of the details, is found without a join, if it can be.
    """

    matching: Matching
    keys: SourceKeys
    columns: tuple[Field, ...]
    deletes: Deletes
    details: Mapping[str, Column] = field(default_factory=dict)
    order: IntegerOrder | None = None

    @cached_property
    def deleted_numbers(self) -> npt.NDArray[np.int64]:
        """The numbers of the changes that delete their key, if these are some."""
        if self.deletes != "some":
            return np.zeros(0, np.int64)
        deleted = self.matching.source.where(F.col(DELETED)).select(SOURCE)
        numbers: npt.NDArray[np.int64] = collect_arrow(deleted)[SOURCE].to_numpy()
        return numbers

    def are_distinct(self) -> bool:
        """Whether every key occurs once. Without a bitmap, a job counts them: far cheaper than to rank whole rows."""
        lookup = self.keys.lookup
        if lookup is not None:
            return not np.any(lookup.keys[1:] == lookup.keys[:-1])
        names = [f"k{index}" for index in range(len(self.columns))]
        return self.matching.source.groupBy(*names).count().where("count > 1").isEmpty()

    @property
    def is_decided_by_lookup(self) -> bool:
        """Whether the bitmap alone finds the rows, and what is wanted of them, without a join."""
        lookup = self.keys.lookup
        return lookup is not None and lookup.decides and (not self.details or self.order is not None)

    @cached_property
    def new_order(self) -> pa.Table:
        """The order of the changes, for `order`."""
        assert self.order is not None
        return self.order.collect_new(self.matching.source)

    def drop_repeated_keys(self) -> WantedKeys:
        """Keeps one change of each key in the bitmap's table of changes."""
        lookup = self.keys.lookup
        assert lookup is not None
        keys, first = np.unique(lookup.keys, return_index=True)
        return replace(self, keys=replace(self.keys, lookup=replace(lookup, keys=keys, numbers=lookup.numbers[first])))


def bind_wanted_keys(
    handle: TableHandle,
    changes: DataFrame,
    key: str | Sequence[str],
    scope: Scope,
    *,
    deletes: Deletes,
    details: Mapping[str, Column] | None = None,
    order: IntegerOrder | None = None,
    may_be_null: bool = True,
) -> WantedKeys:
    """Checks keys against a table, and collects them or their range.

    Args:
        handle: The table.
        changes: A cached frame with the key columns and `SOURCE`; with `DELETED`, if some changes delete; and with what
            `details` uses, under names that start with `__rd_`.
        key: The columns of the key.
        scope: With `partition`, only rows in the partition of their key match.
        deletes: Which changes delete their key.
        details: What is wanted of each row that is found, by name.
        order: How `STALE` is found without a join, if it can be.
        may_be_null: Whether a key may be null.
    """
    bound = bind_keys(handle, changes, key, scope, keep=[name for name in changes.columns if name.startswith("__rd_")])
    optional = [name for name, column in zip(bound.key_names, bound.columns, strict=True) if not column.required]
    nulls = [F.col(name).isNull() for name in optional if may_be_null]
    has_null = any(bound.frame.agg(*(F.bool_or(null) for null in nulls)).collect()[0]) if nulls else False
    on = _match_keys(handle, bound, has_null=has_null, in_partition=scope == "partition")
    matching = Matching(handle, bound.frame, on, (TABLE, CHANGE))
    keys = collect_source_keys(matching, bound.frame)
    return WantedKeys(matching, keys, bound.columns, deletes, details or {}, order)


def _match_keys(handle: TableHandle, bound: KeyInput, *, has_null: bool, in_partition: bool) -> OnCondition:
    """Compares all columns of the key; a null equals a null, as in an equality delete."""
    compared: list[Column] = []
    pairs: dict[str, str] = {}
    for name, column in zip(bound.key_names, bound.columns, strict=True):
        left, right = F.col(f"{TABLE}.{quote(column.name)}"), F.col(f"{CHANGE}.{name}")
        compared.append(left.eqNullSafe(right) if has_null else left == right)
        pairs[column.name] = name
    inside = in_partition and not bound.spec.is_unpartitioned
    if inside:
        by_id = handle.metadata.schema.by_id
        for part, name in zip(bound.spec.fields, bound.partition_names, strict=True):
            if part.transform != "void":
                source = f"{TABLE}.{quote(by_id[part.source_id].name)}"
                value = parse_column(write_partition_sql(handle, part.transform, source))
                compared.append(value.eqNullSafe(F.col(f"{CHANGE}.{name}")))
    return OnCondition(reduce(and_, compared), {} if has_null else pairs, is_complete=not inside)


def number_rows(changes: DataFrame) -> DataFrame:
    """Gives every row a number, by which its matches refer to it; the frame must be cached."""
    return changes.withColumn(SOURCE, F.monotonically_increasing_id())


def describe_lookup(handle: TableHandle, wanted: WantedKeys) -> tuple[tuple[str, str], ...]:
    """Says which files a lookup would read."""
    head = handle.snapshot()
    if head is None:
        return (("scan", "none: the table is empty"),)
    within = wanted.keys.range
    return estimate_scan(handle, head.id, build_row_filter(handle, None if within is None else parse_column(within)))
