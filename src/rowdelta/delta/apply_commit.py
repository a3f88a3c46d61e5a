"""Applies one change of a Delta table as one snapshot of the Iceberg table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rowdelta.change import commit_and_refresh
from rowdelta.delta.commit_batches import batch_commits, list_added_paths
from rowdelta.delta.counts import Counts, count_change
from rowdelta.delta.data_files import convert_added_files, convert_deleted_rows
from rowdelta.delta.existing_files import ExistingPaths, load_data_files, load_delete_files
from rowdelta.delta.file_changes import FileChanges, find_file_changes, load_removed_files, load_replaced_deletes
from rowdelta.delta.paths import index_by_path
from rowdelta.delta.progress import DeltaProgress
from rowdelta.delta.sync_properties import (
    OPERATION,
    SNAPSHOT_VERSION,
    TABLE_ID,
    TIMESTAMP,
    VERSION,
    find_delete_folder,
    is_last_conversion,
)
from rowdelta.delta.table_layout import plan_layout, read_layout
from rowdelta.delta.vectors import VectorCopier
from rowdelta.errors import TableError
from rowdelta.iceberg import RowChange, Validation, build_row_filter, read_snapshot_files, update_table
from rowdelta.maintenance import restore_vector_offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rowdelta.delta.actions import DeltaCommit
    from rowdelta.delta.progress import OnDeltaProgress
    from rowdelta.delta.table_layout import Layout
    from rowdelta.iceberg import ContentFile, NewDelete, TableHandle, TableUpdate, UncommittedSnapshot


@dataclass(frozen=True)
class Settings:
    """How to convert.

    Attributes:
        root: The Delta table's folder.
        zone: The time zone of partition values that carry none.
        stats: `log` or `footer`: where the metrics of data files come from.
        verify_files: Whether to check that every new data file exists and has the columns that it should have.
    """

    root: str
    zone: str
    stats: str = "log"
    verify_files: bool = False


@dataclass(frozen=True)
class _Existing:
    """Files that the table has: data files that stay, data files to remove, and delete files to remove."""

    staying: Mapping[str, ContentFile]
    removed: Sequence[ContentFile]
    old_deletes: Sequence[ContentFile]


class CommitApplier:
    """Applies changes of one Delta table to one Iceberg table."""

    def __init__(self, handle: TableHandle, settings: Settings, progress: OnDeltaProgress) -> None:
        self._handle = handle
        self._settings = settings
        self._progress = progress
        self._delete_folder = find_delete_folder(handle.metadata)
        self._current = read_layout(handle, settings.zone)
        self._existing_paths = ExistingPaths(handle)

    def apply_all(self, commits: Iterable[DeltaCommit]) -> Counts:
        """Makes one snapshot of each commit, in order."""
        counts = Counts()
        for batch in batch_commits(commits):
            if len(batch) > 1:
                self._existing_paths.look_up(list_added_paths(self._settings.root, batch))
            for commit in batch:
                counts += self.apply(commit)
        return counts

    def apply(self, commit: DeltaCommit, properties: Mapping[str, str] | None = None) -> Counts:
        """Makes one snapshot of a commit, and changes the table's metadata in the same step.

        Args:
            commit: What Delta did.
            properties: Further properties to set.
        """
        layout = self._find_layout(commit)
        changes = find_file_changes(self._existing_paths, self._settings.root, commit)
        return self._commit(commit, layout, changes, properties or {})

    def replace_all(self, commit: DeltaCommit, properties: Mapping[str, str] | None = None) -> Counts:
        """Replaces the files of the table by exactly those of a commit, in one snapshot."""
        head = self._handle.snapshot()
        files = None if head is None else read_snapshot_files(self._handle, head)
        if files is not None:
            restore_vector_offsets(self._handle, files)
        old, old_deletes = load_data_files(self._handle), load_delete_files(self._handle)
        adds = index_by_path(self._settings.root, commit.adds)
        stays = adds.keys() & old.keys()
        changes = FileChanges(
            added={path: add for path, add in adds.items() if path not in stays},
            removed={},
            vectors={path: add for path, add in adds.items() if add.vector is not None},
            replaced={},
        )
        removed = [old[path] for path in sorted(old.keys() - adds.keys())]
        existing = _Existing({path: old[path] for path in stays}, removed, old_deletes)
        # If the newest snapshot is of another writer, commit one even if nothing changes: otherwise every later
        # conversion would have to convert the whole table again.
        always = not is_last_conversion(self._handle)
        return self._commit(commit, self._find_layout(commit), changes, properties or {}, existing, always=always)

    def _find_layout(self, commit: DeltaCommit) -> Layout:
        """Finds the layout of the table after a commit."""
        if commit.metadata is None:
            return self._current
        return plan_layout(self._handle, commit.metadata, self._settings.zone)

    def _commit(
        self,
        commit: DeltaCommit,
        layout: Layout,
        changes: FileChanges,
        properties: Mapping[str, str],
        existing: _Existing | None = None,
        *,
        always: bool = False,
    ) -> Counts:
        """Converts the files of a commit, writes its delete files and commits both.

        Args:
            commit: What Delta did.
            layout: The layout of the table after the commit.
            changes: What the commit does to the files of the table.
            properties: Further properties to set.
            existing: The files concerned that the table has; default: those that `changes` names.
            always: Whether to make a snapshot even if no file changes.
        """
        handle = self._handle
        added = self._convert_added_files(commit, layout, changes)
        existing = existing or self._load_existing(commit, changes)
        removed, old_deletes = existing.removed, existing.old_deletes
        update, validation = self._build_update(commit, layout, properties), self._build_validation(len(removed))
        by_path = {file.path: file for file in added} | dict(existing.staying)
        deleted = convert_deleted_rows(handle, layout, changes.vectors, by_path)
        count = self._build_counter(commit, "vectors", len(changes.vectors))
        copier = VectorCopier(handle, self._settings.root, self._delete_folder, count)
        # The commit removes the delete files if it fails, so nothing that can fail may come between these two.
        deletes = copier.copy(deleted)
        if not (added or removed or deletes or old_deletes or always):
            self._update_description(update)
            return Counts()
        change = RowChange(
            deletes=deletes,
            removed_deletes=old_deletes,
            removed_rows=removed,
            kept_files=added,
            validation=validation,
            summary={VERSION: str(commit.version), TIMESTAMP: str(commit.timestamp), OPERATION: commit.operation},
            update=replace(update, properties={**update.properties, SNAPSHOT_VERSION: str(commit.version)}),
            operation=_name_operation(commit, added, removed, deletes, old_deletes),
        )
        snapshot = commit_and_refresh(handle, change)
        self._existing_paths.follow(snapshot.id, changes.added.keys(), {file.path for file in removed})
        self._current = replace(layout, changed=False)
        return count_change(snapshot.id, change, changes.vectors.values(), copier.bytes_copied)

    def _convert_added_files(self, commit: DeltaCommit, layout: Layout, changes: FileChanges) -> list[ContentFile]:
        count = self._build_counter(commit, "files", len(changes.added))
        stats, verify = self._settings.stats, self._settings.verify_files
        return convert_added_files(self._handle, layout, changes.added, count, stats=stats, verify_all=verify)

    def _load_existing(self, commit: DeltaCommit, changes: FileChanges) -> _Existing:
        removed = load_removed_files(self._handle, self._current, changes)
        return _Existing({}, removed, load_replaced_deletes(self._handle, commit.version, changes))

    def _build_update(self, commit: DeltaCommit, layout: Layout, properties: Mapping[str, str]) -> TableUpdate:
        metadata = self._handle.metadata
        new_properties = {VERSION: str(commit.version), **properties}
        if commit.metadata is not None:
            new_properties[TABLE_ID] = commit.metadata.id
        update = layout.build_update(self._handle, new_properties, exact=self._settings.stats == "footer")
        return replace(
            update, requires={VERSION: metadata.properties.get(VERSION)}, snapshot_id=metadata.current_snapshot_id
        )

    def _update_description(self, update: TableUpdate) -> None:
        """Changes only the table's metadata."""
        update_table(self._handle, update)
        self._current = read_layout(self._handle, self._settings.zone)

    def _build_validation(self, removed: int) -> Validation:
        """Builds the validation of a commit: the table must have had every file that Delta removed."""
        head = self._handle.snapshot()

        def check(uncommitted: UncommittedSnapshot) -> None:
            newest = max(record["sequence_number"] for record in uncommitted.listing.records)
            own = [r for r in uncommitted.listing.records if not r["content"] and r["sequence_number"] == newest]
            deleted = sum(record["deleted_files_count"] for record in own)
            if deleted != removed:
                raise TableError(
                    f"Delta removed {removed} files, and {self._handle.name} holds {deleted} of them",
                    hint="convert again with mode='full'",
                )

        return Validation(
            snapshot_id=None if head is None else head.id,
            row_filter=build_row_filter(self._handle, None),
            further=check if removed else None,
        )

    def _build_counter(self, commit: DeltaCommit, step: str, total: int) -> Callable[[int], None]:
        """Builds a callback that adds up progress and reports it."""
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            self._progress(DeltaProgress(commit.version, step, done, total))

        return count


def _name_operation(
    commit: DeltaCommit,
    added: Sequence[ContentFile],
    removed: Sequence[ContentFile],
    deletes: Sequence[NewDelete],
    old_deletes: Sequence[ContentFile],
) -> str:
    """Names the snapshot's operation, as the Iceberg spec names it."""
    if commit.replaces or not (added or removed or deletes or old_deletes):
        return "replace"
    if added:
        return "overwrite" if removed or deletes or old_deletes else "append"
    # Without new files, fewer deletes than before bring rows back.
    deleted, restored = sum(new.file.record_count for new in deletes), sum(file.record_count for file in old_deletes)
    return "delete" if removed or deleted >= restored else "overwrite"
