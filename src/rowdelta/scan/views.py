"""Temporary views over live rows, kept current through every change that rowdelta makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.iceberg import TemporaryView
from rowdelta.scan.read import MAX_BROADCAST_BYTES
from rowdelta.scan.time_travel import live_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle

# Views by session, table and branch: another handle of the same table may commit the change.
_views: dict[tuple[int, str, str], dict[str, TemporaryView]] = {}


def create_view(handle: TableHandle, name: str) -> DataFrame:
    """Makes or replaces a temporary view of the head of the handle's branch."""
    frame = live_frame(handle, MAX_BROADCAST_BYTES)
    _views.setdefault(_key(handle), {})[name] = TemporaryView(frame, name)
    return frame


def refresh_views(handle: TableHandle) -> None:
    """Points the views of a table at its new state; a view that was dropped or replaced meanwhile is forgotten."""
    views = _views.get(_key(handle), {})
    for name, view in list(views.items()):
        if view.is_there:
            create_view(handle, name)
        else:
            del views[name]


def _key(handle: TableHandle) -> tuple[int, str, str]:
    return id(handle.spark), handle.full_name, handle.branch
