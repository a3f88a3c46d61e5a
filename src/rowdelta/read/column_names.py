"""Columns whose names Spark cannot tell from those of Iceberg's metadata columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.errors import TableError
from rowdelta.spark import ANY_CASE, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rowdelta.iceberg import TableHandle


def check_names(handle: TableHandle, schema_id: int, needed: Iterable[str]) -> None:
    """Refuses a schema with a column that Spark would read in the place of a metadata column.

    Iceberg does so too, but compares letters as they are: a column `_POS` would be taken for the position of rows.

    Args:
        handle: The table.
        schema_id: The schema that is read with.
        needed: The metadata columns that are read, in lower case.

    Raises:
        TableError: There is one.
    """
    check_clashes(handle, schema_id)
    names = set(needed)
    for column in handle.metadata.schemas[schema_id].fields:
        own = column.name.lower()
        if own in names and (own == column.name or not handle.name_rule.case_sensitive):
            raise TableError(
                f"{handle.name} has a column {column.name}, which Spark takes for Iceberg's metadata column {own}",
                hint=f"ALTER TABLE {handle.name} RENAME COLUMN {quote(column.name)} TO another name",
            )


def check_clashes(handle: TableHandle, schema_id: int) -> None:
    """Refuses a schema with columns that only their case tells apart, in a session that does not look at it.

    Raises:
        TableError: There are such columns.
    """
    names = [column.name for column in handle.metadata.schemas[schema_id].fields]
    alike = ANY_CASE.clashes(names)
    if alike and not handle.name_rule.case_sensitive:
        raise TableError(
            f"{handle.name} has the columns {' and '.join(alike)}, which Spark cannot tell apart in this session",
            hint="spark.conf.set('spark.sql.caseSensitive', 'true') distinguishes them",
        )
