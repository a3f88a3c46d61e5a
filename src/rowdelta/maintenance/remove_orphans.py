"""`t.remove_orphans()`: removes files in the table's folder that no snapshot references."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rowdelta.change import Operation, Plan, Result
from rowdelta.errors import InputError
from rowdelta.iceberg import find_orphans
from rowdelta.maintenance.expire import require_gc
from rowdelta.maintenance.file_removal import remove_files
from rowdelta.maintenance.older_than import format_time, parse_cutoff
from rowdelta.maintenance.progress import show_search

if TYPE_CHECKING:
    from rowdelta.iceberg import TableHandle
    from rowdelta.maintenance.older_than import OlderThan
    from rowdelta.maintenance.progress import OnProgress

DEFAULT_AGE: Final = dt.timedelta(days=3)
# Iceberg's procedure refuses less: a younger file may belong to a commit in progress.
MIN_AGE: Final = dt.timedelta(days=1)
_LISTED: Final = 10


@dataclass(frozen=True)
class OrphansPlan(Plan):
    """What an operation would remove.

    Attributes:
        orphan_files: The paths of all files; the text of the plan lists the first ten.

    Examples:
        >>> t.remove_orphans().plan().orphan_files
        ()
    """

    orphan_files: tuple[str, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the steps as a plain dictionary, with the paths of all files.

        Examples:
            >>> OrphansPlan("remove orphan files of t", (), ("data/left-behind.parquet",)).to_dict()
            {'plan': 'remove orphan files of t', 'orphan_files': ['data/left-behind.parquet']}
        """
        return {**super().to_dict(), "orphan_files": list(self.orphan_files)}


@dataclass(frozen=True)
class OrphansResult(Result):
    """The orphan files of a table.

    Attributes:
        orphan_files: Their paths.
        files_removed: How many of them were removed: all that the storage could delete.
        dry_run: Deprecated; whether the files were only listed, as the deprecated `dry_run=True` asks for.

    Examples:
        >>> result = OrphansResult(orphan_files=("warehouse/db/orders/data/left-behind.parquet",))
        >>> len(result.orphan_files), result.files_removed, result.dry_run
        (1, 0, False)
    """

    orphan_files: tuple[str, ...] = field(default=(), repr=False)
    files_removed: int = 0
    dry_run: bool = False


class RemoveOrphans(Operation[OrphansResult]):
    """Removes files that no snapshot references."""

    def __init__(
        self, handle: TableHandle, older_than: OlderThan | None, progress: OnProgress | None = None, *, dry_run: bool
    ) -> None:
        cutoff = parse_cutoff(DEFAULT_AGE if older_than is None else older_than)
        assert cutoff is not None
        if cutoff > time.time() * 1000 - MIN_AGE.total_seconds() * 1000 + 1000:
            raise InputError(
                f"older_than is {format_time(cutoff)}, less than 24 hours ago",
                hint="a younger file may belong to a commit in progress",
            )
        self._handle = handle
        self._older_than = cutoff
        self._dry_run = dry_run
        self._progress = progress

    def plan(self) -> OrphansPlan:
        """Lists what would be removed."""
        orphans = self._find_orphans()
        steps = [
            ("older than", format_time(self._older_than)),
            ("orphan files", f"{len(orphans):,}"),
            *((f"  {number}", path) for number, path in enumerate(orphans[:_LISTED], 1)),
        ]
        if len(orphans) > _LISTED:
            steps.append(("  ...", f"{len(orphans) - _LISTED:,} more"))
        return OrphansPlan(f"remove orphan files of {self._handle.name}", tuple(steps), tuple(orphans))

    def execute(self) -> OrphansResult:
        """Removes the files; `plan` lists them without removing any."""
        return self._handle.run_interruptibly(self._remove_orphans)

    def _remove_orphans(self) -> OrphansResult:
        started = time.monotonic()
        action = f"remove orphan files of {self._handle.name}"
        with show_search(action, self._progress):
            orphans = self._find_orphans()
        chosen = {} if self._dry_run else {"orphans": orphans}
        removed = remove_files(self._handle, action, chosen, self._progress, finish_anyway=False)
        return OrphansResult(
            seconds=time.monotonic() - started,
            orphan_files=tuple(orphans),
            files_removed=removed["orphans"],
            dry_run=self._dry_run,
        )

    def _find_orphans(self) -> list[str]:
        self._handle.refresh()
        require_gc(self._handle, "orphan files cannot be identified")
        return find_orphans(self._handle, self._older_than)
