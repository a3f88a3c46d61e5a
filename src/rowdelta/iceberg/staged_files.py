"""Writes files with Iceberg's own writer, in parallel and without a commit."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.content_files import ContentFile, from_java
from rowdelta.iceberg.metadata_document import MetadataDocument
from rowdelta.spark import prepare_staged_write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from rowdelta.iceberg.table_handle import TableHandle


class StagedFiles:
    """Data files on storage that no snapshot refers to yet."""

    def __init__(self, handle: TableHandle, files: list[Any]) -> None:
        self._handle = handle
        self._files = files

    def __len__(self) -> int:
        return len(self._files)

    def add_to(self, delta: Any) -> None:
        """Adds them to Iceberg's `RowDelta` as rows."""
        for file in self._files:
            delta.addRows(file)

    def remove(self) -> None:
        """Removes them from storage, after a failure."""
        self._handle.io.discard(str(file.location()) for file in self._files)

    @property
    def size_in_bytes(self) -> int:
        """The size of all files."""
        return sum(int(file.fileSizeInBytes()) for file in self._files)

    @property
    def record_count(self) -> int:
        """The rows of all files."""
        return sum(int(file.recordCount()) for file in self._files)

    def list_content_files(self) -> list[ContentFile]:
        """Lists the files as plain values."""
        return [from_java(self._handle, file) for file in self._files]


def stage_rows(handle: TableHandle, frame: DataFrame) -> StagedFiles:
    """Writes rows as data files of the table's current spec.

    Args:
        handle: The table.
        frame: The table's columns in order; on a version 3 table also `_row_id` and `_last_updated_sequence_number`,
            which keep the lineage of an existing row, and are null for a new one.
    """
    # A new object for the same table: Iceberg adds a metrics reporter to it with every write, and removes none.
    table = handle.gateway.iceberg.BaseTable(handle.java_table.operations(), handle.java_table.name())
    return StagedFiles(handle, _write_staged(handle, table, frame))


def stage_key_files(
    handle: TableHandle, keys: DataFrame, field_ids: list[int], spec_id: int, properties: Mapping[str, str]
) -> list[ContentFile]:
    """Writes keys as Parquet files, one or more per partition; to be committed as equality deletes.

    Args:
        handle: The table.
        keys: Frame with the columns of `field_ids`, named as in the table, and sorted as the files should be.
        field_ids: The top-level columns to write: the key, and the sources of the partition.
        spec_id: The partition spec of the deletes.
        properties: Table properties for this write only.
    """
    document = MetadataDocument(handle.document).keep_columns(field_ids).keep_spec(spec_id).remove_snapshots()
    # Row lineage belongs to data: for a version 3 table, Iceberg's writer would expect its columns in the frame.
    document = document.set_format_version(2).set_properties(properties)
    iceberg, table = handle.gateway.iceberg, handle.java_table
    metadata = iceberg.TableMetadataParser.fromJson(document.to_json())
    operations = iceberg.StaticTableOperations(metadata, table.io(), handle.location_provider())
    return [
        from_java(handle, file) for file in _write_staged(handle, iceberg.BaseTable(operations, table.name()), keys)
    ]


def _write_staged(handle: TableHandle, target: Any, frame: DataFrame) -> list[Any]:
    gateway = handle.gateway
    group = str(uuid.uuid4())
    cache = gateway.static_call("org.apache.iceberg.spark.SparkTableCache", "get")
    coordinator = gateway.iceberg.spark.FileRewriteCoordinator.get()
    cache.add(group, target)
    options = prepare_staged_write(frame.sparkSession, group)
    gateway.activate()  # without pinned threads, this call may run in a Java thread that has no active session yet
    try:
        options |= {"distribution-mode": "none", "fanout-enabled": "true"}
        frame.write.format("iceberg").mode("append").options(**options).save(group)
        return gateway.members(coordinator.fetchNewFiles(target, group))
    finally:
        cache.remove(group)
        coordinator.clearRewrite(target, group)
