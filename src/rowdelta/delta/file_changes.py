"""What a Delta commit does to the files of the Iceberg table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rowdelta.delta.existing_files import load_data_files
from rowdelta.delta.paths import index_by_path
from rowdelta.errors import TableError
from rowdelta.iceberg import ContentFile, find_live_deletes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rowdelta.codec import DeletionVectorDescriptor
    from rowdelta.delta.actions import AddFile, DeltaCommit, RemoveFile
    from rowdelta.delta.existing_files import ExistingPaths
    from rowdelta.delta.table_layout import Layout
    from rowdelta.iceberg import TableHandle


@dataclass(frozen=True)
class FileChanges:
    """What a commit does to the files of the table, by the paths that Iceberg has.

    Attributes:
        added: New files.
        removed: Files that leave the table.
        vectors: Files that stay or are added, with the rows that are deleted from now on.
        replaced: Files whose delete files are removed, because the files leave or get other deletes; with the vector
            that they had, as Delta has it.
    """

    added: Mapping[str, AddFile] = field(repr=False)
    removed: Mapping[str, RemoveFile] = field(repr=False)
    vectors: Mapping[str, AddFile] = field(repr=False)
    replaced: Mapping[str, DeletionVectorDescriptor | None] = field(repr=False)


def find_file_changes(existing: ExistingPaths, root: str, commit: DeltaCommit) -> FileChanges:
    """Sorts the actions of a commit: a file that is both removed and added is the same file with other deletes."""
    adds, removes = index_by_path(root, commit.adds), index_by_path(root, commit.removes)
    uncertain = {path for path, remove in removes.items() if remove.uncertain}
    present = existing.select(uncertain | (adds.keys() - removes.keys()))
    for path in uncertain - present:
        del removes[path]
    # Delta may add a file again that the table has already, for instance with better statistics.
    again = present & (adds.keys() - removes.keys())
    stays = again | (adds.keys() & removes.keys())
    changed = {path for path in stays if path in again or removes[path].vector != adds[path].vector}
    replaced = changed | (removes.keys() - adds.keys())
    return FileChanges(
        added={path: add for path, add in adds.items() if path not in stays},
        removed={path: remove for path, remove in removes.items() if path not in adds},
        vectors={p: add for p, add in adds.items() if add.vector is not None and (p not in stays or p in changed)},
        replaced={path: (removes[path] if path in removes else adds[path]).vector for path in replaced},
    )


def load_removed_files(handle: TableHandle, layout: Layout, changes: FileChanges) -> list[ContentFile]:
    """Loads the data files to remove, in the partitions that they were added with."""
    without_partition = {path for path, remove in changes.removed.items() if not remove.partition_values}
    existing = load_data_files(handle, without_partition) if without_partition and layout.partition else {}
    return [
        existing[path]
        if path in existing
        else ContentFile(
            path=path,
            file_format="PARQUET",
            record_count=0,
            file_size_in_bytes=0,
            spec_id=layout.spec_id,
            partition=layout.partition_values(remove.partition_values or {}),
        )
        for path, remove in changes.removed.items()
    ]


def load_replaced_deletes(handle: TableHandle, version: int, changes: FileChanges) -> list[ContentFile]:
    """Loads the delete files to remove: they must be those of the vectors that the files had, as Delta has it.

    To Delta, a file with another vector is another file, and an action for one does nothing to the other.
    """
    old = find_live_deletes(handle, changes.replaced.keys())
    rows = Counter[str]()
    for file in old:
        rows[file.referenced_data_file or ""] += file.record_count
    for path, vector in changes.replaced.items():
        expected = 0 if vector is None else vector.cardinality
        if rows[path] != expected:
            raise TableError(
                f"version {version} of the Delta log changes {path} as a file with {expected:,} deleted rows, and "
                f"{handle.name} has it with {rows[path]:,}",
                hint="convert again with mode='full', which asks Delta Lake itself which files the table has",
            )
    return old
