"""An upsert that sets only some columns: the others keep their values, so it reads the old rows, as a merge does."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import REQUIRED_HINT, find_isolation, find_mode, translate_row_errors
from rowdelta.merge import (
    DELETED,
    MATCHED,
    NOT_MATCHED,
    Clause,
    MergeSpec,
    execute_merge,
    parse_on_condition,
    plan_merge,
)
from rowdelta.spark import cache_frame, quote
from rowdelta.verbs.change_batch import bind_changes
from rowdelta.verbs.upsert_result import UpsertResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle
    from rowdelta.verbs.change_batch import ChangeBatch, ChangeRules


@dataclass(frozen=True)
class PartialUpsert:
    """Sets some columns by key.

    Attributes:
        handle: The table, or a draft of it.
        changes: The changes.
        rules: How to read them.
        columns: The columns to set.
    """

    handle: TableHandle
    changes: DataFrame
    rules: ChangeRules
    columns: tuple[str, ...]

    def plan_steps(self) -> tuple[tuple[str, str], ...]:
        """Returns the steps of the plan, which are those of a merge."""
        merge = self._to_merge(self._bind().select_last())
        reason = f"a merge: to set {', '.join(self.columns)} alone, the old rows must be read"
        with translate_row_errors(REQUIRED_HINT):
            return (("how", reason), *plan_merge(merge).steps)

    def execute(self, check: Callable[[], None], started: float) -> UpsertResult:
        """Merges the last change of each key; calls `check` before anything is written."""
        batch = self._bind()
        with translate_row_errors(REQUIRED_HINT), cache_frame(batch.select_last()) as last:
            counts = last.agg(F.count("*"), F.count_if(DELETED)).head()
            assert counts is not None
            check()
            result = execute_merge(self._to_merge(last))
        return replace(
            UpsertResult(**{**result.to_dict(), "seconds": time.monotonic() - started}),
            rows_written=(result.rows_inserted or 0) + (result.rows_updated or 0),
            keys=counts[0],
            keys_deleted=counts[1],
            resolved=True,
            reasons=("only some columns are set, so the old rows were read",),
        )

    def rehearse(self) -> None:
        """Computes all rows without writing them, so that any error in the changes is raised."""
        names = [self.handle.find_column(name).name for name in self._names]
        batch = self._bind(names)
        with translate_row_errors(REQUIRED_HINT):
            batch.select_rows(batch.select_last(), [], names).write.format("noop").mode("overwrite").save()
            plan_merge(self._to_merge(batch.select_last()))

    @property
    def _names(self) -> list[str]:
        """The key and the columns to set."""
        return list(dict.fromkeys([*self.rules.key, *self.columns]))

    def _bind(self, names: list[str] | None = None) -> ChangeBatch:
        return bind_changes(self.handle, self.changes, self.rules, names or self._names)

    def _to_merge(self, last: DataFrame) -> MergeSpec:
        """Makes the merge that deletes, updates or inserts each key by its last change."""
        handle, aliases = self.handle, ("t", "s")
        schema, rule = handle.metadata.schema, handle.name_rule
        key = [schema.find(name, rule).name for name in self.rules.key]
        columns = [schema.find(name, rule).name for name in self.columns]
        deleted = F.col(f"s.{quote(DELETED)}")
        values = {name: F.col(f"s.{quote(name)}") for name in dict.fromkeys([*key, *columns])}
        updated = {name: value for name, value in values.items() if name not in key}
        clauses = (
            Clause(MATCHED, "delete", deleted),
            Clause(MATCHED, "update", None, updated),
            Clause(NOT_MATCHED, "insert", ~deleted, values),
        )
        on = parse_on_condition(handle, key, last, aliases)
        mode, mode_reason = find_mode(handle, "merge", None)
        isolation = find_isolation(handle, "merge", None)
        return MergeSpec(handle, last, on, aliases, clauses, mode, mode_reason, isolation)
