"""What one operation adds to a table and removes from it, and what it relies on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.snapshot_contents import read_snapshot_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rowdelta.encoding import DeleteEncoding
    from rowdelta.iceberg.avro_file import AvroFile
    from rowdelta.iceberg.content_files import ContentFile
    from rowdelta.iceberg.row_filter import RowFilter
    from rowdelta.iceberg.snapshot_contents import SnapshotFiles
    from rowdelta.iceberg.staged_files import StagedFiles
    from rowdelta.iceberg.table_handle import TableHandle
    from rowdelta.iceberg.table_update import TableUpdate
    from rowdelta.spark import Gateway


@dataclass(frozen=True)
class NewDelete:
    """A delete file to be added, with its encoding.

    `sequence_number` is set if the file replaces an older one and keeps its age. Then all new files of the change have
    one, and the change replaces nothing but deletes.
    """

    file: ContentFile
    encoding: DeleteEncoding
    sequence_number: int | None = None


@dataclass(frozen=True)
class RowChange:
    """What one operation adds and removes.

    Attributes:
        deletes: New delete files.
        rows: New data files, already written.
        contents: Bytes of new files by path. They are written while Iceberg makes manifests.
        removed_deletes: Delete files to remove.
        removed_rows: Data files to remove.
        whole_files: Drops every data file whose rows all match this filter. Only a validation may go with it.
        validation: What concurrent writers must not have done; None for changes that depend on nothing.
        summary: More entries for the snapshot's summary.
        kept_files: New data files that another table owns. They are never removed, even if the commit fails.
        update: Changes of the table's schema, spec and properties that are committed together with the snapshot.
        rows_survive_conflict: After a conflict with another writer, the new data files stay: the caller commits them
            again, or removes them.
        operation: The snapshot's operation; default: Iceberg's own choice.
    """

    deletes: Sequence[NewDelete] = ()
    rows: StagedFiles | None = None
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    removed_deletes: Sequence[ContentFile] = ()
    removed_rows: Sequence[ContentFile] = ()
    whole_files: RowFilter | None = None
    validation: Validation | None = None
    summary: Mapping[str, str] = field(default_factory=dict)
    kept_files: Sequence[ContentFile] = ()
    update: TableUpdate | None = None
    operation: str | None = None
    rows_survive_conflict: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether no file is added or removed. Such a commit only restores offsets that other writers dropped."""
        files = (self.deletes, self.removed_deletes, self.removed_rows, self.kept_files)
        return self.rows is None and self.whole_files is None and self.update is None and not any(files)

    @property
    def size_in_bytes(self) -> int:
        """The size of all new files; vectors that share a file count once."""
        deletes = {new.file.path: new.file.file_size_in_bytes for new in self.deletes}
        return sum(deletes.values()) + (0 if self.rows is None else self.rows.size_in_bytes)


@dataclass(frozen=True)
class Validation:
    """What a change depends on, checked against every snapshot since the one that it read.

    Attributes:
        snapshot_id: The snapshot that was read; None for an empty table.
        row_filter: Only changes to rows that may match it are conflicts.
        data_files: Files that must still be live.
        no_new_deletes: Other writers must not have deleted matching rows: an update would bring them back.
        no_new_rows: Other writers must not have added matching rows (serializable isolation).
        further: Called with the uncommitted snapshot; raises an error that must block the commit.
    """

    snapshot_id: int | None
    row_filter: RowFilter
    data_files: Sequence[str] = ()
    no_new_deletes: bool = False
    no_new_rows: bool = False
    further: Callable[[UncommittedSnapshot], None] | None = None

    def configure(self, gateway: Gateway, delta: Any) -> None:
        """Configures the validation of Iceberg's `RowDelta`."""
        delta.conflictDetectionFilter(self.row_filter.expression)
        if self.data_files:
            delta.validateDataFilesExist(gateway.text_list(self.data_files))
        if self.snapshot_id is not None:
            delta.validateFromSnapshot(self.snapshot_id)
        if self.no_new_deletes:
            delta.validateDeletedFiles()
            delta.validateNoConflictingDeleteFiles()
        if self.no_new_rows:
            delta.validateNoConflictingDataFiles()


@dataclass(frozen=True)
class UncommittedSnapshot:
    """A snapshot that is about to be committed: its manifests are on storage, and no reader sees it yet.

    Attributes:
        handle: The table.
        listing: Its manifest list.
        parent_id: Its parent snapshot.
    """

    handle: TableHandle
    listing: AvroFile
    parent_id: int | None


def read_parent_files(uncommitted: UncommittedSnapshot) -> SnapshotFiles:
    """Reads the files of the parent of an uncommitted snapshot."""
    handle = uncommitted.handle
    if uncommitted.parent_id not in handle.metadata.snapshots:
        handle.refresh()
    parent = handle.snapshot(uncommitted.parent_id)
    assert parent is not None
    files = read_snapshot_files(handle, parent)
    assert files is not None
    return files
