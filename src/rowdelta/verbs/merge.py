"""`t.merge()`: updates, deletes and inserts rows of the table by the rows of a source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rowdelta._deprecated import rename_arguments
from rowdelta.change import (
    Operation,
    Plan,
    Result,
    check_frame,
    find_isolation,
    find_mode,
)
from rowdelta.errors import InputError
from rowdelta.merge import (
    BY_SOURCE,
    MATCHED,
    NOT_MATCHED,
    Clause,
    MergeSpec,
    execute_merge,
    parse_on_condition,
    plan_merge,
    select_clauses,
)
from rowdelta.spark import check_expression, check_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.change import Value
    from rowdelta.choices import Isolation, Mode
    from rowdelta.iceberg import TableHandle


class Merge(Operation[Result]):
    """Merges a source into the table. The first clause that applies to a row wins.

    Examples:
        >>> last = changes.where("seq > 1")  # one change of each key
        >>> merge = t.merge(last, on="id").when_matched_delete("s.op = 'D'").when_matched_update_all()
        >>> print(merge.plan())
        merge into lake.db.orders
          when       matched and s.op = 'D': delete
          when       matched: update all
          mode       merge-on-read (write.merge.mode is not set, and writing deletes costs least)
          encoding   deletion-vector, one for each data file touched: the table is of format version 3
          isolation  serializable
          filter     (id >= 1 and id <= 7)
          files      1 to scan, 0 pruned
          rows       4 in these files
          bytes      ...
    """

    def __init__(
        self,
        handle: TableHandle,
        source: DataFrame,
        on: str | Column | Sequence[str],
        aliases: tuple[str, str],
        *,
        mode: Mode | None,
        isolation: Isolation | None,
    ) -> None:
        check_frame(source, "the source")
        self._handle = handle
        self._source = source
        self._aliases = aliases
        self._on = parse_on_condition(handle, on, source, aliases)
        self._clauses: list[Clause] = []
        self._mode, self._mode_reason = find_mode(handle, "merge", mode)
        self._isolation = find_isolation(handle, "merge", isolation)

    @rename_arguments(condition="where")
    def when_matched_update(self, values: Mapping[str, Value], where: str | Column | None = None) -> Merge:
        """Sets columns of a row that the source matches.

        Examples:
            >>> merge = t.merge(changes.where("seq = 2"), on="id")
            >>> merge.when_matched_update({"amount": "t.amount + s.amount"}).execute().rows_updated
            1
        """
        return self._add(Clause(MATCHED, "update", where), values)

    @rename_arguments(condition="where")
    def when_matched_update_all(self, where: str | Column | None = None) -> Merge:
        """Sets every column of a matched row from the source's column of the same name.

        Examples:
            >>> merge = t.merge(changes.where("op = 'U'").where("seq = 2"), on="id")
            >>> merge.when_matched_update_all("t.status <> s.status").execute().rows_updated
            1
        """
        return self._add(Clause(MATCHED, "update", where))

    @rename_arguments(condition="where")
    def when_matched_delete(self, where: str | Column | None = None) -> Merge:
        """Deletes a matched row.

        Examples:
            >>> t.merge(changes, on="id").when_matched_delete().execute().rows_deleted
            2
        """
        return self._add(Clause(MATCHED, "delete", where))

    @rename_arguments(condition="where")
    def when_not_matched_insert(self, values: Mapping[str, Value], where: str | Column | None = None) -> Merge:
        """Inserts a row for each row of the source that matches none; other columns get their default, or null.

        Examples:
            >>> merge = t.merge(changes, on="id").when_not_matched_insert({"id": "s.id", "status": "'late'"})
            >>> _ = merge.execute()
            >>> t.read("id = 7").first()
            Row(id=7, status='late', amount=None)
        """
        return self._add(Clause(NOT_MATCHED, "insert", where), values)

    @rename_arguments(condition="where")
    def when_not_matched_insert_all(self, where: str | Column | None = None) -> Merge:
        """Inserts each row of the source that matches none; columns correspond by name.

        Examples:
            >>> t.merge(changes, on="id").when_not_matched_insert_all("s.op <> 'D'").execute().rows_inserted
            1
        """
        return self._add(Clause(NOT_MATCHED, "insert", where))

    @rename_arguments(condition="where")
    def when_not_matched_by_source_update(
        self, values: Mapping[str, Value], where: str | Column | None = None
    ) -> Merge:
        """Sets columns of a row that no row of the source matches.

        Examples:
            >>> merge = t.merge(changes, on="id")
            >>> merge.when_not_matched_by_source_update({"amount": "0"}, "t.status = 'void'").execute().rows_updated
            1
        """
        return self._add(Clause(BY_SOURCE, "update", where), values)

    @rename_arguments(condition="where")
    def when_not_matched_by_source_delete(self, where: str | Column | None = None) -> Merge:
        """Deletes a row that no row of the source matches.

        Examples:
            >>> t.merge(changes, on="id").when_not_matched_by_source_delete().execute().rows_deleted
            2
        """
        return self._add(Clause(BY_SOURCE, "delete", where))

    def _add(self, clause: Clause, values: Mapping[str, Value] | None = None) -> Merge:
        gateway, when = self._handle.gateway, f"when {clause.when}"
        condition = clause.condition
        if condition is not None:
            condition = check_expression(gateway, condition, f"the condition of '{when}'")
        checked = None
        if values is not None:
            named = f"{when}, the value of"
            checked = {name: check_value(gateway, value, f"{named} {name!r}") for name, value in values.items()}
        self._clauses.append(replace(clause, condition=condition, values=checked))
        return self

    def plan(self) -> Plan:
        """Says what would be done, and which files would be read."""
        return plan_merge(self._complete())

    def execute(self) -> Result:
        """Merges in one snapshot; commits nothing if no clause applies to a row."""
        return execute_merge(self._complete())

    def _complete(self) -> MergeSpec:
        """Checks the clauses, and returns the complete description of the merge."""
        self._check_clauses()
        return MergeSpec(
            self._handle,
            self._source,
            self._on,
            self._aliases,
            tuple(self._clauses),
            self._mode,
            self._mode_reason,
            self._isolation,
        )

    def _check_clauses(self) -> None:
        if not self._clauses:
            raise InputError("the merge has no clause", hint="add one: .when_matched_update_all()")
        for rows in (MATCHED, NOT_MATCHED, BY_SOURCE):
            clauses = [clause for _, clause in select_clauses(self._clauses, rows)]
            early = [clause for clause in clauses[:-1] if clause.condition is None]
            if early:
                raise InputError(
                    f"the clause '{early[0]}' has no condition, so the clauses after it are never reached",
                    hint="give it a condition, or put it last",
                )
