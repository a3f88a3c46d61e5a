"""Removes many files from storage, part by part, and reports the progress."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rowdelta.iceberg import delete_from_storage
from rowdelta.maintenance.progress import Portion, report_progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rowdelta.iceberg import TableHandle
    from rowdelta.maintenance.progress import OnProgress

# Object stores remove this many files with one request.
_PART: Final = 1000


def remove_files(
    handle: TableHandle,
    action: str,
    files: Mapping[str, Sequence[str]],
    progress: OnProgress | None,
    *,
    finish_anyway: bool,
) -> Counter[str]:
    """Removes files, and counts by name those that the storage deleted.

    Args:
        handle: The table that the files belong to.
        action: The name of the action in progress reports.
        files: Their paths, by a name such as `manifests`.
        progress: Called after each part.
        finish_anyway: Whether to remove the rest even if `progress` fails, since no later call would find it.
    """
    parts = [(name, paths[at : at + _PART]) for name, paths in files.items() for at in range(0, len(paths), _PART)]
    removed: Counter[str] = Counter()
    remaining = iter(parts)
    try:
        with report_progress(action, [Portion(files=len(part)) for _, part in parts], progress) as reporter:
            for name, part in remaining:
                removed[name] += delete_from_storage(handle, part)
                reporter.finish_group(Portion(files=len(part)))
    finally:
        for _, part in remaining if finish_anyway else ():
            delete_from_storage(handle, part)
    return removed
