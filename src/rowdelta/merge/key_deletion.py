"""Deletes all rows with given keys by position."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import NULL_KEY_HINT, bind_keys, describe_mode, open_target, translate_row_errors
from rowdelta.merge.key_replacement import Replacement, replace_by_key
from rowdelta.merge.wanted_keys import bind_wanted_keys, describe_lookup, number_rows
from rowdelta.spark import cache_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.choices import Scope
    from rowdelta.encoding import Lane
    from rowdelta.iceberg import TableHandle
    from rowdelta.merge.wanted_keys import WantedKeys


@dataclass(frozen=True)
class KeyDeletion:
    """Deletes by key.

    Attributes:
        handle: The table.
        keys: The keys of the caller, in which a key may occur more than once.
        key: The columns of the key.
        scope: With `partition`, only rows in the partition of their key are deleted.
        lane: Why the rows are looked up.
    """

    handle: TableHandle
    keys: DataFrame
    key: str | Sequence[str]
    scope: Scope
    lane: Lane

    def plan_steps(self) -> tuple[tuple[str, str], ...]:
        """Counts the keys, and says which files would be read."""
        with ExitStack() as caches:
            count, wanted = self._find_keys(caches)
        return (
            ("key", ", ".join(column.name for column in wanted.columns)),
            ("keys", f"{count:,}"),
            ("lane", f"resolve: the rows are looked up ({self.lane.reason})"),
            *describe_mode(self.handle, "merge-on-read", "rows are deleted by position", "serializable"),
            *describe_lookup(self.handle, wanted),
        )

    def execute(self) -> tuple[int, Replacement]:
        """Deletes in one snapshot, and returns the number of distinct keys with what was committed.

        The caller has refreshed the table.
        """
        target = open_target(self.handle, refresh=False)
        with ExitStack() as caches:
            count, wanted = self._find_keys(caches)
            return count, replace_by_key(target, wanted, lambda *_: None)

    def _find_keys(self, caches: ExitStack) -> tuple[int, WantedKeys]:
        """Counts the distinct keys, and makes them ready to be looked up."""
        caches.enter_context(translate_row_errors(NULL_KEY_HINT))
        keys = self._select_keys()
        wanted = self._bind(caches.enter_context(cache_frame(number_rows(keys))))
        if wanted.is_decided_by_lookup:  # that a key occurs twice does not matter to a bitmap
            distinct = wanted.drop_repeated_keys()
            assert distinct.keys.lookup is not None
            return len(distinct.keys.lookup.keys), distinct
        numbered = caches.enter_context(cache_frame(number_rows(keys.distinct())))
        return numbered.count(), self._bind(numbered)

    def _bind(self, keys: DataFrame) -> WantedKeys:
        return bind_wanted_keys(self.handle, keys, self.key, self.scope, deletes="all")

    def _select_keys(self) -> DataFrame:
        """Selects the key and the sources of its partition, with the types of the table."""
        bound = bind_keys(self.handle, self.keys, self.key, self.scope)
        values = {column.name: f"k{index}" for index, column in enumerate(bound.columns)}
        values |= {column.name: f"s{index}" for index, column in enumerate(bound.sources) if column.name not in values}
        return bound.frame.select(*(F.col(short).alias(name) for name, short in values.items()))
