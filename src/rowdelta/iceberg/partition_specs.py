"""How a table is partitioned: its specs, and the names of their fields in Iceberg's metadata tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rowdelta.iceberg.table_handle import TableHandle

# Of the transforms whose values have a type of their own.
_RESULT_TYPES: Final = {"bucket": "int", "year": "int", "month": "int", "day": "date", "hour": "int"}


@dataclass(frozen=True)
class PartitionField:
    """One field of a partition spec."""

    source_id: int
    field_id: int
    name: str
    transform: str

    def result_type(self, source: str) -> str:
        """Returns the Iceberg type of its values, given that of its column."""
        return _RESULT_TYPES.get(self.transform.partition("[")[0], source)


@dataclass(frozen=True)
class PartitionSpec:
    """How data files are partitioned."""

    id: int
    fields: tuple[PartitionField, ...]

    @property
    def is_unpartitioned(self) -> bool:
        """Whether files of this spec belong to no partition; `void` transforms do not count."""
        return all(part.transform == "void" for part in self.fields)


def read_partition_field(part: dict[str, Any]) -> PartitionField:
    """Reads one field of a partition spec, from Iceberg's JSON."""
    return PartitionField(part["source-id"], part.get("field-id", 0), part["name"], part["transform"])


def list_partition_names(handle: TableHandle, table: Any = None) -> dict[int, str]:
    """Lists the name of each partition field in the metadata column `_partition`, by field id.

    Fields whose source column was dropped are omitted.

    Args:
        handle: The table.
        table: Another of Iceberg's table objects to ask.
    """
    gateway = handle.gateway
    partition_type = gateway.iceberg.Partitioning.partitionType(handle.java_table if table is None else table)
    return {int(column.fieldId()): str(column.name()) for column in gateway.members(partition_type.fields())}
