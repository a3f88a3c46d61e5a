"""`t.update()`: sets columns of the rows that match a predicate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rowdelta._deprecated import rename_arguments
from rowdelta.change import (
    REQUIRED_HINT,
    Operation,
    Plan,
    Result,
    Target,
    check_options,
    choose_locator,
    commit_rows,
    compute_assignments,
    describe_mode,
    estimate_scan,
    find_isolation,
    find_mode,
    make_empty_result,
    name_new_value,
    open_target,
    read_target_rows,
    select_updated_rows,
    stage_change,
    to_column,
    translate_row_errors,
)
from rowdelta.errors import InputError
from rowdelta.iceberg import build_row_filter, convert_filter
from rowdelta.read import find_matching_rows
from rowdelta.spark import cache_frame, check_expression, check_value, coalesce_by_size, plan_during_job, quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.change import Value
    from rowdelta.choices import Isolation, Mode
    from rowdelta.iceberg import RowFilter, TableHandle
    from rowdelta.read import Match


class Update(Operation[Result]):
    """Sets columns of the rows that match a predicate; without one, of all rows.

    Examples:
        >>> t.update().set("status", "'late'").where("status = 'new'").execute().rows_updated
        2
    """

    def __init__(
        self, handle: TableHandle, *, alias: str | None, mode: Mode | None, isolation: Isolation | None
    ) -> None:
        self._handle = handle
        self._alias = alias
        self._values: dict[str, str | Column] = {}
        self._given: dict[str, Value] = {}
        self._where: str | Column | None = None
        check_options(mode, isolation)
        self._given_mode, self._given_isolation = mode, isolation

    def set(self, column: str, value: Value) -> Update:
        """Sets a column, or a field of a struct by its dotted name.

        Args:
            column: The column.
            value: SQL text or a Column; it sees the row as it was before the update. A number, a date, a time, bytes or
                None is taken as it is; text is always SQL, so that a text value is quoted: `"'late'"`.

        Examples:
            >>> from pyspark.sql import functions as F
            >>> update = t.update().set("status", F.lit("late")).set("amount", "amount + 1").where("id = 2")
            >>> _ = update.execute()
            >>> t.read("id = 2").first()
            Row(id=2, status='late', amount=21.0)
        """
        if column in self._values:
            raise InputError(f"column {column!r} is set twice")
        self._given[column] = value
        self._values[column] = check_value(self._handle.gateway, value, f"the new value of {column!r}")
        return self

    @rename_arguments(condition="where")
    def where(self, where: str | Column) -> Update:
        """Updates only the rows that match; a second call narrows the first. `filter` is the same.

        Examples:
            >>> t.update().set("amount", "0").where("status = 'new'").filter("id > 1").execute().rows_updated
            1
        """
        checked = check_expression(self._handle.gateway, where, "the predicate")
        self._where = checked if self._where is None else to_column(self._where) & to_column(checked)
        return self

    filter = where

    def plan(self) -> Plan:
        """Says what would be set, how, and which files would be read."""
        self._check()
        target = self._open()
        title = f"update {self._handle.name}"
        texts = (f"{name} = {value if isinstance(value, str) else repr(value)}" for name, value in self._given.items())
        steps = (("set", ", ".join(texts)),)
        condition = self._bind()
        if target.snapshot is None:
            return Plan(title, (*steps, ("rows", "none: the table is empty")))
        mode = describe_mode(self._handle, self._mode, self._mode_reason, self._isolation)
        return Plan(title, (*steps, *mode, *estimate_scan(self._handle, target.snapshot.id, condition)))

    def execute(self) -> Result:
        """Updates in one snapshot; commits nothing if no row matches."""
        self._check()
        started = time.monotonic()
        target = self._open()
        if target.files is None:
            self._bind()
            return make_empty_result(started)

        rows = read_target_rows(target, self._alias, with_ids=True)
        locator = choose_locator(target, rows)
        match = self._find_rows(target, rows)
        values = compute_assignments(self._handle, rows, self._values, self._alias)
        new = [value.alias(name_new_value(name)) for name, value in values.items()]
        old = [quote(name) for name in target.columns if name not in values] + target.updated_lineage
        marked = locator.mark(rows if match is None else match.rows, [*old, *new])

        with translate_row_errors(REQUIRED_HINT), cache_frame(marked) as matched:
            touched, (new_rows, condition) = plan_during_job(
                self._handle.gateway,
                lambda: locator.collect(matched),
                lambda: (select_updated_rows(target, matched, values), self._find_condition(match)),
            )
            if not touched:
                return make_empty_result(started)
            paths = [file.path for file in touched]
            validation = target.build_validation(condition, self._isolation, paths, updates=True)
            change = stage_change(target, self._mode, touched, coalesce_by_size(new_rows, matched), validation)
            updated = sum(len(file.positions) for file in touched)
            return commit_rows(self._handle, change, started, updated=updated)

    def _open(self) -> Target:
        """Opens the table; its newest properties say how it is changed if the caller does not."""
        target = open_target(self._handle)
        self._mode, self._mode_reason = find_mode(self._handle, "update", self._given_mode)
        self._isolation = find_isolation(self._handle, "update", self._given_isolation)
        return target

    def _find_rows(self, target: Target, rows: DataFrame) -> Match | None:
        """Finds the rows that match the predicate; None without a predicate."""
        if self._where is None:
            return None
        return find_matching_rows(
            self._handle,
            rows,
            self._where,
            self._alias,
            reread=lambda skipping: read_target_rows(target, self._alias, with_ids=True, skipping=skipping),
        )

    def _find_condition(self, match: Match | None) -> RowFilter:
        """Translates the predicate to Iceberg's terms."""
        if match is not None and match.condition is not None:
            return match.condition
        return convert_filter(self._handle, None if match is None else match.rows)

    def _bind(self) -> RowFilter:
        """Checks the predicate and the values without reading a row; returns the predicate in Iceberg's terms."""
        rows = self._handle.spark.table(self._handle.full_name)
        rows = rows if self._alias is None else rows.alias(self._alias)
        compute_assignments(self._handle, rows, self._values, self._alias)
        return build_row_filter(self._handle, self._where, self._alias)

    def _check(self) -> None:
        if not self._values:
            raise InputError("nothing is set", hint="call .set(column, value) before .execute()")
