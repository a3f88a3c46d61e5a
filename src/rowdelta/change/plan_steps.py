"""Steps of a plan: how an operation would change rows, and what it would read. Uses metadata alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change.position_deletes import describe_deletes
from rowdelta.iceberg import measure_scan

if TYPE_CHECKING:
    from rowdelta.iceberg import RowFilter, TableHandle


def describe_without_deletes(mode: str, isolation: str) -> tuple[tuple[str, str], ...]:
    """Describes an operation that only adds or drops files."""
    return ("mode", mode), ("encoding", "none: no delete is written"), ("isolation", isolation)


def describe_mode(handle: TableHandle, mode: str, why: str, isolation: str) -> tuple[tuple[str, str], ...]:
    """Describes how rows would be changed."""
    encoding = describe_deletes(handle) if mode == "merge-on-read" else "none: the touched files are rewritten"
    return (("mode", f"{mode} ({why})"), ("encoding", encoding), ("isolation", isolation))


def estimate_scan(
    handle: TableHandle, snapshot_id: int, condition: RowFilter, *, drops: bool = False
) -> tuple[tuple[str, str], ...]:
    """Counts the files, rows and bytes that the predicate cannot rule out: to be scanned, or dropped."""
    snapshot = handle.metadata.snapshots[snapshot_id]
    scan = measure_scan(handle, snapshot_id, condition)
    total = int(snapshot.summary.get("total-data-files", scan.files))
    return (
        ("filter", _describe_filter(condition)),
        ("files", f"{scan.files:,} to {'drop' if drops else 'scan'}, {max(total - scan.files, 0):,} pruned"),
        ("rows", f"{scan.records:,} in these files"),
        ("bytes", f"{scan.size_in_bytes:,}"),
    )


def _describe_filter(condition: RowFilter) -> str:
    if condition.exact:
        return condition.text
    return "cannot be used to skip files" if condition.text == "true" else f"{condition.text}, in part"
