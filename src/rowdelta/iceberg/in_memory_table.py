"""Makes tables that exist only in memory, and frames that read them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.shared_files import remember_listing
from rowdelta.spark import make_spark_table, read_relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.iceberg.avro_file import AvroFile
    from rowdelta.iceberg.metadata_document import MetadataDocument
    from rowdelta.iceberg.table_handle import TableHandle


def pin_to_branch(handle: TableHandle, metadata: Any) -> Any:
    """Pins a table to the state of some metadata, so that another thread's refresh does not change it.

    The branch is named even if it is main: otherwise Spark's setting `spark.wap.branch` would select another.
    """
    iceberg, table = handle.gateway.iceberg, handle.java_table
    if handle.shared_files is not None:
        share_listing(handle, metadata)
    operations = iceberg.StaticTableOperations(metadata, table.io())
    return make_spark_table(handle.gateway, iceberg.BaseTable(operations, table.name())).copyWithBranch(handle.branch)


def open_for_planning(handle: TableHandle) -> Any:
    """Opens the table in its last state, for planning on the driver."""
    if handle.shared_files is None:
        return handle.java_table
    share_listing(handle, handle.state.current)
    return handle.shared_files.open_table(handle.state.current, handle.java_table.name())


def share_listing(handle: TableHandle, metadata: Any) -> None:
    """Lets Iceberg use the manifest list of the branch's head that Python has read."""
    head = handle.snapshot()
    if head is not None and head.manifest_list is not None:
        remember_listing(handle.gateway, metadata, head.id, handle.manifests.read_bytes(head.manifest_list))


def make_static_table(handle: TableHandle, document: MetadataDocument, listing: AvroFile) -> Any:
    """Makes a table that exists only in memory, from its metadata and the manifest list of its only snapshot."""
    iceberg, table = handle.gateway.iceberg, handle.java_table
    location = f"rowdelta-{uuid.uuid4()}.avro"
    document = document.replace_manifest_list(document.current_snapshot_id, location)
    metadata = iceberg.TableMetadataParser.fromJson(document.to_json())
    operations = iceberg.StaticTableOperations(metadata, table.io())
    static_table = iceberg.BaseTable(operations, table.name())
    files = iceberg.inmemory.InMemoryFileIO()
    try:
        files.addFile(location, listing.to_bytes())
        # Iceberg caches the list that it has read, and does not read it again.
        static_table.currentSnapshot().dataManifests(files)
        static_table.currentSnapshot().deleteManifests(files)
    finally:
        files.deleteFile(location)  # all instances of the class share their files
    return static_table


def read_java_table(handle: TableHandle, table: Any) -> DataFrame:
    """Makes a DataFrame over any of Iceberg's table objects, committed or not."""
    return read_spark_table(handle, make_spark_table(handle.gateway, table))


def read_spark_table(handle: TableHandle, spark_table: Any) -> DataFrame:
    """Makes a DataFrame over a table object of Iceberg's Spark integration."""
    return read_relation(handle.gateway, spark_table)
