"""Copies Delta's deletion vectors into Iceberg's delete files: bytes into Puffin files, or positions on version 2."""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rowdelta.change import FilePositions, make_vector_blob, make_vector_delete, write_position_file
from rowdelta.codec import FRAME_BYTES, PuffinWriter, convert_to_deletion_vector, decode_delta_vector
from rowdelta.delta.paths import resolve_vector_path
from rowdelta.errors import FormatError
from rowdelta.iceberg import run_in_parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rowdelta.codec import BlobMetadata, DeletionVectorDescriptor
    from rowdelta.iceberg import NewDelete, TableHandle

# Copying takes a few times this much memory, however many vectors there are.
PUFFIN_BYTES: Final = 16 * 2**20
_WINDOW_BYTES: Final = 4 * 2**20
_FILES_AHEAD: Final = 8
_WITH_VECTORS: Final = 3
INLINE: Final = "i"


@dataclass(frozen=True)
class DeletedRows:
    """The deletion vector of a data file.

    Attributes:
        path: The data file, as Iceberg opens it.
        spec_id: Its partition spec.
        partition: Its partition values in Iceberg's JSON form.
        records: The rows stored in it.
        vector: Its descriptor in the log.
    """

    path: str
    spec_id: int
    partition: Sequence[Any]
    records: int
    vector: DeletionVectorDescriptor


class VectorCopier:
    """Copies vectors into a folder. If it fails, it removes the files that it has written."""

    def __init__(
        self,
        handle: TableHandle,
        root: str,
        folder: str,
        progress: Callable[[int], None],
        puffin_bytes: int = PUFFIN_BYTES,
    ) -> None:
        self._handle = handle
        self._root = root
        self._folder = folder.rstrip("/")
        self._progress = progress
        self._puffin_bytes = puffin_bytes
        self.bytes_copied = 0

    def copy(self, deleted: Sequence[DeletedRows]) -> list[NewDelete]:
        """Writes the delete files of some data files."""
        written: list[NewDelete] = []
        write = self._write_puffins if self._handle.metadata.format_version >= _WITH_VECTORS else self._write_positions
        try:
            for new in write(self._read_in_order(deleted)):
                written += new
                self._progress(len(new))
        except BaseException:
            self._handle.io.delete({new.file.path for new in written})
            raise
        return written

    def _read_in_order(self, deleted: Iterable[DeletedRows]) -> Iterator[tuple[DeletedRows, _FileWindow | None]]:
        """Yields the vectors in the order of their files, each with its file, which is read ahead."""
        by_file: dict[str | None, list[DeletedRows]] = defaultdict(list)
        for item in deleted:
            if item.vector.cardinality > item.records:
                raise FormatError(
                    f"the Delta log deletes {item.vector.cardinality} rows of {item.path}, which has {item.records}"
                )
            inline = item.vector.storage_type == INLINE
            by_file[None if inline else resolve_vector_path(self._root, item.vector)].append(item)
        yield from ((item, None) for item in by_file.pop(None, ()))
        files = iter(by_file.items())
        # Only a few files at a time: each of them keeps a window of its bytes in memory.
        while batch := list(islice(files, _FILES_AHEAD)):
            for group, window in run_in_parallel(self._open, batch):
                for item in group:
                    yield item, window

    def _open(self, file: tuple[str | None, list[DeletedRows]]) -> tuple[list[DeletedRows], _FileWindow]:
        path, group = file
        assert path is not None
        group.sort(key=lambda item: _find_range(item.vector)[0])
        return group, _FileWindow(self._handle, path, [_find_range(item.vector) for item in group])

    def _write_puffins(self, vectors: Iterator[tuple[DeletedRows, _FileWindow | None]]) -> Iterator[list[NewDelete]]:
        """Writes Puffin files of a bounded size, with many vectors in each."""
        writer, size = PuffinWriter(created_by="rowdelta"), 0
        placed: list[tuple[DeletedRows, BlobMetadata]] = []
        for item, window in vectors:
            payload = convert_to_deletion_vector(item.vector, window)
            placed.append((item, writer.add(make_vector_blob(item.path, payload, item.vector.cardinality))))
            size += len(payload)
            self.bytes_copied += len(payload)
            if size >= self._puffin_bytes:
                yield self._write_puffin(writer, placed)
                writer, placed, size = PuffinWriter(created_by="rowdelta"), [], 0
        if placed:
            yield self._write_puffin(writer, placed)

    def _write_puffin(
        self, writer: PuffinWriter, placed: Sequence[tuple[DeletedRows, BlobMetadata]]
    ) -> list[NewDelete]:
        data, path = writer.finish(), f"{self._folder}/{uuid.uuid4()}-deletes.puffin"
        try:
            self._handle.io.write(path, data)
        except BaseException:
            self._handle.io.delete([path])
            raise
        return [make_vector_delete(path, len(data), blob, item.spec_id, item.partition) for item, blob in placed]

    def _write_positions(self, vectors: Iterator[tuple[DeletedRows, _FileWindow | None]]) -> Iterator[list[NewDelete]]:
        """Writes one file of positions for each data file, so that each can be replaced separately."""
        for item, window in vectors:
            positions = decode_delta_vector(item.vector, window)
            if not positions:
                continue
            rows = FilePositions(item.path, item.spec_id, tuple(item.partition), positions, len(positions))
            self.bytes_copied += item.vector.size_in_bytes
            yield [write_position_file(self._handle, [rows], self._folder)]


def _find_range(vector: DeletionVectorDescriptor) -> tuple[int, int]:
    """Finds the offset and the length of a vector in its file, with its frame."""
    offset = 1 if vector.offset is None else vector.offset
    return offset, vector.size_in_bytes + FRAME_BYTES


class _FileWindow:
    """Reads a file in large pieces, each with as many of the needed ranges as fit."""

    def __init__(self, handle: TableHandle, path: str, ranges: Sequence[tuple[int, int]]) -> None:
        self._io = handle.io
        self._path = path
        self._ends = [offset + length for offset, length in ranges]
        self.size = max(self._ends)
        self._start, self._data = 0, b""
        self._version = self.read(0, 1)

    def read(self, offset: int, length: int) -> bytes:
        """Reads the bytes of a range."""
        if (offset, length) == (0, 1) and hasattr(self, "_version"):
            return self._version
        start = offset - self._start
        if not 0 <= start <= start + length <= len(self._data):
            near = [end for end in self._ends if offset + length <= end <= offset + _WINDOW_BYTES]
            end = max(near, default=offset + length)
            self._start, self._data = offset, self._io.read(self._path, offset, end - offset)
            start = 0
        return self._data[start : start + length]
