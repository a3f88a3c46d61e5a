"""The common partition type of a table: one field for every partition field of every spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowdelta.iceberg.handle import TableHandle


def partition_names(handle: TableHandle) -> dict[int, str]:
    """The name of each partition field in the metadata column `_partition`, by field id."""
    kind = handle.gateway.iceberg.Partitioning.partitionType(handle._table)
    return {int(column.fieldId()): str(column.name()) for column in kind.fields()}
