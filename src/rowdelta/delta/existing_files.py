"""The files that the Iceberg table already has; read only where a Delta commit touches one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.change import partition_to_json, to_content_file
from rowdelta.iceberg import ContentFile, build_delete_index, find_live_paths, read_snapshot_files

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Set as AbstractSet

    from rowdelta.iceberg import TableHandle


class ExistingPaths:
    """Which data files the table has. Its manifests are read once for several commits, not for each."""

    def __init__(self, handle: TableHandle) -> None:
        self._handle = handle
        self._asked: AbstractSet[str] = frozenset()
        self._existing: AbstractSet[str] = frozenset()
        self._snapshot_id: int | None = None

    def look_up(self, paths: AbstractSet[str]) -> None:
        """Looks up files, so that later calls of `select` for them read nothing."""
        self._snapshot_id = self._find_head_id()
        self._asked, self._existing = paths, find_live_paths(self._handle, paths)

    def select(self, paths: AbstractSet[str]) -> AbstractSet[str]:
        """Selects the paths among these that the newest snapshot has."""
        if paths and (self._snapshot_id != self._find_head_id() or not paths <= self._asked):
            self.look_up(paths)
        return self._existing & paths

    def follow(self, snapshot_id: int, added: AbstractSet[str], removed: AbstractSet[str]) -> None:
        """Applies what our own snapshot changed. After a snapshot of another writer, files are looked up again."""
        self._snapshot_id, self._existing = snapshot_id, (self._existing - removed) | (added & self._asked)

    def _find_head_id(self) -> int | None:
        head = self._handle.snapshot()
        return None if head is None else head.id


def load_data_files(handle: TableHandle, paths: Collection[str] | None = None) -> dict[str, ContentFile]:
    """Loads the data files of the table, or some of them, as files that a commit can remove."""
    head = handle.snapshot()
    if head is None:
        return {}
    return {
        file.path: ContentFile(
            path=file.path,
            file_format="PARQUET",
            record_count=file.records,
            file_size_in_bytes=file.size_in_bytes,
            spec_id=file.spec_id,
            partition=partition_to_json(handle, file),
        )
        for file in build_delete_index(handle, head).data
        if paths is None or file.path in paths
    }


def load_delete_files(handle: TableHandle) -> list[ContentFile]:
    """Loads every live delete file, those of other writers included, as files that a commit can remove."""
    head = handle.snapshot()
    files = None if head is None else read_snapshot_files(handle, head)
    entries = () if files is None else (*files.position_deletes, *files.equality_deletes)
    return [to_content_file(handle, entry) for entry in entries]
