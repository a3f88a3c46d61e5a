"""Reads Delta commits ahead, so that the files of many commits are looked up at once."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rowdelta.delta.paths import index_by_path
from rowdelta.errors import FormatError, RowDeltaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rowdelta.delta.actions import DeltaCommit

# A batch ends with the commit that brings it to this many files.
_MIN_FILES: Final = 10_000


def batch_commits(commits: Iterable[DeltaCommit]) -> Iterator[list[DeltaCommit]]:
    """Groups commits into batches of bounded size. An unreadable commit raises after those before it were yielded."""
    batch: list[DeltaCommit] = []
    files = 0
    try:
        for commit in commits:
            batch.append(commit)
            files += len(commit.adds) + len(commit.removes)
            if files >= _MIN_FILES:
                yield batch
                batch, files = [], 0
    except RowDeltaError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def list_added_paths(root: str, commits: Iterable[DeltaCommit]) -> set[str]:
    """Lists the paths that commits add. An unreadable path raises later, when its own commit is applied."""
    paths: set[str] = set()
    for commit in commits:
        with suppress(FormatError):
            paths |= index_by_path(root, commit.adds).keys()
    return paths
