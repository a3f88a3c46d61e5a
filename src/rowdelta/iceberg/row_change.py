"""What one operation adds to a table and removes from it, and what it relies on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.snapshot_contents import snapshot_files

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

    `sequence_number` is given for one that takes the place of an older one and keeps its age; then all new files of
    the change have one, and nothing but deletes is replaced.
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
        contents: Bytes of new files that are still to be written, by path; this is done while Iceberg makes manifests.
        removed_deletes: Delete files that go.
        removed_rows: Data files that go.
        whole_files: Drop every data file whose rows all match this filter; nothing but a validation may be beside it.
        validation: What other writers must not have done meanwhile; None for changes that depend on nothing.
        summary: Further entries of the snapshot's summary.
        kept_files: New data files that belong to somebody else, and stay where they are whatever becomes of the change.
        update: Changes of the table's description that take effect in the same step.
        operation: What the snapshot calls itself, where it is not what Iceberg would.
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

    @property
    def is_empty(self) -> bool:
        """Whether no file comes or goes: such a commit only mends what other writers left out of manifests."""
        files = (self.deletes, self.removed_deletes, self.removed_rows, self.kept_files)
        return self.rows is None and self.whole_files is None and self.update is None and not any(files)

    @property
    def size_in_bytes(self) -> int:
        """The size of all new files; vectors that share a file count once."""
        deletes = {new.file.path: new.file.file_size_in_bytes for new in self.deletes}
        return sum(deletes.values()) + (0 if self.rows is None else self.rows.size_in_bytes)


@dataclass(frozen=True)
class Validation:
    """What a change relies on, checked against every snapshot since the one that it read.

    Attributes:
        snapshot_id: The snapshot that was read; None for an empty table.
        row_filter: Only changes to rows that can match this count.
        data_files: Files that must still be there.
        no_new_deletes: Other writers must not have deleted matching rows: an update would bring them back.
        no_new_rows: Other writers must not have added matching rows (serializable isolation).
        further: Called with what is about to be committed; raises what speaks against it.
    """

    snapshot_id: int | None
    row_filter: RowFilter
    data_files: Sequence[str] = ()
    no_new_deletes: bool = False
    no_new_rows: bool = False
    further: Callable[[Uncommitted], None] | None = None

    def configure(self, gateway: Gateway, delta: Any) -> None:
        """Tells Iceberg's `RowDelta`."""
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
class Uncommitted:
    """A snapshot that is about to be committed: its manifests are on storage, and no one sees it yet.

    Attributes:
        handle: The table.
        listing: Its manifest list.
        parent_id: The snapshot that it follows.
    """

    handle: TableHandle
    listing: AvroFile
    parent_id: int | None


def parent_files(made: Uncommitted) -> SnapshotFiles:
    """The snapshot that one which is about to be committed follows."""
    handle = made.handle
    if made.parent_id not in handle.metadata.snapshots:
        handle.refresh()
    parent = handle.snapshot(made.parent_id)
    assert parent is not None
    files = snapshot_files(handle, parent)
    assert files is not None
    return files
