"""How an operation would change rows, and what it would have to read, from metadata alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change.position_files import describe_deletes
from rowdelta.iceberg import scan_size

if TYPE_CHECKING:
    from rowdelta.iceberg import RowFilter, TableHandle


def describe_without_deletes(mode: str, isolation: str) -> tuple[tuple[str, str], ...]:
    """How files would be added or dropped, as steps of a plan."""
    return ("mode", mode), ("encoding", "none: no delete is written"), ("isolation", isolation)


def describe_mode(handle: TableHandle, mode: str, why: str, isolation: str) -> tuple[tuple[str, str], ...]:
    """How rows would be changed, as steps of a plan."""
    encoding = describe_deletes(handle) if mode == "merge-on-read" else "none: the touched files are written anew"
    return (("mode", f"{mode} ({why})"), ("encoding", encoding), ("isolation", isolation))


def estimate_scan(
    handle: TableHandle, snapshot_id: int, condition: RowFilter, *, drops: bool = False
) -> tuple[tuple[str, str], ...]:
    """The files, rows and bytes that the predicate cannot rule out, as steps of a plan: to be scanned, or dropped."""
    snapshot = handle.metadata.snapshots[snapshot_id]
    found = scan_size(handle, snapshot_id, condition)
    total = int(snapshot.summary.get("total-data-files", found.files))
    return (
        ("filter", _usable(condition)),
        ("files", f"{found.files:,} to {'drop' if drops else 'scan'}, {max(total - found.files, 0):,} pruned"),
        ("rows", f"{found.records:,} in these files"),
        ("bytes", f"{found.size_in_bytes:,}"),
    )


def _usable(condition: RowFilter) -> str:
    if condition.exact:
        return condition.text
    return "cannot be used to skip files" if condition.text == "true" else f"{condition.text}, in part"
