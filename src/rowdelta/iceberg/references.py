"""Moving a branch forward to a snapshot that is already there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.errors import InputError
from rowdelta.iceberg.metadata_commit import commit_metadata

if TYPE_CHECKING:
    from rowdelta.iceberg.handle import TableHandle


def check_fast_forward(handle: TableHandle, branch: str, snapshot_id: int) -> None:
    """Whether a branch can move to a snapshot without losing commits of its own.

    Raises:
        InputError: The name is a tag or of no branch, or the snapshot does not descend from the branch's head.
    """
    if branch in handle.metadata.tags:
        raise InputError(f"{branch!r} is a tag; only a branch can move", hint="name a branch, such as main")
    if branch != "main" and branch not in handle.metadata.branches:
        raise InputError(
            f"no branch {branch!r}", hint=f"the branches are {', '.join(sorted({'main', *handle.metadata.branches}))}"
        )
    head = handle.metadata.branches.get(branch)
    target = handle.metadata.snapshots.get(snapshot_id)
    if head is not None and not handle.metadata.descends(target, head.snapshot_id):
        raise InputError(
            f"branch {branch!r} has commits that {handle.branch!r} does not have: it cannot be moved forward to it",
            hint=f"bring the commits of {branch!r} into {handle.branch!r} first, or start the branch anew from it",
        )


def fast_forward(handle: TableHandle, branch: str, snapshot_id: int) -> bool:
    """Moves a branch forward to a snapshot; False where it is there already.

    The move is one atomic change of the table's metadata: a commit to the branch in between is seen, never lost.
    """

    def move(builder: Any) -> Any | None:
        check_fast_forward(handle, branch, snapshot_id)
        head = handle.metadata.branches.get(branch)
        if head is not None and head.snapshot_id == snapshot_id:
            return None
        return builder.setBranchSnapshot(snapshot_id, branch)

    if not commit_metadata(handle, move, f"branch {branch!r} was moved"):
        return False
    handle.spark.catalog.refreshTable(handle.full_name)
    return True


def _ancestors(handle: TableHandle, snapshot_id: int) -> set[int]:
    return {known.id for known in handle.metadata.ancestors(handle.metadata.snapshots.get(snapshot_id))}


def create_branch(handle: TableHandle, branch: str) -> None:
    """Makes a branch that starts at the head of the handle's own; of a table without snapshots, an empty one."""
    head = handle.snapshot()
    snapshots = handle._table.manageSnapshots()
    if head is None:
        snapshots.createBranch(branch).commit()
    else:
        snapshots.createBranch(branch, head.id).commit()
    handle.refresh()


def drop_branch(handle: TableHandle, name: str, *, discard: bool) -> None:
    """Removes a branch; with `discard` also the snapshots that only it had, and their files."""
    handle.refresh()
    if name not in handle.metadata.branches:
        return
    mine = _ancestors(handle, handle.metadata.branches[name].snapshot_id)
    others = [ref.snapshot_id for known, ref in handle.metadata.references.items() if known != name]
    mine -= {found for snapshot_id in others for found in _ancestors(handle, snapshot_id)}
    handle._table.manageSnapshots().removeBranch(name).commit()
    if discard and mine:
        expire = handle._table.expireSnapshots().expireOlderThan(0)  # by name alone, never by age
        for snapshot_id in mine:
            expire = expire.expireSnapshotId(snapshot_id)
        expire.commit()
    handle.refresh()
