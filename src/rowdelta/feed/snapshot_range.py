"""Finds the commits between two states of a table, and the pairs of snapshots whose rows are compared."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from rowdelta.errors import InputError
from rowdelta.iceberg import SAME_ROWS, Snapshot
from rowdelta.read import find_snapshot_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowdelta.iceberg import TableHandle

State: TypeAlias = "int | str | dt.datetime"
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True)
class Step:
    """Two states of a table whose rows are compared.

    Attributes:
        before: The older state; None for an empty table.
        after: The newer state.
        commit: The snapshot that is reported for the changes.
        ordinal: Its place among the commits of the range.
    """

    before: Snapshot | None
    after: Snapshot
    commit: Snapshot
    ordinal: int


def find_snapshot(handle: TableHandle, state: State, argument: str) -> Snapshot:
    """Finds the snapshot of an id, a tag or a time.

    Raises:
        InputError: There is no such snapshot, tag or time, or it has expired.
    """
    if isinstance(state, str) and state in handle.metadata.tags:
        state = handle.metadata.tags[state].snapshot_id
    elif isinstance(state, str) and _NUMBER.fullmatch(state):
        state = int(state)
    if isinstance(state, bool) or not isinstance(state, (int, str, dt.datetime)):
        raise InputError(
            f"{argument} must be a snapshot id, a time or a tag, not {type(state).__name__}: {state!r}",
            hint="such as t.metadata.current_snapshot_id, '2024-01-31T12:00:00' or 'audit'",
        )
    if not isinstance(state, int):
        return _find_by_time(handle, state, argument)
    snapshot = handle.metadata.snapshots.get(state)
    if snapshot is None:
        raise InputError(
            f"{argument}: {handle.name} has no snapshot {state}; it may have expired",
            hint=_describe_oldest(_list_ancestors(handle, handle.snapshot())),
        )
    return snapshot


def _find_by_time(handle: TableHandle, state: str | dt.datetime, argument: str) -> Snapshot:
    if isinstance(state, str):
        try:
            state = dt.datetime.fromisoformat(state)
        except ValueError:
            tags = ", ".join(sorted(handle.metadata.tags)) or "none"
            raise InputError(
                f"{argument}: {state!r} is neither a tag nor a time",
                hint=f"the tags are {tags}; write a time as 2024-01-31T12:00:00 or 2024-01-31 12:00:00+02:00",
            ) from None
    try:
        return find_snapshot_at(handle, state)
    except InputError as error:
        line = _list_ancestors(handle, handle.snapshot())
        raise InputError(f"{argument}: {error.message}", hint=_describe_oldest(line)) from None


def list_commits(handle: TableHandle, start: Snapshot | None, end: Snapshot) -> list[Snapshot]:
    """Lists the snapshots after `start`, up to `end`, oldest first; from the first one without a start.

    Raises:
        InputError: The start is not an ancestor of the end, or snapshots between them have expired.
    """
    line: list[Snapshot] = []
    for snapshot in handle.metadata.ancestors(end):
        if start is not None and snapshot.id == start.id:
            return line[::-1]
        line.append(snapshot)
    if line[-1].parent_id is not None:
        what = "the first snapshot" if start is None else f"snapshot {start.id}"
        raise InputError(
            f"snapshots of {handle.name} between {what} and snapshot {end.id} have expired", hint=_describe_oldest(line)
        )
    if start is not None:
        raise InputError(
            f"snapshot {start.id} of {handle.name} is not an ancestor of snapshot {end.id}",
            hint="changes go from an older to a newer snapshot of one branch; a rollback removes snapshots from it",
        )
    return line[::-1]


def _list_ancestors(handle: TableHandle, snapshot: Snapshot | None) -> list[Snapshot]:
    return list(handle.metadata.ancestors(snapshot))


def _describe_oldest(line: Sequence[Snapshot]) -> str:
    if not line:
        return "the branch has no snapshot"
    oldest = line[-1]
    time = dt.datetime.fromtimestamp(oldest.timestamp_ms / 1000, dt.timezone.utc)
    return f"the oldest snapshot that is left is {oldest.id}, of {time.isoformat(timespec='seconds')}"


def has_same_rows(snapshot: Snapshot) -> bool:
    """Whether a snapshot has the rows of its parent: compaction and resolve only write them in another way."""
    return snapshot.operation == "replace" or SAME_ROWS in snapshot.summary


def plan_steps(handle: TableHandle, start: Snapshot | None, end: Snapshot, *, net: bool) -> list[Step]:
    """Plans which snapshots are compared: every commit with its parent or, for `net`, the ends of the range.

    A commit that only rewrites rows is left out. It would cost `net` a comparison of all rewritten rows, so the
    range is split there.
    """
    if net and start is None:
        return [Step(None, end, end, 0)]
    commits = list_commits(handle, start, end)
    if net:
        parts = [list(some) for same, some in groupby(commits, has_same_rows) if not same]
        return [Step(_find_parent(handle, part[0]), part[-1], end, 0) for part in parts]
    changing = [commit for commit in commits if not has_same_rows(commit)]
    return [Step(_find_parent(handle, commit), commit, commit, number) for number, commit in enumerate(changing)]


def _find_parent(handle: TableHandle, snapshot: Snapshot) -> Snapshot | None:
    return None if snapshot.parent_id is None else handle.metadata.snapshots[snapshot.parent_id]
