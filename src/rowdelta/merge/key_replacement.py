"""Commits changes by key together with the positions of the rows that they replace or delete."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rowdelta.change import commit_and_refresh, open_target, write_positions
from rowdelta.errors import CommitConflictError
from rowdelta.iceberg import RowChange, build_row_filter
from rowdelta.merge.key_matches import KeyMatches, MatchCounts, find_key_matches

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from rowdelta.change import Target
    from rowdelta.iceberg import Snapshot, StagedFiles, TableHandle
    from rowdelta.merge.wanted_keys import WantedKeys

log: Final = logging.getLogger("rowdelta")
_RETRIES: Final = "commit.retry.num-retries"


@dataclass(frozen=True)
class Replacement:
    """What was committed.

    Attributes:
        snapshot: The snapshot; None if nothing changed.
        change: What it adds and removes.
        counts: What the changes did to rows that existed.
    """

    snapshot: Snapshot | None
    change: RowChange
    counts: MatchCounts

    @property
    def rows_written(self) -> int:
        """New rows, those that replace others among them."""
        return 0 if self.change.rows is None else self.change.rows.record_count


def replace_by_key(
    target: Target,
    wanted: WantedKeys,
    stage: Callable[[Target, KeyMatches | None], StagedFiles | None],
    *,
    rows: DataFrame | None = None,
    reads_old_values: bool = False,
) -> Replacement:
    """Deletes the rows with wanted keys by position, and adds new rows, in one snapshot.

    If another writer commits first, only the data files that it changed are read again, and the new rows are written
    again only if they depend on what has changed.

    Args:
        target: The table, as it was opened.
        wanted: The keys.
        stage: Writes the new rows, given the matches; None for an empty table has no matches.
        rows: The live rows of the table with their ids, if the caller has read them.
        reads_old_values: Whether new rows have values of old ones, so that they depend on where these are.

    Raises:
        CommitConflictError: Other writers changed the same keys in every attempt, or the schema or the partitions.
    """
    layout, attempts = _read_layout(target.handle), int(target.handle.metadata.properties.get(_RETRIES, 4))
    with ExitStack() as caches:
        matches = _find(target, wanted, caches, rows=rows)
        staged = stage(target, matches)
        while True:
            change = _make_change(target, matches, staged)
            counts = MatchCounts() if matches is None else matches.counts
            if change.is_empty:
                return Replacement(None, change, counts)
            try:
                return Replacement(commit_and_refresh(target.handle, change), change, counts)
            except CommitConflictError as error:
                try:
                    if attempts == 0:
                        raise
                    log.info("the keys are looked up again: %s", error.message)
                    attempts -= 1
                    target = open_target(target.handle)
                    if _read_layout(target.handle) != layout:
                        raise
                    earlier, matches = matches, _find(target, wanted, caches, matches)
                    if not reads_old_values and _gives_same_rows(earlier, matches):
                        continue
                except BaseException:
                    _remove(staged)
                    raise
                _remove(staged)
                staged = stage(target, matches)


def _find(
    target: Target,
    wanted: WantedKeys,
    caches: ExitStack,
    earlier: KeyMatches | None = None,
    rows: DataFrame | None = None,
) -> KeyMatches | None:
    if target.files is None:
        return None
    return caches.enter_context(find_key_matches(target, wanted, earlier, rows))


def _gives_same_rows(earlier: KeyMatches | None, matches: KeyMatches | None) -> bool:
    if earlier is None or matches is None:
        return earlier is matches
    return matches.gives_same_rows(earlier)


def _read_layout(handle: TableHandle) -> tuple[int, int]:
    return handle.metadata.current_schema_id, handle.metadata.spec.id


def _make_change(target: Target, matches: KeyMatches | None, staged: StagedFiles | None) -> RowChange:
    """Makes the change; removes the new rows if the deletes cannot be written."""
    rows = staged if staged is not None and len(staged) else None
    if matches is None:
        validation = target.build_validation(build_row_filter(target.handle, None), "serializable", [], updates=True)
        return RowChange(rows=rows, validation=validation, rows_survive_conflict=True)
    assert target.files is not None
    paths = [file.path for file in matches.touched]
    validation = target.build_validation(matches.condition, "serializable", paths, updates=True)
    try:
        written = write_positions(target.handle, target.files, matches.touched)
    except BaseException:
        _remove(staged)
        raise
    return replace(written.change(validation, rows), rows_survive_conflict=True)


def _remove(staged: StagedFiles | None) -> None:
    if staged is not None:
        staged.remove()
