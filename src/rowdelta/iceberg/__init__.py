"""The gateway to Iceberg's own Java library: the only folder that touches the JVM."""

from __future__ import annotations

from rowdelta.iceberg.delete_files import list_delete_files
from rowdelta.iceberg.handle import TableHandle
from rowdelta.iceberg.metadata import Field, PartitionField, PartitionSpec, Reference, Schema, Snapshot, TableMetadata
from rowdelta.iceberg.versions import DELTA_PACKAGE, ICEBERG_PACKAGE

__all__ = [
    "DELTA_PACKAGE",
    "ICEBERG_PACKAGE",
    "Field",
    "PartitionField",
    "PartitionSpec",
    "Reference",
    "Schema",
    "Snapshot",
    "TableHandle",
    "TableMetadata",
    "list_delete_files",
]
