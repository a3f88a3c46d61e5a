"""The common partition type of a table: one field for every partition field of every spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowdelta.iceberg.table_handle import TableHandle


def partition_names(handle: TableHandle, table: Any = None) -> dict[int, str]:
    """The name of each partition field in the metadata column `_partition`, by field id.

    Fields whose source column was dropped are not there.

    Args:
        handle: The table.
        table: Another of Iceberg's table objects to ask.
    """
    gateway = handle.gateway
    kind = gateway.iceberg.Partitioning.partitionType(handle.java_table if table is None else table)
    return {int(column.fieldId()): str(column.name()) for column in gateway.members(kind.fields())}
