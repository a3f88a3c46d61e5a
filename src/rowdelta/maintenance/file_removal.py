"""Many files go from storage, part by part, while someone may watch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rowdelta.iceberg import delete_from_storage
from rowdelta.maintenance.progress import Portion, report_progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rowdelta.iceberg import TableHandle
    from rowdelta.maintenance.progress import OnProgress

# As many as object stores remove with one request.
_PART: Final = 1000


def remove_files(
    handle: TableHandle,
    action: str,
    files: Mapping[str, Sequence[str]],
    progress: OnProgress | None,
    *,
    all_the_same: bool,
) -> Counter[str]:
    """Removes files, and counts those that are gone by kind.

    Args:
        handle: The table that the files are of.
        action: What removes them, for the progress.
        files: Their paths, by kind.
        progress: Called after each part.
        all_the_same: Whether the rest goes even if `progress` fails, since nobody would find it again.
    """
    parts = [(kind, paths[at : at + _PART]) for kind, paths in files.items() for at in range(0, len(paths), _PART)]
    gone: Counter[str] = Counter()
    left = iter(parts)
    try:
        with report_progress(action, [Portion(files=len(part)) for _, part in parts], progress) as reporter:
            for kind, part in left:
                gone[kind] += delete_from_storage(handle, part)
                reporter.done(Portion(files=len(part)))
    finally:
        for _, part in left if all_the_same else ():
            delete_from_storage(handle, part)
    return gone
