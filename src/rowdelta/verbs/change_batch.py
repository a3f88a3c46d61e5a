"""A batch of changes, made to fit a table: the last change of each key, with the table's columns and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.change import find_default, fits_unchanged, make_row_error, refuse_null, store_typed_value, to_column
from rowdelta.choices import Tie, check_choice
from rowdelta.errors import InputError
from rowdelta.read import check_clashes
from rowdelta.spark import check_expression, columns_used, quote, sql_columns, where_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import Field, TableHandle

DELETED: Final = "__rd_deleted"
_ORDER: Final = "__rd_order"
_HASH: Final = "__rd_hash"
# By itself Spark's JSON has times to the millisecond.
EXACT_TIMES: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}
_NO_KEY: Final = "filter such changes out"
_TIE: Final = "let order_by tell them apart, or say tie='any' where it does not matter which wins"


@dataclass(frozen=True)
class ChangeRules:
    """How changes are to be understood.

    Attributes:
        key: The columns that identify a row.
        order_by: What grows from an older change of a key to a newer one in the batch; none where a key comes once.
        delete_when: Which changes delete their key.
        tie: What becomes of two different changes of a key that are equally new: `error`, or `any` of them wins.
        aside: Columns of the changes that do not belong into the table.
    """

    key: tuple[str, ...]
    order_by: tuple[str | Column, ...] = ()
    delete_when: str | Column | None = None
    tie: Tie = "error"
    aside: tuple[str, ...] = ()

    @staticmethod
    def of(
        key: str | Sequence[str],
        order_by: str | Column | Sequence[str | Column] | None,
        delete_when: str | Column | None,
        tie: Tie,
        aside: Sequence[str] = (),
    ) -> ChangeRules:
        """Rules from arguments that may be one thing or several."""
        names = (key,) if isinstance(key, str) else tuple(key)
        if order_by is None:
            return ChangeRules(names, (), delete_when, tie, tuple(aside))
        order = (order_by,) if isinstance(order_by, (str, Column)) else tuple(order_by)
        return ChangeRules(names, order, delete_when, tie, tuple(aside))

    def checked(self, handle: TableHandle) -> ChangeRules:
        """The same rules, once every text in them is known to be one whole expression."""
        for value in self.order_by:
            check_expression(handle.gateway, value, "order_by")
        if self.delete_when is not None:
            check_expression(handle.gateway, self.delete_when, "delete_when")
        return self


@dataclass(frozen=True)
class ChangeBatch:
    """Checked changes.

    Attributes:
        changes: Every change: columns named as in the table, `DELETED`, and what they are ordered by.
        missing: Columns of the table that the changes do not have.
    """

    handle: TableHandle
    changes: DataFrame
    missing: tuple[Field, ...]
    types: T.StructType
    key: tuple[str, ...]
    order: tuple[str, ...]
    tie: Tie

    def last(self, changes: DataFrame | None = None) -> DataFrame:
        """The last change of each key, out of all changes or a kept copy of them."""
        return _last(self.changes if changes is None else changes, self.key, self.order, self.tie)

    def rows(self, last: DataFrame, lineage: Sequence[str], only: Sequence[str] | None = None) -> DataFrame:
        """The rows to write, given one change of each key; they are new, so they have no lineage.

        Args:
            last: The changes.
            lineage: Columns that say so.
            only: The columns of the table to take, all of them by default.
        """
        have = last.schema
        values: list[str | Column] = []
        for column in self.handle.metadata.schema.fields:
            if only is not None and column.name not in only:
                continue
            want = self.types[column.name]
            if column in self.missing:
                value, kind = find_default(want), want.dataType
            elif fits_unchanged(column, have[column.name].dataType, want.dataType):
                values.append(quote(column.name))
                continue
            else:
                value, kind = F.col(quote(column.name)), have[column.name].dataType
            values.append(store_typed_value(self.handle, column, value, kind, want.dataType).alias(column.name))
        nothing = sql_columns([f"cast(NULL AS bigint) AS {name}" for name in lineage])
        return where_sql(last, f"NOT {DELETED}").select(*values, *nothing)


def bind_changes(
    handle: TableHandle, changes: DataFrame, rules: ChangeRules, only: Sequence[str] | None = None
) -> ChangeBatch:
    """Binds changes to the columns of a table.

    Args:
        handle: The table.
        changes: The changes.
        rules: How to understand them.
        only: The columns to take; left out, all of them, and then those that the table requires must be there.

    Raises:
        InputError: A column is unknown, or the key is missing, or the rules cannot be followed.
    """
    check_choice("tie", rules.tie, Tie)
    schema = handle.metadata.schema
    rule = handle.name_rule
    check_clashes(handle, handle.metadata.current_schema_id)
    key = [schema.find(name, rule).name for name in rules.key]
    order = [to_column(value) for value in rules.order_by]
    deletes = F.lit(False) if rules.delete_when is None else F.coalesce(to_column(rules.delete_when), F.lit(False))
    given = _by_table(handle, changes)[0]
    wanted = key if only is None else [schema.find(name, rule).name for name in only]
    check_present(handle, changes, [*key, *wanted])
    strangers = find_unknown_columns(handle, changes, rules)
    if strangers:
        raise InputError(
            f"{handle.name} has no column {', '.join(strangers)}",
            hint="drop it from the changes, use it in order_by or delete_when, or let merge_schema=True add it to the "
            "table",
        )
    taken = {name: quote(source) for name, source in given.items() if only is None or name in wanted}
    keys = {
        name: refuse_null(F.col(taken[name]), f"a change has no key: column {name!r} is null", _NO_KEY) for name in key
    }
    plain = [name for name in taken if name not in keys]
    others = dict(zip(plain, sql_columns([f"{taken[name]} AS {quote(name)}" for name in plain]), strict=True))
    frame = changes.select(
        *(keys[name].alias(name) if name in keys else others[name] for name in taken),
        deletes.alias(DELETED),
        *(value.alias(f"{_ORDER}{number}") for number, value in enumerate(order)),
    )
    missing = tuple(column for column in schema.fields if column.name not in given)
    required = [column.name for column in missing if column.required]
    if required and only is None:
        raise InputError(
            f"the changes have no column {', '.join(required)}, which the table requires",
            hint="add it, or use columns=[...] to set the others of rows that exist",
        )
    types = handle.column_types
    return ChangeBatch(
        handle, frame, missing, types, tuple(key), tuple(f"{_ORDER}{n}" for n in range(len(order))), rules.tie
    )


def check_present(handle: TableHandle, changes: DataFrame, names: Sequence[str]) -> None:
    """Refuses changes that lack one of some columns."""
    rule = handle.name_rule
    absent = [name for name in dict.fromkeys(names) if not rule.find(name, changes.columns)]
    if absent:
        raise InputError(
            f"the changes have no column {', '.join(absent)}",
            hint=f"their columns are {', '.join(changes.columns)}",
        )


def _by_table(handle: TableHandle, changes: DataFrame) -> tuple[dict[str, str], list[str]]:
    """The table's columns that the changes have, and the columns of the changes that the table does not have."""
    rule = handle.name_rule
    known = {rule.fold(column.name): column.name for column in handle.metadata.schema.fields}
    given: dict[str, str] = {}
    unknown = []
    for source in changes.columns:
        name = known.get(rule.fold(source))
        if name is None:
            unknown.append(source)
        elif name in given:
            raise InputError(f"the changes have more than one column {name!r}")
        else:
            given[name] = source
    return given, unknown


def find_unknown_columns(handle: TableHandle, changes: DataFrame, rules: ChangeRules) -> list[str]:
    """Columns of the changes that are neither in the table nor part of the rules."""
    rule = handle.name_rule
    unknown = [name for name in _by_table(handle, changes)[1] if not rule.find(name, rules.aside)]
    if not unknown:
        return []
    values = [to_column(value) for value in rules.order_by]
    values += [] if rules.delete_when is None else [to_column(rules.delete_when)]
    used = columns_used(changes, *values) if values else set()
    return [name for name in unknown if not rule.find(name, used)]


def _last(frame: DataFrame, key: Sequence[str], order: Sequence[str], tie: Tie) -> DataFrame:
    """The last change of each key. Copies of the same change are one; others that are equally new are a tie."""
    columns = [name for name in frame.columns if name not in order]
    newest = [F.col(name).desc_nulls_last() for name in order]
    of_key = Window.partitionBy(*(quote(name) for name in key))
    is_last = F.row_number().over(of_key.orderBy(*newest, F.col(_HASH))) == 1
    ranked = frame.withColumn(_HASH, _hash_of(frame, columns)).withColumn("__rd_last", is_last)
    if tie == "error":
        # Up to the newest there is what is equally new, and without an order all is.
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
    return ranked.select(*(F.col(quote(name)) for name in columns))


def _hash_of(frame: DataFrame, columns: Sequence[str]) -> Column:
    """A hash of a whole change.

    Spark's hash leaves nulls out, so they are hashed as well; and it knows no maps and variants, and leaves out nulls
    inside of structs and arrays, so these go through JSON.
    """
    values = []
    for name in columns:
        value = F.col(quote(name))
        if isinstance(frame.schema[name].dataType, (T.StructType, T.ArrayType, T.MapType, T.VariantType)):
            value = F.to_json(F.struct(value), EXACT_TIMES)
        values += [value, value.isNull()]
    return F.xxhash64(*values)
