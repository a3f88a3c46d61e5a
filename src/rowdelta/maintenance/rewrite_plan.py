"""What `rewrite_deletes` has to do in one snapshot: which delete files to rewrite, and into what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.change import open_target
from rowdelta.encoding import FileContent
from rowdelta.iceberg import list_delete_files
from rowdelta.maintenance.equality_groups import plan_equality_groups
from rowdelta.maintenance.rewrite_positions import plan_position_rewrite

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rowdelta.encoding import DeleteEncoding
    from rowdelta.iceberg import DeleteEntry, SnapshotFiles, TableHandle
    from rowdelta.maintenance.equality_groups import EqualityGroup
    from rowdelta.maintenance.rewrite_positions import PositionRewrite


@dataclass(frozen=True)
class RewritePlan:
    """The delete files of one snapshot to rewrite.

    Attributes:
        files: The snapshot.
        groups: Equality deletes; one new file replaces each group.
        skipped: Why other equality deletes stay as they are.
        positions: Position deletes.
    """

    files: SnapshotFiles
    groups: list[EqualityGroup]
    skipped: list[str]
    positions: PositionRewrite

    @property
    def equality_count(self) -> int:
        """How many equality deletes would be rewritten."""
        return sum(len(group.entries) for group in self.groups)

    @property
    def size_in_bytes(self) -> int:
        """The size of all data files of the snapshot."""
        return sum(file.size_in_bytes for file in self.positions.data.values())


def plan_rewrite(
    handle: TableHandle,
    target: DeleteEncoding | None,
    where: str | Column | None,
    min_input_files: int,
    target_size: int,
) -> RewritePlan | None:
    """Plans to rewrite deletes of the newest snapshot; None if it has no deletes.

    Args:
        handle: The table.
        target: The encoding of new equality deletes; None keeps the encoding of each.
        where: Which deletes, by the columns of `t.delete_files()`.
        min_input_files: How many deletes of one data file or partition are worth merging.
        target_size: About how large a new file of deletes for several data files may be.
    """
    files = open_target(handle).files
    if files is None or not (files.equality_deletes or files.position_deletes):
        return None
    entries = _select_deletes(handle, files, where)
    equality = (entry for entry in entries if entry.content is FileContent.EQUALITY)
    groups, skipped = plan_equality_groups(handle, files, equality, target, min_input_files)
    position = [entry for entry in entries if entry.content is FileContent.POSITION]
    positions = plan_position_rewrite(handle, files, position, min_input_files, target_size)
    return RewritePlan(files, groups, skipped, positions)


def _select_deletes(handle: TableHandle, files: SnapshotFiles, where: str | Column | None) -> list[DeleteEntry]:
    """Selects the deletes of a snapshot that a predicate on `t.delete_files()` selects."""
    entries = [*files.equality_deletes, *files.position_deletes]
    if where is None:
        return entries
    matches = list_delete_files(handle, files.snapshot.id).where(where).select("path", "content_offset").collect()
    selected = {(row.path, row.content_offset) for row in matches}
    return [e for e in entries if (e.path, e.content_offset) in selected or (e.path, None) in selected]


def describe_rewrite(plan: RewritePlan) -> tuple[tuple[str, str], ...]:
    """Describes what would be done, as the steps of `RewriteDeletes.plan()`."""
    encodings = {group.encoding.shown(FileContent.EQUALITY) for group in plan.groups}
    goal = ", ".join(sorted(encodings)) or "they are"
    return (
        ("equality", f"{plan.equality_count} into {len(plan.groups)} as {goal}"),
        ("position", f"{len(plan.positions.entries)} merged by data file"),
        *(("skipped", reason) for reason in plan.skipped[:10]),
    )
