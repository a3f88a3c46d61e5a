"""What `resolve` has to do in one snapshot: the equality deletes to remove, and the data files to read for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.change import LINEAGE_VERSION, open_target
from rowdelta.errors import InputError
from rowdelta.iceberg import check_fast_forward
from rowdelta.maintenance.affected_files import find_affected_files
from rowdelta.maintenance.dropped_partitions import exclude_dropped_partitions
from rowdelta.maintenance.file_groups import group_files
from rowdelta.maintenance.partition_filter import find_covered_deletes

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rowdelta.iceberg import DeleteEntry, LiveData, SnapshotFiles, TableHandle
    from rowdelta.maintenance.affected_files import AffectedFiles
    from rowdelta.maintenance.partition_filter import CoveredDeletes


@dataclass(frozen=True)
class ResolvePlan:
    """One snapshot, its equality deletes to remove, and the data files that they may apply to.

    Attributes:
        handle: The table.
        files: The snapshot.
        covered: The equality deletes to remove, and why others stay.
        affected: The data files to read.
        memory: How many bytes the positions of one group of files may take.
    """

    handle: TableHandle
    files: SnapshotFiles
    covered: CoveredDeletes
    affected: AffectedFiles
    memory: int

    @property
    def deletes(self) -> tuple[DeleteEntry, ...]:
        """The equality deletes to remove."""
        return self.covered.deletes

    def group(self) -> list[list[LiveData]]:
        """Groups the data files to read, so that each group fits into the memory."""
        return group_files(self.affected.files, self.memory)

    def list_deletion_vectors(self) -> list[DeleteEntry]:
        """Lists the deletion vectors of the data files to read."""
        paths = {file.path for file in self.affected.files}
        return [entry for entry in self.files.position_deletes if entry.referenced_data_file in paths]


def plan_resolve(
    handle: TableHandle, partitions: str | Column | None, publish: str | None, memory: int
) -> ResolvePlan | None:
    """Plans to resolve the newest snapshot; None if it has no equality deletes.

    Raises:
        InputError: The predicate cuts through a partition, or would leave equality deletes in a state to publish. Or
            the branch to publish to cannot move forward to this snapshot.
        DroppedPartitionError: A data file is in a partition whose column was dropped.
    """
    target = open_target(handle)
    if publish is not None and target.snapshot is not None:
        check_fast_forward(handle, publish, target.snapshot.id)
    if target.files is None or not target.files.equality_deletes:
        return None
    covered = find_covered_deletes(handle, target.files.equality_deletes, partitions)
    if publish is not None and len(covered.deletes) < len(target.files.equality_deletes):
        raise InputError(
            "with partitions=, some equality deletes stay, and the state is not one that every engine reads",
            hint="publish without partitions=",
        )
    covered = exclude_dropped_partitions(handle, target.files, covered)
    affected = find_affected_files(handle, target.files, covered.deletes)
    return ResolvePlan(handle, target.files, covered, affected, memory)


def describe_resolve(plan: ResolvePlan) -> tuple[tuple[str, str], ...]:
    """Describes what would be done, as the steps of `Resolve.plan()`."""
    affected, deletes = plan.affected, plan.deletes
    rows, size = (sum(getattr(file, name) for file in affected.files) for name in ("records", "size_in_bytes"))
    in_puffin = sum(entry.is_vector for entry in deletes)
    counts = {"in Puffin files": in_puffin, "in standard files": len(deletes) - in_puffin}
    by_format = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    new = "deletion vectors" if plan.handle.metadata.format_version >= LINEAGE_VERSION else "position deletes"
    return (
        ("equality deletes", f"{by_format or 'none'}; {sum(entry.record_count for entry in deletes):,} keys"),
        ("dangling", f"{len(affected.dangling)} of them apply to no data file any more"),
        ("files", f"{len(affected.files):,} to scan, {affected.total - len(affected.files):,} pruned"),
        ("rows", f"{rows:,} in these files, of which only key columns are read"),
        ("bytes", f"{size:,}"),
        ("groups", f"{len(plan.group()):,}"),
        ("writes", new),
        *(("skipped", reason) for reason in plan.covered.skipped),
    )
