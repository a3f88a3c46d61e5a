"""`t.delete()`: deletes the rows that match a predicate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rowdelta.change import (
    Operation,
    Plan,
    Result,
    Target,
    check_options,
    choose_locator,
    commit_rows,
    describe_mode,
    describe_without_deletes,
    estimate_scan,
    find_isolation,
    find_mode,
    make_empty_result,
    open_target,
    read_target_rows,
    stage_change,
)
from rowdelta.iceberg import RowChange, build_row_filter, convert_filter, find_whole_files
from rowdelta.read import Match, find_matching_rows
from rowdelta.spark import check_expression

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rowdelta.choices import Isolation, Mode
    from rowdelta.iceberg import RowFilter, TableHandle


class Delete(Operation[Result]):
    """Deletes the rows that match a predicate; without one, all rows."""

    def __init__(
        self,
        handle: TableHandle,
        where: str | Column | None,
        *,
        alias: str | None,
        mode: Mode | None,
        isolation: Isolation | None,
    ) -> None:
        self._handle = handle
        self._where = None if where is None else check_expression(handle.gateway, where, "the predicate")
        self._alias = alias
        check_options(mode, isolation)
        self._given_mode, self._given_isolation = mode, isolation

    def plan(self) -> Plan:
        """Says how rows would be deleted, and which files would be read."""
        target = self._open()
        condition = self._bind_predicate()
        title = f"delete from {self._handle.name}"
        if target.snapshot is None:
            return Plan(title, (("rows", "none: the table is empty"),))
        drops = find_whole_files(self._handle, target.snapshot.id, condition) is not None
        if drops:
            steps = describe_without_deletes("metadata alone (every row of these files matches)", self._isolation)
        else:
            steps = describe_mode(self._handle, self._mode, self._mode_reason, self._isolation)
        return Plan(title, (*steps, *estimate_scan(self._handle, target.snapshot.id, condition, drops=drops)))

    def execute(self) -> Result:
        """Deletes in one snapshot; commits nothing if no row matches."""
        started = time.monotonic()
        target = self._open()
        if target.snapshot is None or target.files is None:
            self._bind_predicate()  # a wrong predicate is an error in an empty table, too
            return make_empty_result(started)

        # Live rows need the keys of equality deletes, which are not read if whole files can be dropped.
        match = None if target.files.equality_deletes else self._find_rows(target)
        condition = self._find_condition(match)
        whole = find_whole_files(self._handle, target.snapshot.id, condition)
        if whole is not None:
            return self._drop_files(target, condition, whole.files, whole.records, started)

        rows = (match or self._find_rows(target, condition)).rows
        touched = choose_locator(target, rows).find(rows)
        if not touched:
            return make_empty_result(started)
        validation = target.build_validation(condition, self._isolation, [file.path for file in touched], updates=False)
        change = stage_change(target, self._mode, touched, None, validation)
        deleted = sum(len(file.positions) for file in touched)
        return commit_rows(self._handle, change, started, deleted=deleted)

    def _open(self) -> Target:
        """Opens the table; its newest properties say how it is changed if the caller does not."""
        target = open_target(self._handle)
        self._mode, self._mode_reason = find_mode(self._handle, "delete", self._given_mode)
        self._isolation = find_isolation(self._handle, "delete", self._given_isolation)
        return target

    def _find_rows(self, target: Target, condition: RowFilter | None = None) -> Match:
        rows = read_target_rows(target, self._alias)
        if self._where is None:
            return Match(rows, condition)
        return find_matching_rows(
            self._handle,
            rows,
            self._where,
            self._alias,
            reread=lambda skipping: read_target_rows(target, self._alias, skipping=skipping),
            condition=condition,
        )

    def _find_condition(self, match: Match | None) -> RowFilter:
        """Translates the predicate to Iceberg's terms, from the plan of the rows if there is one."""
        if match is None or self._where is None:
            return self._bind_predicate()
        return convert_filter(self._handle, match.rows) if match.condition is None else match.condition

    def _bind_predicate(self) -> RowFilter:
        return build_row_filter(self._handle, self._where, self._alias)

    def _drop_files(self, target: Target, condition: RowFilter, files: int, records: int, started: float) -> Result:
        """Drops whole files; their live rows are counted only if nothing was deleted before."""
        if files == 0:
            return make_empty_result(started)
        assert target.files is not None
        clean = not target.files.position_deletes and not target.files.equality_deletes
        validation = target.build_validation(condition, self._isolation, [], updates=False)
        change = RowChange(whole_files=condition, validation=validation)
        return commit_rows(self._handle, change, started, deleted=records if clean else None)
