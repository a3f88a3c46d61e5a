"""Temporary views that stand in for tables while one statement runs."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from rowdelta.iceberg import TableHandle, read_snapshot_files
from rowdelta.read import MAX_BROADCAST_BYTES, filters_may_mislead, filters_mislead, read_live_frame
from rowdelta.spark import NamedTable, drop_temporary_view

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pyspark.sql import DataFrame, SparkSession


class LiveViews:
    """Views over live rows, which exist until `close()`.

    Spark puts the plan of a view into a DataFrame when it analyses its SQL, so the DataFrame outlives the view.

    Args:
        spark: The session.
        as_stored: Whether the statement uses columns that a view does not have, such as `_file`: a table without
            equality deletes then stays as it is.
    """

    def __init__(self, spark: SparkSession, *, as_stored: bool = False) -> None:
        self._spark = spark
        self._as_stored = as_stored
        self._names: dict[Hashable, str | None] = {}

    def close(self) -> None:
        """Drops the views."""
        for name in self._names.values():
            if name is not None:
                drop_temporary_view(self._spark, name)

    def make_table_view(self, named: NamedTable) -> str | None:
        """Returns the view of a table's live rows; None if Iceberg's reader reads and filters the table correctly."""
        key = (named.table, named.branch, named.snapshot_id)
        if key not in self._names:
            frame = _read_live_rows(self._spark, named, as_stored=self._as_stored)
            self._names[key] = None if frame is None else self._create(frame)
        return self._names[key]

    def make_query_view(self, query: str) -> str:
        """Returns the view of a query."""
        name = self._names.get(query)
        if name is None:
            name = self._names[query] = self._create(self._spark.sql(query))
        return name

    def make_frame_view(self, frame: DataFrame) -> str:
        """Returns the view of a frame."""
        name = self._create(frame)
        self._names[name] = name
        return name

    @staticmethod
    def _create(frame: DataFrame) -> str:
        name = f"__rowdelta_{uuid.uuid4().hex}"
        frame.createTempView(name)
        return name


def _read_live_rows(spark: SparkSession, named: NamedTable, *, as_stored: bool) -> DataFrame | None:
    handle = TableHandle(spark, named.sql, named.branch)
    snapshot = handle.snapshot(named.snapshot_id)
    misled = not as_stored and filters_may_mislead(handle)
    if snapshot is None or (snapshot.summary.get("total-equality-deletes") == "0" and not misled):
        return None
    files = read_snapshot_files(handle, snapshot)
    if files is None or not (files.equality_deletes or (misled and filters_mislead(handle, files))):
        return None
    return read_live_frame(handle, MAX_BROADCAST_BYTES, snapshot_id=named.snapshot_id)
