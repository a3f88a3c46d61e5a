"""Refuses column names that Spark confuses with each other, or with Iceberg's metadata columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.errors import TableError
from rowdelta.spark import ANY_CASE, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rowdelta.iceberg import TableHandle


def check_names(handle: TableHandle, schema_id: int, needed: Iterable[str]) -> None:
    """Refuses a schema with a column that Spark would read instead of a metadata column.

    Iceberg refuses it too, but only in the same case: Spark would take a column `_POS` for the position of rows.

    Args:
        handle: The table.
        schema_id: The schema that is read with.
        needed: The metadata columns that are read, in lower case.

    Raises:
        TableError: There is such a column.
    """
    check_clashes(handle, schema_id)
    names = set(needed)
    for column in handle.metadata.schemas[schema_id].fields:
        lower = column.name.lower()
        if lower in names and (lower == column.name or not handle.name_rule.case_sensitive):
            raise TableError(
                f"{handle.name} has a column {column.name}, which Spark takes for Iceberg's metadata column {lower}",
                hint=f"ALTER TABLE {handle.name} RENAME COLUMN {quote(column.name)} TO another name",
            )


def check_clashes(handle: TableHandle, schema_id: int) -> None:
    """Refuses a schema with columns that differ only in case, in a session that ignores case.

    Raises:
        TableError: There are such columns.
    """
    names = [column.name for column in handle.metadata.schemas[schema_id].fields]
    alike = ANY_CASE.clashes(names)
    if alike and not handle.name_rule.case_sensitive:
        raise TableError(
            f"{handle.name} has the columns {' and '.join(alike)}, which Spark cannot distinguish in this session",
            hint="spark.conf.set('spark.sql.caseSensitive', 'true') distinguishes them",
        )
