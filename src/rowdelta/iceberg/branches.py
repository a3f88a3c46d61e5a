"""Creates branches, moves them forward to an existing snapshot, and drops them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import CommitConflictError, InputError, RowDeltaError
from rowdelta.iceberg.expire import find_added_files
from rowdelta.iceberg.file_removal import delete_from_storage
from rowdelta.iceberg.metadata_commit import commit_metadata
from rowdelta.spark import JavaError, read_java_message

if TYPE_CHECKING:
    from rowdelta.iceberg.table_handle import TableHandle

log: Final = logging.getLogger("rowdelta")


def check_fast_forward(handle: TableHandle, branch: str, snapshot_id: int) -> None:
    """Refuses to move a branch to a snapshot if the branch would lose its own commits.

    Raises:
        InputError: The name is a tag or unknown, or the snapshot does not descend from the branch's head.
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
            f"branch {branch!r} has commits that {handle.branch!r} does not have, or the snapshots between them have "
            "expired: it cannot be moved forward to it",
            hint=f"bring the commits of {branch!r} into {handle.branch!r} first, or drop the branch and start again",
        )


def fast_forward(handle: TableHandle, branch: str, snapshot_id: int, start_id: int | None = None) -> bool:
    """Moves a branch forward to a snapshot; False if it is already there.

    The move is one atomic change of the table's metadata. A concurrent commit to the branch is detected, never lost.

    Args:
        handle: The table.
        branch: The branch.
        snapshot_id: The snapshot.
        start_id: The snapshot that the branch must still be at, an ancestor of the new one; default: any ancestor.

    Raises:
        CommitConflictError: The branch is no longer at `start_id`.
        InputError: It cannot move there; see `check_fast_forward`.
    """

    def move(builder: Any) -> Any | None:
        head = handle.metadata.branches.get(branch)
        if head is not None and head.snapshot_id == snapshot_id:
            return None
        if start_id is not None and (head is None or head.snapshot_id != start_id):
            raise CommitConflictError(f"another writer changed branch {branch!r} meanwhile", hint="run it again")
        if start_id is None:
            check_fast_forward(handle, branch, snapshot_id)
        return builder.setBranchSnapshot(snapshot_id, branch)

    if not commit_metadata(handle, move, f"move branch {branch!r}"):
        return False
    handle.spark.catalog.refreshTable(handle.full_name)
    return True


def _find_ancestors(handle: TableHandle, snapshot_id: int) -> set[int]:
    return {snapshot.id for snapshot in handle.metadata.ancestors(handle.metadata.snapshots.get(snapshot_id))}


def create_branch(handle: TableHandle, branch: str) -> None:
    """Creates a branch at the head of the handle's branch; an empty branch if the table has no snapshots."""
    head = handle.snapshot()
    snapshots = handle.java_table.manageSnapshots()
    if head is None:
        snapshots.createBranch(branch).commit()
    else:
        snapshots.createBranch(branch, head.id).commit()
    handle.refresh()


def drop_branch(handle: TableHandle, name: str, *, start_id: int | None = None) -> None:
    """Removes a branch. Given the snapshot that it started at, also removes its later snapshots and their files.

    This cleans up after an error that the caller must see, so a failure here is only logged.
    """
    try:
        _remove_branch(handle, name, start_id)
    except (RowDeltaError, *JavaError) as error:
        log.warning(
            "branch %s of %s, or some of its files, cannot be removed: %s", name, handle.name, _read_message(error)
        )


def _read_message(error: Exception) -> str:
    return error.message if isinstance(error, RowDeltaError) else read_java_message(error)


def _remove_branch(handle: TableHandle, name: str, start_id: int | None) -> None:
    removed_snapshots: list[dict[str, Any]] = []

    def remove(builder: Any) -> Any | None:
        """Changes only metadata: Iceberg's expiry needs `gc.enabled`, and also expires snapshots of other branches."""
        if name not in handle.metadata.branches:
            return None
        own_ids = set() if start_id is None else _find_own_snapshots(handle, name) - _find_ancestors(handle, start_id)
        removed_snapshots[:] = [
            snapshot for snapshot in handle.read_whole_document()["snapshots"] if snapshot["snapshot-id"] in own_ids
        ]
        metadata = handle.java_table.operations().current()
        return builder.removeRef(name).removeSnapshots([metadata.snapshot(snapshot_id) for snapshot_id in own_ids])

    if commit_metadata(handle, remove, f"remove branch {name!r}") and removed_snapshots:
        delete_from_storage(handle, find_added_files(handle, removed_snapshots))


def _find_own_snapshots(handle: TableHandle, branch: str) -> set[int]:
    """Finds the snapshots that no other branch or tag has."""
    references = handle.metadata.references
    others = [reference.snapshot_id for name, reference in references.items() if name != branch]
    shared = {ancestor_id for snapshot_id in others for ancestor_id in _find_ancestors(handle, snapshot_id)}
    return _find_ancestors(handle, references[branch].snapshot_id) - shared
