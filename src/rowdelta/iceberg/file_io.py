"""Bytes in and out through a table's FileIO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from rowdelta.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterable


class FileIO:
    """The table's own FileIO, for the small files that Python reads and writes itself."""

    def __init__(self, io: Any) -> None:
        self._io = io

    def size(self, path: str) -> int:
        """The length of a file in bytes."""
        try:
            return int(self._io.newInputFile(path).getLength())
        except Py4JJavaError as error:
            raise _unreadable(path, error) from error

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """A file's bytes, or a range of them; a range beyond the end is an error."""
        try:
            stream = self._io.newInputFile(path).newStream()
            try:
                if offset:
                    stream.seek(offset)
                data = bytes(stream.readAllBytes() if length is None else stream.readNBytes(length))
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise _unreadable(path, error) from error
        if length is not None and len(data) != length:
            raise TableError(f"{path} ends after {offset + len(data)} bytes, {offset + length} were expected")
        return data

    def write(self, path: str, data: bytes) -> None:
        """Writes a new file; one that exists is an error."""
        try:
            stream = self._io.newOutputFile(path).create()
            try:
                stream.write(data)
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise TableError(f"cannot write {path}: {_reason(error)}") from error

    def delete(self, paths: Iterable[str]) -> None:
        """Removes files; one that is already gone is fine."""
        for path in paths:
            self._delete(path)

    def _delete(self, path: str) -> None:
        try:
            self._io.deleteFile(path)
        except Py4JJavaError as error:
            if "NotFound" not in error.java_exception.getClass().getSimpleName():
                raise TableError(f"cannot delete {path}: {_reason(error)}") from error

    def source(self, path: str, size: int | None = None) -> FileSource:
        """The file as something that a Puffin reader takes its ranges from."""
        return FileSource(self, path, self.size(path) if size is None else size)


class FileSource:
    """A file that is read by range."""

    def __init__(self, io: FileIO, path: str, size: int) -> None:
        self._io = io
        self.path = path
        self.size = size

    def read(self, offset: int, length: int) -> bytes:
        """The bytes of a range."""
        return self._io.read(self.path, offset, length)


def _reason(error: Py4JJavaError) -> str:
    java = error.java_exception
    return f"{java.getClass().getSimpleName()}: {java.getMessage()}"


def _unreadable(path: str, error: Py4JJavaError) -> TableError:
    return TableError(
        f"cannot read {path}: {_reason(error)}", hint="is the file still there, and may this user read it?"
    )
