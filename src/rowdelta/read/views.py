"""Temporary views of live rows, which every change by rowdelta refreshes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.read.snapshot_rows import MAX_BROADCAST_BYTES
from rowdelta.read.time_travel import read_live_frame
from rowdelta.spark import TemporaryView

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle

# Views by session, table and branch: another handle of the table may commit a change. The key has the id of the
# session: two Python objects may be one session, and Python reuses addresses.
_views: dict[tuple[str, str, str], dict[str, TemporaryView]] = {}


def create_view(handle: TableHandle, name: str) -> DataFrame:
    """Creates or replaces a temporary view of the head of the handle's branch."""
    _forget_ended()
    frame = read_live_frame(handle, MAX_BROADCAST_BYTES)
    _views.setdefault(_make_key(handle), {})[name] = TemporaryView(frame, name)
    return frame


def refresh_views(handle: TableHandle) -> None:
    """Points the views of a table to its new state; forgets views that were dropped or replaced meanwhile."""
    views = _views.get(_make_key(handle), {}) if _views else {}
    for name, view in list(views.items()):
        if view.is_there:
            create_view(handle, name)
        else:
            del views[name]


def _make_key(handle: TableHandle) -> tuple[str, str, str]:
    return handle.gateway.session_id, handle.full_name, handle.branch


def _forget_ended() -> None:
    """Forgets the views of sessions whose Spark was stopped."""
    for key, views in list(_views.items()):
        if any(view.has_ended for view in views.values()):
            del _views[key]
