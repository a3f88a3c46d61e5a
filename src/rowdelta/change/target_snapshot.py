"""The table as an operation reads it: one snapshot, its live rows and their positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rowdelta.choices import Isolation, Mode, check_choice
from rowdelta.errors import InputError, TableError
from rowdelta.iceberg import SnapshotFiles, Validation, read_snapshot_files, read_without_equality_deletes
from rowdelta.read import build_live_rows, check_clashes, check_deletes, check_names, hide_floats, may_hide
from rowdelta.spark import quote, select_sql

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import RowFilter, Snapshot, TableHandle
    from rowdelta.read import LiveRows

FILE: Final = "_file"
POSITION: Final = "_pos"
ROW_ID: Final = "_row_id"
LAST_UPDATED: Final = "_last_updated_sequence_number"
LINEAGE_VERSION: Final = 3
_OURS: Final = "__rd_"


@dataclass(frozen=True)
class Target:
    """One snapshot of a table. `files` is None for an empty table."""

    handle: TableHandle
    files: SnapshotFiles | None

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot that is read."""
        return None if self.files is None else self.files.snapshot

    @property
    def has_lineage(self) -> bool:
        """Whether rows have ids that survive changes."""
        return self.handle.metadata.format_version >= LINEAGE_VERSION

    @property
    def columns(self) -> list[str]:
        """The table's columns."""
        return [column.name for column in self.handle.metadata.schema.fields]

    @property
    def lineage(self) -> list[str]:
        """The lineage columns that new files carry."""
        return [ROW_ID, LAST_UPDATED] if self.has_lineage else []

    @property
    def updated_lineage(self) -> list[str]:
        """The lineage columns that an updated row keeps: its id. The commit records when it was updated."""
        return [ROW_ID] if self.has_lineage else []

    def read_rows(
        self, alias: str | None = None, *, only: AbstractSet[str] | None = None, skipping: Column | None = None
    ) -> DataFrame:
        """Reads live rows with the table's columns, `_file`, `_pos`, their partition, and their lineage on version 3.

        Args:
            alias: The name of the table in conditions and values.
            only: The data files to read; by default, all of them.
            skipping: A predicate that all wanted rows meet; it skips files. See `read.matching`.
        """
        assert self.files is not None
        stored = self.lineage if self.files.has_row_ids else []
        live = self._live if only is None else self._build_live_rows(only)
        rows = (live if skipping is None else live.skip_files(skipping)).apply_deletes_with_positions()
        missing = [f"cast(null AS bigint) AS {name}" for name in self.lineage if name not in stored]
        rows = select_sql(rows, "*", *missing) if missing else rows
        return rows if alias is None else rows.alias(alias)

    @cached_property
    def _live(self) -> LiveRows:
        return self._build_live_rows(None)

    def _build_live_rows(self, only: AbstractSet[str] | None) -> LiveRows:
        assert self.files is not None
        names = (FILE, POSITION, *(self.lineage if self.files.has_row_ids else []))
        return build_live_rows(self.handle, self.files, self.handle.metadata.current_schema_id, names, only=only)

    def read_stored_rows(
        self, alias: str | None = None, lineage: Sequence[str] = (), *, skipping: Column | None = None
    ) -> DataFrame:
        """Reads rows with Iceberg's reader, for a table that `is_read_from_table`.

        The frame usually has only the table's columns, but `_file`, `_pos` and the requested lineage can be selected:
        that saves an expression for each column. Columns that are hidden from filters of the scan are computed, and an
        alias of computed columns has no metadata columns. So these are selected before the alias.
        """
        assert self.files is not None
        schema_id = self.handle.metadata.current_schema_id
        columns, places = self.handle.metadata.schema.fields, (FILE, POSITION, *lineage)
        check_names(self.handle, schema_id, places)
        rows = read_without_equality_deletes(self.handle, self.files, schema_id, []).frame
        rows = rows if skipping is None else rows.where(skipping)
        if alias is None:
            return hide_floats(rows, columns)
        if may_hide(self.handle, self.handle.metadata.schema):
            rows = select_sql(rows, "*", *places)
        return hide_floats(rows, columns, places).alias(alias)

    def check_own_names(self) -> None:
        """Refuses a table with a column whose name has the prefix of rowdelta's own columns."""
        for column in self.columns:
            if column.lower().startswith(_OURS):
                raise TableError(
                    f"{self.handle.name} has a column {column}, and names that start with {_OURS} are rowdelta's own",
                    hint=f"ALTER TABLE {self.handle.name} RENAME COLUMN {quote(column)} TO another name",
                )

    def build_validation(
        self, condition: RowFilter, isolation: str, data_files: list[str], *, updates: bool
    ) -> Validation:
        """Says what must still hold when the change is committed."""
        return Validation(
            snapshot_id=None if self.snapshot is None else self.snapshot.id,
            row_filter=condition,
            data_files=data_files,
            no_new_deletes=updates,
            no_new_rows=isolation == "serializable",
        )


def open_target(handle: TableHandle, *, refresh: bool = True) -> Target:
    """Opens the newest snapshot of the handle's branch, and refuses one that cannot be changed safely.

    Args:
        handle: The table.
        refresh: Whether to load its newest state; not if the caller has just done so.
    """
    if refresh:
        handle.refresh()
    if handle.metadata.format_version < 2:  # noqa: PLR2004 - deletes came with version 2
        raise InputError(
            f"{handle.name} is of format version 1, which has no row-level deletes",
            hint="ALTER TABLE ... SET TBLPROPERTIES ('format-version'='2')",
        )
    handle.check_locations()
    check_clashes(handle, handle.metadata.current_schema_id)
    head = handle.snapshot()
    files = None if head is None else read_snapshot_files(handle, head)
    if files is not None:
        check_deletes(handle.metadata, files)
    return Target(handle, files)


def check_options(mode: str | None, isolation: str | None) -> None:
    """Refuses a mode or an isolation level that does not exist."""
    if mode is not None:
        check_choice("mode", mode, Mode)
    if isolation is not None:
        check_choice("isolation level", isolation, Isolation)


def find_mode(handle: TableHandle, verb: str, mode: str | None) -> tuple[str, str]:
    """Finds the mode of a verb (`delete`, `update`, `merge`), and the reason."""
    name = f"write.{verb}.mode"
    chosen = mode or handle.metadata.properties.get(name)
    if chosen is not None:
        check_choice("mode", chosen, Mode)
    if mode is not None:
        return mode, "as asked"
    if chosen is not None:
        return chosen, f"table property {name}"
    return "merge-on-read", f"{name} is not set, and writing deletes costs least"


def find_isolation(handle: TableHandle, verb: str, isolation: str | None) -> str:
    """Finds the isolation level of a verb."""
    level = isolation or handle.metadata.properties.get(f"write.{verb}.isolation-level", "serializable")
    check_choice("isolation level", level, Isolation)
    return level


def list_written_columns(target: Target) -> list[str]:
    """Lists the table's columns and lineage in SQL, in the order of the writer."""
    return [quote(name) for name in [*target.columns, *target.lineage]]
