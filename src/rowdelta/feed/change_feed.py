"""Reads the change feed of a table between two states as a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from rowdelta.change import ROW_ID
from rowdelta.choices import Images, check_choice
from rowdelta.errors import InputError, TableError
from rowdelta.feed.comparison import write_comparable
from rowdelta.feed.file_changes import compare_files, read_files
from rowdelta.feed.pairing import CHANGE, ID, SIGN, STEP, name_single, pair_rows
from rowdelta.feed.row_changes import RowReader
from rowdelta.feed.snapshot_range import find_snapshot, plan_steps
from rowdelta.read import build_live_rows, check_clashes
from rowdelta.spark import check_expression, parse_column, quote, quote_path, select_sql, where_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from rowdelta.feed.file_changes import FileChanges
    from rowdelta.feed.snapshot_range import State, Step
    from rowdelta.iceberg import Field, Schema, Snapshot, TableHandle

CHANGE_TYPE: Final = "_change_type"
COMMIT_ID: Final = "_commit_snapshot_id"
COMMIT_TIME: Final = "_commit_timestamp"
ORDINAL: Final = "_change_ordinal"
FEED_COLUMNS: Final = (CHANGE_TYPE, COMMIT_ID, COMMIT_TIME, ORDINAL)
_OURS: Final = "__rd_"


@dataclass(frozen=True)
class ChangeRequest:
    """What to read of the changes.

    Attributes:
        columns: The columns, by name; all by default.
        where: The rows to read.
        key: The columns that pair updates of rows without ids; by default, the table's identifier fields.
        images: Which rows of an update to return.
        net: Whether to combine all commits of the range.
    """

    columns: Sequence[str] | str | None = None
    where: str | Column | None = None
    key: str | Sequence[str] | None = None
    images: Images = "all"
    net: bool = False


def read_changes(
    handle: TableHandle, start: State | None, end: State | None, request: ChangeRequest, *, lasting: bool = True
) -> DataFrame:
    """Reads the changes between two states.

    Args:
        handle: The table, refreshed.
        start: The older state, as a snapshot id, a time or a tag; None for an empty table.
        end: The newer state; None for the head of the handle's branch.
        request: What to read.
        lasting: Whether the frame must outlive the current action of the handle.
    """
    older = None if start is None else find_snapshot(handle, start, "start")
    newer = handle.snapshot() if end is None else find_snapshot(handle, end, "end")
    current = handle.metadata.current_schema_id
    schema_id = current if end is None or newer is None or newer.schema_id is None else newer.schema_id
    if newer is None and older is not None:
        raise InputError(f"branch {handle.branch!r} of {handle.name} has no snapshot", hint="omit start")
    feed = _Feed(handle, request, schema_id)
    steps = [] if newer is None else plan_steps(handle, older, newer, net=request.net)
    if not lasting:
        return feed.read(steps, newer)
    with handle.scratch.keep():
        return feed.read(steps, newer)


class _Feed:
    """Reads the changes of some steps.

    Inside, columns have the names `__rd_0`, `__rd_1`, ...: the columns to return, then those of the key.
    """

    def __init__(self, handle: TableHandle, request: ChangeRequest, schema_id: int) -> None:
        check_choice("images", request.images, Images)
        check_clashes(handle, schema_id)
        self._handle = handle
        self._request = request
        self._schema_id = schema_id
        self._schema: Schema = handle.metadata.schemas[schema_id]
        self._key = self._find_key()
        self._returned = self._find_columns()
        self._check_names()
        tops = {column.name: column for column in self._returned}
        tops |= {field.path[0]: self._schema.top_level[field.path[0]] for field in self._key}
        self._read = list(tops.values())
        self._names = {column.name: f"{_OURS}{number}" for number, column in enumerate(self._read)}
        where = request.where
        self._where = None if where is None else check_expression(handle.gateway, where, "where")

    def _find_key(self) -> list[Field]:
        rule, key = self._handle.name_rule, self._request.key
        if key is None:
            return [self._schema.by_id[field_id] for field_id in self._schema.identifier_ids]
        names = [key] if isinstance(key, str) else list(key)
        if not names:
            raise InputError("key is empty", hint="name the columns that identify a row, or omit key")
        fields = [self._schema.find(name, rule) for name in names]
        for field in fields:
            if not isinstance(field.type, str) or field.type in {"variant", "unknown"}:
                raise InputError(f"column {field.name!r} of type {field.type_name} cannot be a key")
        return fields

    def _find_columns(self) -> list[Field]:
        columns, rule = self._request.columns, self._handle.name_rule
        if columns is None:
            return list(self._schema.fields)
        found = [self._schema.find(name, rule) for name in ([columns] if isinstance(columns, str) else columns)]
        for field in found:
            if len(field.path) > 1:
                raise InputError(f"{field.sql} is a field of a struct", hint=f"read the column {field.path[0]!r}")
        return list({field.id: self._schema.top_level[field.name] for field in found}.values())

    def _check_names(self) -> None:
        for column in self._schema.fields:
            if column.name.lower() in FEED_COLUMNS or column.name.lower().startswith(_OURS):
                raise TableError(
                    f"{self._handle.name} has a column {column.name}, a name that the change feed uses itself",
                    hint=f"ALTER TABLE {self._handle.name} RENAME COLUMN {quote(column.name)} TO another name",
                )

    def read(self, steps: Sequence[Step], newest: Snapshot | None) -> DataFrame:
        """Reads the changes of the steps, up to the newest snapshot."""
        commits = list({step.ordinal: step.commit for step in steps}.values())
        changed = [(step, self._compare(step)) for step in steps]
        single: list[tuple[Step, FileChanges]] = []
        both: list[tuple[Step, FileChanges]] = []
        if self._request.net:
            deletes, inserts = (any(getattr(c, f"may_{side}") for _, c in changed) for side in ("delete", "insert"))
            (both if deletes and inserts else single).extend(changed)
        else:
            for step, changes in changed:
                (both if changes.may_delete and changes.may_insert else single).append((step, changes))
        frames = []
        alone, paired = self._read_rows(single), self._read_rows(both)
        if alone is not None:
            frames.append(name_single(alone).select(*self._names.values(), STEP, CHANGE))
        if paired is not None:
            with_ids = any(files.has_row_ids for _, c in both for files in (c.before, c.after) if files is not None)
            frames.append(self._pair(paired, with_ids=with_ids))
        if not frames:
            return self._finish(self._make_empty(newest), commits)
        return self._finish(reduce(lambda one, other: one.unionAll(other), frames), commits)

    def _compare(self, step: Step) -> FileChanges:
        before = None if step.before is None else read_files(self._handle, step.before)
        return compare_files(self._handle, before, read_files(self._handle, step.after))

    def _read_rows(self, steps: Sequence[tuple[Step, FileChanges]]) -> DataFrame | None:
        """Reads the rows that the steps delete and insert."""
        reader = RowReader(self._handle, self._schema_id, self._where, self._select)
        frames = []
        for step, changes in steps:
            for sign, rows in ((-1, reader.read_deleted(changes)), (1, reader.read_inserted(changes))):
                if rows is not None:
                    frames.append(select_sql(rows, "*", f"{step.ordinal} AS {STEP}", f"{sign}L AS {SIGN}"))
        return reduce(lambda one, other: one.unionAll(other), frames) if frames else None

    def _select(self, rows: DataFrame, has_ids: bool) -> DataFrame:  # noqa: FBT001 - a callback
        columns = [f"{quote(name)} AS {ours}" for name, ours in self._names.items()]
        return select_sql(rows, *columns, f"{ROW_ID} AS {ID}" if has_ids else f"cast(NULL AS bigint) AS {ID}")

    def _pair(self, rows: DataFrame, *, with_ids: bool) -> DataFrame:
        compared, forms = [], {}
        for column in self._read:
            name = self._names[column.name]
            form = write_comparable(replace(column, name=name))
            compared.append(name if form is None else f"{name}_form")
            if form is not None:
                forms[f"{name}_form"] = parse_column(form)
        key = [parse_column(quote_path((self._names[field.path[0]], *field.path[1:]))) for field in self._key]
        names = list(self._names.values())
        rows = pair_rows(rows.withColumns(forms) if forms else rows, names, compared, key, with_ids=with_ids)
        return rows.select(*names, STEP, CHANGE)

    def _make_empty(self, newest: Snapshot | None) -> DataFrame:
        """Makes a frame without rows."""
        if newest is None:
            rows = self._handle.spark.table(self._handle.full_name)
        else:
            files = read_files(self._handle, newest)
            rows = build_live_rows(self._handle, files, self._schema_id, only=frozenset()).rows
        columns = [f"{quote(name)} AS {ours}" for name, ours in self._names.items()]
        return select_sql(where_sql(rows, "false"), *columns, f"0 AS {STEP}", f"'' AS {CHANGE}")

    def _finish(self, rows: DataFrame, commits: Sequence[Snapshot]) -> DataFrame:
        """Gives the columns their names, and adds what is known about the commits."""
        if self._request.images == "after":
            rows = where_sql(rows, f"{CHANGE} <> 'update_preimage'")
        numbers = ", ".join(f"{commit.id}L" for commit in commits)
        times = ", ".join(f"{commit.timestamp_ms}L" for commit in commits)
        return select_sql(
            rows,
            *(f"{self._names[column.name]} AS {quote(column.name)}" for column in self._returned),
            f"{CHANGE} AS {CHANGE_TYPE}",
            f"get(array({numbers or 'cast(NULL AS bigint)'}), {STEP}) AS {COMMIT_ID}",
            f"timestamp_millis(get(array({times or 'cast(NULL AS bigint)'}), {STEP})) AS {COMMIT_TIME}",
            f"{STEP} AS {ORDINAL}",
        )
