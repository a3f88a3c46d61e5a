"""Applies batches of a change feed to another table, exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.cdc.batch_marks import BatchMark, find_last_number
from rowdelta.errors import CommitConflictError, InputError
from rowdelta.feed import FEED_COLUMNS
from rowdelta.iceberg import mark_commits
from rowdelta.read import MAX_BROADCAST_BYTES, read_live_frame
from rowdelta.spark import parse_column, quote
from rowdelta.verbs import ChangeRules, Upsert

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.cdc.feed_checkpoint import FeedBatch
    from rowdelta.iceberg import TableHandle

_TYPE: Final = FEED_COLUMNS[0]
_IS_NEW: Final = f"{_TYPE} IN ('insert', 'update_postimage')"
_TRIES: Final = 3


@dataclass
class FeedTarget:
    """A table that gets the changes of another one.

    Attributes:
        handle: The table; nothing else commits through this object.
        key: The columns that identify a row in both tables.
        stream_id: The mark of its commits.
        follower_id: The checkpoint that numbers the batches.
    """

    handle: TableHandle
    key: tuple[str, ...]
    stream_id: str
    follower_id: str

    def has(self, batch: FeedBatch) -> bool:
        """Whether the table has a batch already.

        Raises:
            InputError: The last batch is of another checkpoint.
        """
        self.handle.refresh()
        last = find_last_number(self.handle, self.stream_id, self.follower_id)
        return last is not None and batch.batch_id <= last

    def apply(self, changes: DataFrame, batch: FeedBatch) -> None:
        """Applies the net changes of a batch in one commit."""
        mark = BatchMark(self.stream_id, self.follower_id, batch.batch_id)
        for left in reversed(range(_TRIES)):
            upsert = Upsert(self.handle, self._prepare(changes, batch), self._rules)
            try:
                with mark_commits(self.handle, mark.on_commit):
                    upsert.execute()
            except CommitConflictError:
                if not left:
                    raise
                self.handle.refresh()
            else:
                return

    @property
    def _rules(self) -> ChangeRules:
        # The old row of an update is a delete of its key, unless the same key has a new row.
        return ChangeRules.from_arguments(self.key, _IS_NEW, f"NOT ({_IS_NEW})", "error", aside=(_TYPE,))

    def _prepare(self, changes: DataFrame, batch: FeedBatch) -> DataFrame:
        """Selects one row for each change; a delete has only its key, so that copies of it are equal."""
        key = [self.handle.name_rule.find(name, changes.columns) for name in self.key]
        missing = [name for name, found in zip(self.key, key, strict=True) if len(found) != 1]
        if missing:
            raise InputError(f"the changes have no column {missing[0]!r}, which is a key", hint="add it to columns=")
        keys = [name for (name,) in key]
        values = [
            F.col(quote(name)) if name in keys else F.when(parse_column(_IS_NEW), F.col(quote(name))).alias(name)
            for name in changes.columns
            if name not in FEED_COLUMNS
        ]
        rows = changes.select(*values, _TYPE)
        if not batch.is_reload or batch.start is None:
            return rows
        return rows.unionByName(self._find_gone(rows, keys), allowMissingColumns=True)

    def _find_gone(self, rows: DataFrame, keys: list[str]) -> DataFrame:
        """Finds the keys of the target that a reload does not have."""
        mine = read_live_frame(self.handle, MAX_BROADCAST_BYTES).select(*map(quote, keys)).alias("mine")
        same = [F.col(f"mine.{quote(name)}").eqNullSafe(F.col(f"theirs.{quote(name)}")) for name in keys]
        gone = mine.join(rows.select(*map(quote, keys)).alias("theirs"), same, "left_anti")
        return gone.distinct().withColumn(_TYPE, F.lit("delete"))
