"""Measures the delete debt of a table: what its deletes are, what they apply to, and what they cost readers.

All of it comes from metadata: the manifests of one snapshot, and the summaries of those before it.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rowdelta._deprecated import RenamedAttribute
from rowdelta.debt.advice import EQUALITY_READERS, EQUALITY_REFUSERS, Advice, give_advice
from rowdelta.debt.costs import ReadCost, estimate_scan_seconds
from rowdelta.debt.counts import count_debt
from rowdelta.debt.history import Commit, OldSnapshots, find_old_snapshots, list_commits
from rowdelta.encoding import FileContent
from rowdelta.iceberg import read_snapshot_files
from rowdelta.read import check_vectors

if TYPE_CHECKING:
    from rowdelta.debt.debt_parts import FileDebt, KindDebt, PartitionDebt
    from rowdelta.iceberg import TableHandle

ANY_ENGINE: Final = "any engine"
V3_ENGINES: Final = "v3 engines"
EQUALITY_ENGINES: Final = "engines that read equality deletes"
ONLY_ROWDELTA: Final = "only rowdelta"
_V3: Final = 3
DebtT = TypeVar("DebtT", bound="Debt")


@dataclass(frozen=True)
class Debt:
    """What the deletes of one snapshot cost readers, and what to do about it.

    Attributes:
        table: The table's name.
        branch: The branch that was measured.
        snapshot_id: Its newest snapshot; None for an empty table.
        format_version: Of the table.
        data_files: Live data files.
        rows: Rows in them, including deleted rows.
        bytes: The size of all data files.
        files_with_deletes: Data files that a reader must apply deletes to.
        delete_files: Live delete files; a vector counts as one.
        dangling_files: Delete files that apply to no data file any more.
        delete_bytes: The size of all deletes.
        positions: Rows that are deleted by position.
        keys: Keys of the equality deletes that still apply to something.
        key_columns: The columns of these keys; one entry for each set of columns.
        oldest_delete_ms: When the oldest live delete was committed, at the latest.
        readers: `any engine`, `v3 engines`, `engines that read equality deletes` or `only rowdelta`.
        readers_reason: Why these and no others.
        scan_seconds: The estimated time of a scan without any delete.
        iceberg: What Iceberg's reader pays on top of it; None if it refuses to read the table.
        rowdelta: What rowdelta's reader pays.
        kinds: The deletes by kind and encoding.
        partitions: The debt of each partition, the largest first.
        files: The debt of each data file with deletes, the largest first.
        commits: The deletes that the table had after each commit, oldest first.
        old_snapshots: What `t.expire()` would remove.
        advice: What to do, most urgent first; never empty.
        taken_at_ms: When the debt was measured.
        seconds: How long that took.

    Examples:
        >>> _ = t.delete("status = 'void'").execute()
        >>> debt = t.debt()
        >>> debt.rows, debt.positions, debt.keys, debt.delete_files, debt.readers
        (4, 1, 0, 1, 'v3 engines')
    """

    table: str
    branch: str
    snapshot_id: int | None
    format_version: int
    data_files: int
    rows: int
    bytes: int
    files_with_deletes: int
    delete_files: int
    dangling_files: int
    delete_bytes: int
    positions: int
    keys: int
    key_columns: tuple[tuple[str, ...], ...]
    oldest_delete_ms: int | None
    readers: str
    readers_reason: str
    scan_seconds: float
    iceberg: ReadCost | None
    rowdelta: ReadCost
    kinds: tuple[KindDebt, ...]
    partitions: tuple[PartitionDebt, ...] = field(repr=False)
    files: tuple[FileDebt, ...] = field(repr=False)
    commits: tuple[Commit, ...] = field(repr=False)
    old_snapshots: OldSnapshots
    taken_at_ms: int
    advice: tuple[Advice, ...] = ()
    seconds: float = 0.0
    stock = RenamedAttribute("iceberg")

    @property
    def dangling_share(self) -> float:
        """The share of the delete files that apply to nothing.

        Examples:
            >>> t.debt().dangling_share
            0.0
        """
        return self.dangling_files / self.delete_files if self.delete_files else 0.0

    @property
    def oldest_delete_age_seconds(self) -> float | None:
        """How old the oldest live delete is, at least.

        Examples:
            >>> t.debt().oldest_delete_age_seconds is None  # there is no delete
            True
        """
        return None if self.oldest_delete_ms is None else max(self.taken_at_ms - self.oldest_delete_ms, 0) / 1000

    def to_dict(self) -> dict[str, Any]:
        """Returns all numbers as a plain dictionary.

        Examples:
            >>> t.debt().to_dict()["data_files"]
            1
        """
        document = asdict(self)
        document["dangling_share"] = self.dangling_share
        document["oldest_delete_age_seconds"] = self.oldest_delete_age_seconds
        return document

    def to_json(self) -> str:
        """Returns all numbers as one JSON document.

        Examples:
            >>> print(t.debt().to_json()[:31])
            {
              "table": "lake.db.orders",
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)


def measure_debt(
    handle: TableHandle, snapshot_id: int | None, debt_type: type[DebtT], *, verify: bool = False
) -> DebtT:
    """Measures the debt of a snapshot.

    Args:
        handle: The table.
        snapshot_id: The snapshot; None for the newest of the branch.
        debt_type: The class to make.
        verify: Whether to read every deletion vector, and refuse a damaged one.
    """
    started = time.monotonic()
    handle.refresh()
    snapshot = handle.snapshot(snapshot_id)
    files = read_snapshot_files(handle, snapshot) if verify and snapshot is not None else None
    if files is not None:
        check_vectors(handle, files.position_deletes)
    now_ms = int(time.time() * 1000)
    counts = count_debt(handle, snapshot)
    readers, reason = _name_readers(handle.metadata.format_version, counts.kinds)
    debt = debt_type(
        **counts.totals,
        table=handle.name,
        branch=handle.branch,
        snapshot_id=None if snapshot is None else snapshot.id,
        format_version=handle.metadata.format_version,
        readers=readers,
        readers_reason=reason,
        scan_seconds=estimate_scan_seconds(counts.totals["rows"]),
        kinds=counts.kinds,
        partitions=counts.partitions,
        files=counts.files,
        commits=list_commits(handle, snapshot),
        old_snapshots=find_old_snapshots(handle, now_ms),
        taken_at_ms=now_ms,
    )
    advice = give_advice(debt, handle.metadata.properties)
    return replace(debt, advice=advice, seconds=time.monotonic() - started)


def _name_readers(format_version: int, kinds: tuple[KindDebt, ...]) -> tuple[str, str]:
    vectors = sum(kind.files - kind.dangling_files for kind in kinds if kind.only_rowdelta)
    if vectors:
        apply = "1 equality delete vector applies" if vectors == 1 else f"{vectors:,} equality delete vectors apply"
        return ONLY_ROWDELTA, f"{apply}; other readers refuse the files under them"
    version = f"the table is of format version {format_version}"
    # Engines refuse equality deletes by their manifests, even where they apply to nothing.
    files = sum(kind.files for kind in kinds if kind.content == FileContent.EQUALITY.value and not kind.only_rowdelta)
    if files:
        has = "1 standard equality delete file" if files == 1 else f"{files:,} standard equality delete files"
        return EQUALITY_ENGINES, f"{version} and has {has}: {EQUALITY_READERS} read them, {EQUALITY_REFUSERS} do not"
    what = "its live deletes are by position" if kinds else "it has no live deletes"
    return V3_ENGINES if format_version >= _V3 else ANY_ENGINE, f"{version}, and {what}"
