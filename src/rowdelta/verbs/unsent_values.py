"""Values that a change does not carry: they are taken from earlier changes of the batch, or else from the old row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from rowdelta.change import make_row_error, store_typed_value
from rowdelta.errors import InputError
from rowdelta.merge import DELETED, SOURCE, read_old_values
from rowdelta.spark import quote
from rowdelta.verbs.change_batch import UNSENT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.merge import KeyMatches, WantedKeys
    from rowdelta.verbs.change_batch import ChangeBatch

_REBORN: Final = "__rd_reborn"
_LIFE: Final = "__rd_life"
_OLD: Final = "__rd_old"
_HINT: Final = "send whole rows (REPLICA IDENTITY FULL in PostgreSQL), or filter such changes out"


@dataclass(frozen=True)
class UnsentValues:
    """The columns that some change of a batch does not carry.

    Attributes:
        batch: The batch.
        names: The columns.
    """

    batch: ChangeBatch
    names: tuple[str, ...]

    def take_from_earlier_changes(self, changes: DataFrame) -> DataFrame:
        """Fills values from earlier changes of the same key, back to the last one that deletes it."""
        key = [quote(name) for name in self.batch.key]
        order = [F.col(name).asc_nulls_first() for name in self.batch.order] or [F.lit(0)]
        life = F.sum(F.col(DELETED).cast("int")).over(Window.partitionBy(*key).orderBy(*order))
        since = Window.partitionBy(*key, _LIFE).orderBy(*order)
        changes = self._add_missing_columns(changes).withColumn(_LIFE, life)
        known = {
            name: F.last(F.when(~F.col(DELETED) & ~_lacks(name), F.struct(quote(name))), ignorenulls=True).over(since)
            for name in self.names
        }
        changes = changes.withColumns({f"{_OLD}{number}": known[name] for number, name in enumerate(self.names)})
        values, still = {}, []
        for number, name in enumerate(self.names):
            earlier = F.col(f"{_OLD}{number}")
            values[name] = F.when(_lacks(name), earlier[name]).otherwise(F.col(quote(name)))
            still.append(F.when(_lacks(name) & earlier.isNull(), F.lit(name)))
        values[UNSENT] = F.array_compact(F.array(*still))
        values[_REBORN] = F.col(_LIFE) > 0
        return changes.withColumns(values).drop(_LIFE, *(f"{_OLD}{number}" for number in range(len(self.names))))

    def take_from_old_rows(self, rows: DataFrame, wanted: WantedKeys, matches: KeyMatches | None) -> DataFrame:
        """Fills values from the rows that the changes replace; a change without such a row is an error."""
        types = self.batch.handle.column_types
        rows, lacks_any = self._add_missing_columns(rows), F.size(UNSENT) > 0
        if matches is None:
            rows = rows.withColumn(_OLD, F.lit(None).cast(T.StructType([types[name] for name in self.names])))
        else:
            old = read_old_values(matches, wanted, lacks_any, self.names, _OLD)
            rows = rows.join(old, SOURCE, "left")
        named = F.concat_ws(", ", *(F.col(quote(name)).cast("string") for name in self.batch.key))
        reborn = F.col(_REBORN) if _REBORN in rows.columns else F.lit(False)
        values = {}
        for name in self.names:
            error = make_row_error(
                f"a change does not carry column {name!r}, and there is no old row to take it from "
                f"({', '.join(self.batch.key)} = ",
                named,
                ")",
                hint=_HINT,
            )
            want = types[name].dataType
            missing = F.col(_OLD).isNull() | reborn
            old_value = F.when(missing, error).otherwise(F.col(_OLD)[name])
            column = replace(self.batch.handle.metadata.schema.top_level[name], required=False)
            have = rows.schema[name].dataType
            sent = store_typed_value(self.batch.handle, column, F.col(quote(name)), have, want)
            values[name] = F.when(_lacks(name) & ~F.col(DELETED), old_value).otherwise(sent)
        return rows.withColumns(values).drop(_OLD, UNSENT, _REBORN)

    def _add_missing_columns(self, changes: DataFrame) -> DataFrame:
        """Adds the columns that no change carries, without values."""
        types = self.batch.handle.column_types
        missing = [name for name in self.names if name not in changes.columns]
        return changes.withColumns({name: F.lit(None).cast(types[name].dataType) for name in missing})


def find_unsent(batch: ChangeBatch, changes: DataFrame) -> UnsentValues | None:
    """Finds the columns that some change does not carry, in a cached frame; None if there is none.

    Raises:
        InputError: A name is not a column of the table, or belongs to the key.
    """
    # One row in any case: Spark drops a plan that turns out empty, and with it what a stream observes of its records.
    found = changes.agg(F.collect_set(UNSENT).alias("names")).collect()[0]["names"]
    names = tuple(sorted({name for some in found for name in some}))
    if not names:
        return None
    columns = [column.name for column in batch.handle.metadata.schema.fields]
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise InputError(
            f"unsent names {unknown[0]!r}, which is not a column of {batch.handle.name}",
            hint=f"its columns are {', '.join(columns)}",
        )
    keys = [name for name in names if name in batch.key]
    if keys:
        raise InputError(f"a change does not carry the key column {keys[0]!r}", hint="every change needs its key")
    return UnsentValues(batch, names)


def _lacks(name: str) -> Column:
    return F.coalesce(F.array_contains(UNSENT, name), F.lit(False))
