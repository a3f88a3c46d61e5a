"""Finds files in a table's folder that no snapshot refers to, with Iceberg's own procedure."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from rowdelta.errors import TableError
from rowdelta.iceberg.scratch_files import in_use
from rowdelta.spark import JavaError, quote_string, read_java_message, read_java_name, run_procedure

if TYPE_CHECKING:
    from rowdelta.iceberg.table_handle import TableHandle


def find_orphans(handle: TableHandle, older_than_ms: int, location: str | None = None) -> list[str]:
    """Finds orphan files older than a time, under the table's location or a folder in it. None is removed.

    Scratch files of this process are in use, regardless of their age, and are omitted.
    """
    time = dt.datetime.fromtimestamp(older_than_ms / 1000, tz=dt.timezone.utc)
    catalog, name = handle.full_name.split(".", 1)
    arguments = {
        "table": quote_string(name),
        "prefix_listing": "true" if _can_list_folders(handle) else "false",
        "older_than": f"TIMESTAMP_LTZ '{time:%Y-%m-%d %H:%M:%S}.{older_than_ms % 1000:03} UTC'",
        "dry_run": "true",
        **({} if location is None else {"location": quote_string(location)}),
    }
    call = ", ".join(f"{name} => {value}" for name, value in arguments.items())
    # The procedure uses the catalog's cache. Without a refresh it would report the files of newer snapshots as orphans.
    handle.gateway.iceberg.spark.Spark3Util.loadIcebergTable(handle.gateway.session, handle.full_name).refresh()
    try:
        rows = run_procedure(handle.spark, f"{catalog}.system.remove_orphan_files({call})").collect()
    except JavaError as error:
        raise TableError(
            f"orphan files cannot be listed: {read_java_name(error)}: {read_java_message(error)}"
        ) from error
    needed = {path.rsplit("/", 1)[-1] for path in in_use}
    return sorted(row[0] for row in rows if row[0].rsplit("/", 1)[-1] not in needed)


def _can_list_folders(handle: TableHandle) -> bool:
    """Whether the table's FileIO can list a folder. Otherwise Hadoop must, which may not support the storage."""
    prefixes = handle.gateway.java_class("org.apache.iceberg.io.SupportsPrefixOperations")
    return bool(prefixes.isInstance(handle.java_table.io()))
