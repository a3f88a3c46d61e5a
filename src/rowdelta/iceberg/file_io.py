"""Reads and writes bytes through a table's FileIO."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rowdelta.errors import TableError
from rowdelta.spark import Py4JJavaError, run_in_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rowdelta.iceberg.shared_files import SharedFiles
    from rowdelta.spark import Gateway

X = TypeVar("X")
Y = TypeVar("Y")
log: Final = logging.getLogger("rowdelta")

# py4j sends an answer of more than 8,192 characters in two parts, and the second waits 40 ms until TCP acknowledges the
# first. Bytes are sent as base64, so this many fit into one part. Large data goes through a file.
PIECE: Final = 6_000
_LARGE: Final = 50 * PIECE
_READ_WHOLE: Final = 64 << 10  # a range of such a file takes as long as the whole file
_LISTS: Final = "org.apache.iceberg.io.SupportsPrefixOperations"
_LISTS_ANY_PREFIX: Final = ("org.apache.iceberg.aws.s3.S3FileIO", "org.apache.iceberg.gcp.gcs.GCSFileIO")


class FileIO:
    """The table's own FileIO, for the small files that Python reads and writes itself."""

    def __init__(self, io: Any, gateway: Gateway | None = None, shared_files: SharedFiles | None = None) -> None:
        self._io = io
        self._gateway = gateway
        self._shared_files = shared_files

    @property
    def class_name(self) -> str:
        """The class of the FileIO."""
        return str(self._io.getClass().getName())

    def size(self, path: str) -> int:
        """Returns the length of a file in bytes."""
        try:
            return int(self._io.newInputFile(path).getLength())
        except Py4JJavaError as error:
            raise _make_read_error(path, error) from error

    def exists(self, path: str) -> bool:
        """Whether a file exists."""
        try:
            return bool(self._io.newInputFile(path).exists())
        except Py4JJavaError as error:
            raise _make_read_error(path, error) from error

    def read(self, path: str, offset: int = 0, length: int | None = None, *, size: int | None = None) -> bytes:
        """Reads a file's bytes, or a range of them; a range beyond the end is an error.

        Args:
            path: The file.
            offset: Where the range begins.
            length: How long it is; by default, it ends with the file.
            size: The size of a small file that is read several times: all of it is read at once, and kept for a while.
        """
        shared = self._shared_files
        try:
            opened = self._io.newInputFile(path) if shared is None or size is None else shared.open(path, size)
            stream = opened.newStream()
            try:
                if offset:
                    stream.seek(offset)
                if self._gateway is not None and length is not None and length > _LARGE:
                    data = self._gateway.read_bytes(stream, length)
                else:
                    data = read_in_pieces(stream, length)
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise _make_read_error(path, error) from error
        if length is not None and len(data) != length:
            raise TableError(f"{path} ends after {offset + len(data)} bytes, {offset + length} were expected")
        return data

    def write(self, path: str, data: bytes) -> None:
        """Writes a file under a name that is certain to be new: storage is not asked whether it exists."""
        try:
            stream = self._io.newOutputFile(path).createOrOverwrite()
        except Py4JJavaError as error:
            raise _make_write_error(path, error) from error
        try:
            try:
                if self._gateway is not None and len(data) > _LARGE:
                    self._gateway.write_bytes(stream, data)
                else:
                    stream.write(data)
            finally:
                stream.close()
        except BaseException as error:  # an interrupt, too
            self.discard([path])
            if isinstance(error, Py4JJavaError):
                raise _make_write_error(path, error) from error
            if isinstance(error, OSError):  # of the file that large data go through
                raise TableError(f"cannot write {path}: {error}") from error
            raise

    def copy_from(self, source: Any, path: str) -> None:
        """Writes a new file with the bytes of a Java input file, without passing them through Python."""
        try:
            stream = source.newStream()
            try:
                output = self._io.newOutputFile(path).createOrOverwrite()
                try:
                    stream.transferTo(output)
                finally:
                    output.close()
            finally:
                stream.close()
        except BaseException as error:  # an interrupt, too
            self.discard([path])
            if isinstance(error, Py4JJavaError):
                raise _make_write_error(path, error) from error
            raise

    @contextmanager
    def write_in_background(self, contents: Mapping[str, bytes]) -> Iterator[Callable[[], object]]:
        """Writes new files in the background.

        Yields a function that returns when all files are written, and raises the error of one that is not. After the
        block no file is still being written, unless an interrupt did not wait for it.
        """
        with run_in_pool([partial(self.write, path, data) for path, data in contents.items()]) as collect:
            yield collect

    def delete(self, paths: Iterable[str]) -> None:
        """Removes files. A missing file is not an error."""
        for path in paths:
            self._delete(path)

    def discard(self, paths: Iterable[str]) -> int:
        """Removes files that nothing refers to. A file that cannot be removed becomes an orphan; that is not an error.

        Returns:
            How many files were removed.
        """
        removed = 0
        for path in paths:
            try:
                self._delete(path)
                removed += 1
            except TableError as error:  # noqa: PERF203 - one failure must not keep the other files
                log.warning("a file that is no longer needed cannot be removed: %s", error.message)
        return removed

    def _delete(self, path: str) -> None:
        try:
            self._io.deleteFile(path)
        except Py4JJavaError as error:
            if "NotFound" not in error.java_exception.getClass().getSimpleName():
                raise TableError(f"cannot delete {path}: {_describe_error(error)}") from error

    def list_files(self, prefix: str) -> list[str]:
        """Lists the files whose paths have a prefix; none if the storage cannot list."""
        if self._gateway is None or not self._gateway.java_class(_LISTS).isInstance(self._io):
            return []
        # Hadoop lists folders, an object store any prefix.
        folder = prefix if self.class_name in _LISTS_ANY_PREFIX else prefix.rsplit("/", 1)[0]
        listed = self._gateway.iceberg.relocated.com.google.common.collect.Lists.newArrayList(
            self._io.listPrefix(folder)
        )
        found = [str(info.location()) for info in self._gateway.members(listed)]
        name = prefix.rsplit("/", 1)[1]
        return [path for path in found if path.rsplit("/", 1)[1].startswith(name)]

    def source(self, path: str, size: int | None = None) -> FileSource:
        """Opens the file as a source of byte ranges, for a Puffin reader."""
        return FileSource(self, path, self.size(path) if size is None else size)


class FileSource:
    """A file that is read in byte ranges."""

    def __init__(self, io: FileIO, path: str, size: int) -> None:
        self._io = io
        self.path = path
        self.size = size

    def read(self, offset: int, length: int) -> bytes:
        """Reads the bytes of a range."""
        return self._io.read(self.path, offset, length, size=self.size if self.size <= _READ_WHOLE else None)


def read_in_pieces(stream: Any, length: int | None = None) -> bytes:
    """Reads up to `length` bytes of a Java stream; by default, all of it."""
    pieces, left = [], _LARGE if length is None else length
    while left:
        wanted = min(PIECE, left)
        pieces.append(stream.readNBytes(wanted))
        left -= wanted
        if len(pieces[-1]) < wanted:
            return b"".join(pieces)
    if length is None:
        pieces.append(stream.readAllBytes())
    return b"".join(pieces)


def run_in_parallel(read: Callable[[X], Y], items: Sequence[X]) -> list[Y]:
    """Reads or writes several small files in parallel: each waits for storage, not for the processor.

    When it raises an error, no other file is still being read or written, unless an interrupt did not wait for it.

    Examples:
        >>> run_in_parallel(len, ["one", "three"])
        [3, 5]
    """
    if len(items) < 2:  # noqa: PLR2004 - no threads for one file
        return [read(item) for item in items]
    with run_in_pool([partial(read, item) for item in items]) as collect:
        return collect()


def _describe_error(error: Py4JJavaError) -> str:
    java = error.java_exception
    return f"{java.getClass().getSimpleName()}: {java.getMessage()}"


def _make_write_error(path: str, error: Py4JJavaError) -> TableError:
    return TableError(f"cannot write {path}: {_describe_error(error)}")


def _make_read_error(path: str, error: Py4JJavaError) -> TableError:
    return TableError(
        f"cannot read {path}: {_describe_error(error)}", hint="is the file still there, and may this user read it?"
    )
