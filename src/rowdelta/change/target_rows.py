"""Reads the rows of the target of a change, and chooses how they are located."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.change.row_locators import ListedFilesLocator, PathLocator
from rowdelta.iceberg import is_read_from_table, list_partition_names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from rowdelta.change.row_locators import RowLocator
    from rowdelta.change.target_snapshot import Target
    from rowdelta.iceberg import TableHandle

_MOST_FILES_LISTED: Final = 5_000  # to list them, their manifests are read
# Rows are collected without a shuffle if that takes at most 600 MB, even if all of them match.
_MOST_ROWS_COLLECTED: Final = 25_000_000


def read_target_rows(
    target: Target, alias: str | None = None, *, with_ids: bool = False, skipping: Column | None = None
) -> DataFrame:
    """Reads live rows, of which `_file` and `_pos` can be selected.

    Iceberg's reader returns them directly if possible. It must not if filters would see row ids that it invents, or if
    rows would keep such ids although the snapshot has none: the commit assigns them.

    Args:
        target: The table.
        alias: The name of the table in conditions and values.
        with_ids: Whether `Target.lineage` can be selected, too.
        skipping: A predicate that all wanted rows meet; it skips files. See `read.matching`.

    Raises:
        TableError: A column has a name that changes need for themselves.
    """
    assert target.files is not None
    target.check_own_names()
    lineage = target.lineage if with_ids else []
    plain = _can_list_files(target) and is_read_from_table(target.handle, target.files)
    if plain and (target.files.has_row_ids or not lineage):
        return target.read_stored_rows(alias, lineage, skipping=skipping)
    return target.read_rows(alias, skipping=skipping)


def choose_locator(target: Target, rows: DataFrame) -> RowLocator:
    """Chooses how rows of a table are located.

    Rows do not carry a partition value whose source column was dropped: then the manifests must be read.
    """
    assert target.files is not None
    handle = target.handle
    if not _can_list_files(target):
        return PathLocator(handle, rows)
    manifests = [manifest for manifest in target.files.listing.records if not manifest.get("content")]
    entries = [entry for manifest in manifests for entry in handle.manifests.read_data(manifest)]
    return ListedFilesLocator(handle, entries, one_by_one=can_collect_rows(target))


def can_collect_rows(target: Target) -> bool:
    """Whether rows of a table are collected one by one, by a `ListedFilesLocator`."""
    rows_at_most = None if target.files is None else target.files.count("rows")
    return rows_at_most is not None and rows_at_most <= _MOST_ROWS_COLLECTED and _can_list_files(target)


def _can_list_files(target: Target) -> bool:
    files = None if target.files is None else target.files.count("files")
    return (files is not None and files <= _MOST_FILES_LISTED) or not _rows_carry_partitions(target.handle)


def _rows_carry_partitions(handle: TableHandle) -> bool:
    named = list_partition_names(handle)
    return all(part.field_id in named for spec in handle.metadata.specs.values() for part in spec.fields)
