"""The gateway to Iceberg's own Java library: the only folder that touches the JVM."""

from __future__ import annotations

from rowdelta.iceberg.arrow import arrow_frame
from rowdelta.iceberg.commit import NewDelete, RowChange, Validation, commit
from rowdelta.iceberg.content_files import ContentFile
from rowdelta.iceberg.delete_files import list_delete_files
from rowdelta.iceberg.delete_rows import column_path, delete_rows, position_rows
from rowdelta.iceberg.expressions import RowFilter, ScanSize, WholeFiles, row_filter, scan_size, whole_files
from rowdelta.iceberg.handle import TableHandle
from rowdelta.iceberg.manifests import DataEntry, DeleteEntry
from rowdelta.iceberg.metadata import Field, PartitionField, PartitionSpec, Reference, Schema, Snapshot, TableMetadata
from rowdelta.iceberg.partitions import partition_names
from rowdelta.iceberg.plans import size_in_bytes
from rowdelta.iceberg.puffin_footers import footer
from rowdelta.iceberg.shadow import SnapshotFiles, shadow, snapshot_files
from rowdelta.iceberg.staged import StagedFiles, stage_key_files, stage_rows
from rowdelta.iceberg.types import ansi_cast, can_store
from rowdelta.iceberg.versions import DELTA_PACKAGE, ICEBERG_PACKAGE

__all__ = [
    "DELTA_PACKAGE",
    "ICEBERG_PACKAGE",
    "ContentFile",
    "DataEntry",
    "DeleteEntry",
    "Field",
    "NewDelete",
    "PartitionField",
    "PartitionSpec",
    "Reference",
    "RowChange",
    "RowFilter",
    "ScanSize",
    "Schema",
    "Snapshot",
    "SnapshotFiles",
    "StagedFiles",
    "TableHandle",
    "TableMetadata",
    "Validation",
    "WholeFiles",
    "ansi_cast",
    "arrow_frame",
    "can_store",
    "column_path",
    "commit",
    "delete_rows",
    "footer",
    "list_delete_files",
    "partition_names",
    "position_rows",
    "row_filter",
    "scan_size",
    "shadow",
    "size_in_bytes",
    "snapshot_files",
    "stage_key_files",
    "stage_rows",
    "whole_files",
]
