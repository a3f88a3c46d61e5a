"""A batch of changes, bound to a table: the last change of each key, with the table's columns and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.change import find_default, fits_unchanged, make_row_error, refuse_null, store_typed_value, to_column
from rowdelta.choices import Tie, check_choice
from rowdelta.errors import InputError
from rowdelta.merge import DELETED, SOURCE
from rowdelta.read import check_clashes
from rowdelta.spark import check_expression, find_columns_used, parse_columns, quote, where_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import Field, TableHandle

UNSENT: Final = "__rd_unsent"
_ORDER: Final = "__rd_order"
_HASH: Final = "__rd_hash"
# By default, Spark's JSON has times to the millisecond.
EXACT_TIMES: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}
_HASHED_AS_JSON: Final = ("struct", "array", "map", "variant")
_NO_KEY: Final = "filter such changes out"
_TIE: Final = "add a column to order_by that distinguishes them, or use tie='any' if either may win"


@dataclass(frozen=True)
class ChangeRules:
    """How to read changes.

    Attributes:
        key: The columns that identify a row.
        order_by: What grows from an older change of a key to a newer one; empty if a key occurs once in the batch.
        delete_when: Which changes delete their key.
        tie: What happens to two different changes of a key that are equally new: `error`, or `any` of them wins.
        aside: Columns of the changes that do not belong to the table.
        unsent: The names of the columns that a change does not carry, as an array; null or empty if it has all.
    """

    key: tuple[str, ...]
    order_by: tuple[str | Column, ...] = ()
    delete_when: str | Column | None = None
    tie: Tie = "error"
    aside: tuple[str, ...] = ()
    unsent: str | Column | None = None

    @staticmethod
    def from_arguments(
        key: str | Sequence[str],
        order_by: str | Column | Sequence[str | Column] | None,
        delete_when: str | Column | None,
        tie: Tie,
        *,
        aside: Sequence[str] = (),
        unsent: str | Column | None = None,
    ) -> ChangeRules:
        """Makes rules of arguments that may be one value or several."""
        names = (key,) if isinstance(key, str) else tuple(key)
        order = () if order_by is None else (order_by,) if isinstance(order_by, (str, Column)) else tuple(order_by)
        return ChangeRules(names, order, delete_when, tie, tuple(aside), unsent)

    def check_expressions(self, handle: TableHandle) -> ChangeRules:
        """Returns the rules after checking that every text in them is one whole expression."""
        for value in self.order_by:
            check_expression(handle.gateway, value, "order_by")
        if self.delete_when is not None:
            check_expression(handle.gateway, self.delete_when, "delete_when")
        if self.unsent is not None:
            check_expression(handle.gateway, self.unsent, "unsent")
        return self


@dataclass(frozen=True)
class ChangeBatch:
    """Changes whose columns are bound to those of a table.

    Attributes:
        changes: All changes: columns named as in the table, `DELETED`, and the values of `order_by`.
        missing: Columns of the table that the changes do not have.
    """

    handle: TableHandle
    changes: DataFrame
    missing: tuple[Field, ...]
    types: T.StructType
    key: tuple[str, ...]
    order: tuple[str, ...]
    tie: Tie

    def select_last(self, changes: DataFrame | None = None, *, keep_order: bool = False) -> DataFrame:
        """Selects the last change of each key, from all changes or a cached copy of them.

        Args:
            changes: The copy; it may have numbers, which are dropped.
            keep_order: Whether to keep the values of `order_by`.
        """
        frame = (self.changes if changes is None else changes).drop(SOURCE)
        return _select_last(frame, self.key, self.order, self.tie, keep_order=keep_order)

    def select_rows(self, last: DataFrame, lineage: Sequence[str], only: Sequence[str] | None = None) -> DataFrame:
        """Selects the rows to write from one change of each key.

        Args:
            last: The changes.
            lineage: The lineage columns, which are null in new rows, unless the changes have them.
            only: The columns of the table to select; by default, all of them.
        """
        given = last.schema
        values: list[str | Column] = []
        for column in self.handle.metadata.schema.fields:
            if only is not None and column.name not in only:
                continue
            want = self.types[column.name]
            if column.name not in given.names:
                value, have = find_default(want), want.dataType
            elif fits_unchanged(column, given[column.name].dataType, want.dataType):
                values.append(quote(column.name))
                continue
            else:
                value, have = F.col(quote(column.name)), given[column.name].dataType
            values.append(store_typed_value(self.handle, column, value, have, want.dataType).alias(column.name))
        kept = set(last.columns)
        ids = parse_columns([name if name in kept else f"cast(NULL AS bigint) AS {name}" for name in lineage])
        return where_sql(last, f"NOT {DELETED}").select(*values, *ids)


def bind_changes(
    handle: TableHandle, changes: DataFrame, rules: ChangeRules, only: Sequence[str] | None = None
) -> ChangeBatch:
    """Binds changes to the columns of a table.

    Args:
        handle: The table.
        changes: The changes.
        rules: How to read them.
        only: The columns to bind; by default, all of them, and the changes must have those that the table requires.

    Raises:
        InputError: A column is unknown, the key is missing, or the rules cannot be applied.
    """
    check_choice("tie", rules.tie, Tie)
    schema = handle.metadata.schema
    rule = handle.name_rule
    check_clashes(handle, handle.metadata.current_schema_id)
    key = [schema.find(name, rule).name for name in rules.key]
    order = [to_column(value) for value in rules.order_by]
    deletes = F.lit(False) if rules.delete_when is None else F.coalesce(to_column(rules.delete_when), F.lit(False))
    given = _match_columns(handle, changes)[0]
    wanted = key if only is None else [schema.find(name, rule).name for name in only]
    check_present(handle, changes, [*key, *wanted])
    unknown = find_unknown_columns(handle, changes, rules)
    if unknown:
        raise InputError(
            f"{handle.name} has no column {', '.join(unknown)}",
            hint="drop it from the changes, use it in order_by or delete_when, or let merge_schema=True add it to the "
            "table",
        )
    taken = {name: quote(source) for name, source in given.items() if only is None or name in wanted}
    keys = {
        name: refuse_null(F.col(taken[name]), f"a change has no key: column {name!r} is null", _NO_KEY) for name in key
    }
    plain = [name for name in taken if name not in keys]
    others = dict(zip(plain, parse_columns([f"{taken[name]} AS {quote(name)}" for name in plain]), strict=True))
    frame = changes.select(
        *(keys[name].alias(name) if name in keys else others[name] for name in taken),
        deletes.alias(DELETED),
        *(value.alias(f"{_ORDER}{number}") for number, value in enumerate(order)),
        *([] if rules.unsent is None else [to_column(rules.unsent).alias(UNSENT)]),
    )
    missing = tuple(column for column in schema.fields if column.name not in given)
    required = [column.name for column in missing if column.required]
    if required and only is None:
        raise InputError(
            f"the changes have no column {', '.join(required)}, which the table requires",
            hint="add it, or use columns=[...] to set only the other columns of existing rows",
        )
    types = handle.column_types
    return ChangeBatch(
        handle, frame, missing, types, tuple(key), tuple(f"{_ORDER}{n}" for n in range(len(order))), rules.tie
    )


def check_present(handle: TableHandle, changes: DataFrame, names: Sequence[str]) -> None:
    """Refuses changes that lack a column."""
    rule = handle.name_rule
    absent = [name for name in dict.fromkeys(names) if not rule.find(name, changes.columns)]
    if absent:
        raise InputError(
            f"the changes have no column {', '.join(absent)}",
            hint=f"their columns are {', '.join(changes.columns)}",
        )


def _match_columns(handle: TableHandle, changes: DataFrame) -> tuple[dict[str, str], list[str]]:
    """Matches columns by name: the source of each column of the table, and columns that the table does not have."""
    rule = handle.name_rule
    by_name = {rule.fold(column.name): column.name for column in handle.metadata.schema.fields}
    given: dict[str, str] = {}
    unknown = []
    for source in changes.columns:
        name = by_name.get(rule.fold(source))
        if name is None:
            unknown.append(source)
        elif name in given:
            raise InputError(f"the changes have more than one column {name!r}")
        else:
            given[name] = source
    return given, unknown


def find_unknown_columns(handle: TableHandle, changes: DataFrame, rules: ChangeRules) -> list[str]:
    """Finds columns of the changes that are neither in the table nor used by the rules."""
    rule = handle.name_rule
    unknown = [name for name in _match_columns(handle, changes)[1] if not rule.find(name, rules.aside)]
    if not unknown:
        return []
    values = [to_column(value) for value in rules.order_by]
    values += [to_column(value) for value in (rules.delete_when, rules.unsent) if value is not None]
    used = find_columns_used(changes, *values) if values else set()
    return [name for name in unknown if not rule.find(name, used)]


def _select_last(
    frame: DataFrame, key: Sequence[str], order: Sequence[str], tie: Tie, *, keep_order: bool
) -> DataFrame:
    """Selects the last change of each key. Equal changes count as one; others that are equally new are a tie."""
    columns = [name for name in frame.columns if name not in order]
    newest = [F.col(name).desc_nulls_last() for name in order]
    of_key = Window.partitionBy(*(quote(name) for name in key))
    is_last = F.row_number().over(of_key.orderBy(*newest, F.col(_HASH))) == 1
    ranked = frame.withColumn(_HASH, _hash_change(frame, columns)).withColumn("__rd_last", is_last)
    if tie == "error":
        # For the newest change, the window holds those that are equally new; without an order, all of them.
        equally_new = of_key.orderBy(*newest) if newest else of_key
        tied = F.max(_HASH).over(equally_new) != F.col(_HASH)
        ranked = ranked.withColumn("__rd_tied", F.col("__rd_last") & tied)
        named = F.concat_ws(", ", *(F.col(quote(name)).cast("string") for name in key))
        message = make_row_error(
            f"two different changes of one key are equally new ({', '.join(key)} = ", named, ")", hint=_TIE
        )
        ranked = ranked.where(F.when(F.col("__rd_tied"), message.cast("boolean")).otherwise(F.col("__rd_last")))
    else:
        ranked = ranked.where("__rd_last")
    return ranked.select(*(F.col(quote(name)) for name in (frame.columns if keep_order else columns)))


def _hash_change(frame: DataFrame, columns: Sequence[str]) -> Column:
    """Hashes a whole change.

    Spark's hash skips nulls, so whether a value is null is hashed as well. Inside structs and arrays it skips them too,
    and it does not support maps and variants: these are hashed as JSON.
    """
    values = []
    for name in columns:
        value = F.col(quote(name))
        if frame.schema[name].dataType.typeName() in _HASHED_AS_JSON:
            value = F.to_json(F.struct(value), EXACT_TIMES)
        values += [value, value.isNull()]
    return F.xxhash64(*values)
