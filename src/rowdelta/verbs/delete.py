"""`t.delete()`: rows are deleted where a predicate holds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rowdelta.change import (
    Operation,
    Plan,
    Result,
    Target,
    choose_locator,
    commit_rows,
    describe_mode,
    describe_without_deletes,
    estimate_scan,
    find_isolation,
    find_mode,
    open_target,
    read_target_rows,
    rewrite_files,
    write_positions,
)
from rowdelta.iceberg import RowChange, build_row_filter, filter_of, whole_files
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
        self._mode, self._why = find_mode(handle, "delete", mode)
        self._isolation = find_isolation(handle, "delete", isolation)

    def plan(self) -> Plan:
        """Says how the delete would be done, and which files it would read."""
        target = open_target(self._handle)
        condition = build_row_filter(self._handle, self._where, self._alias)
        title = f"delete from {self._handle.name}"
        if target.snapshot is None:
            return Plan(title, (("rows", "none: the table is empty"),))
        drops = whole_files(self._handle, target.snapshot.id, condition) is not None
        if drops:
            steps = describe_without_deletes("metadata alone (every row of these files matches)", self._isolation)
        else:
            steps = describe_mode(self._handle, self._mode, self._why, self._isolation)
        return Plan(title, (*steps, *estimate_scan(self._handle, target.snapshot.id, condition, drops=drops)))

    def execute(self) -> Result:
        """Deletes in one snapshot; where nothing matches there is none."""
        started = time.monotonic()
        target = open_target(self._handle)
        if target.snapshot is None:
            build_row_filter(self._handle, self._where, self._alias)  # a wrong predicate is refused all the same
            return Result(seconds=time.monotonic() - started)
        assert target.files is not None
        # Live rows need the keys of equality deletes, which are read for nothing where whole files go.
        found = None if target.files.equality_deletes else self._matched(target)
        condition = None if found is None else found.condition
        if found is None or self._where is None:
            condition = build_row_filter(self._handle, self._where, self._alias)
        elif condition is None:
            condition = filter_of(self._handle, found.rows)
        whole = whole_files(self._handle, target.snapshot.id, condition)
        if whole is not None:
            return self._drop_files(target, condition, whole.files, whole.records, started)
        matched = (self._matched(target, condition) if found is None else found).rows
        places = choose_locator(target, matched)
        touched = places.find(matched)
        deleted = sum(len(file.positions) for file in touched)
        if not touched:
            return Result(seconds=time.monotonic() - started)
        validation = target.validation(condition, self._isolation, [file.path for file in touched], updates=False)
        if self._mode == "copy-on-write":
            change = rewrite_files(target, touched, None, validation)
        else:
            change = write_positions(self._handle, target.files, touched).change(validation)
        return commit_rows(self._handle, change, started, deleted=deleted)

    def _matched(self, target: Target, condition: RowFilter | None = None) -> Match:
        rows = read_target_rows(target, self._alias)
        if self._where is None:
            return Match(rows, condition)
        return find_matching_rows(
            self._handle,
            rows,
            self._where,
            self._alias,
            again=lambda skipping: read_target_rows(target, self._alias, skipping=skipping),
            condition=condition,
        )

    def _drop_files(self, target: Target, condition: RowFilter, files: int, records: int, started: float) -> Result:
        """Drops whole files; how many live rows they had is known only where nothing was deleted before."""
        if files == 0:
            return Result(seconds=time.monotonic() - started)
        assert target.files is not None
        clean = not target.files.position_deletes and not target.files.equality_deletes
        validation = target.validation(condition, self._isolation, [], updates=False)
        change = RowChange(whole_files=condition, validation=validation)
        return commit_rows(self._handle, change, started, deleted=records if clean else None)
