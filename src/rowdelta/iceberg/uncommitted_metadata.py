"""Lets Iceberg write the metadata files of an uncommitted snapshot into memory.

Iceberg's manifest writer drops the offsets of vectors, so rowdelta writes some manifests again before the commit, and
with them the manifest list. On storage, each of these files would be written, read, replaced and removed, with one
request for each step. In memory, the steps cost nothing, and storage gets only the files that the snapshot needs.
An attempt that fails before that leaves no file behind.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from rowdelta.iceberg.file_io import FileIO
from rowdelta.spark import JavaError, JavaProxies

if TYPE_CHECKING:
    from rowdelta.iceberg.table_handle import TableHandle
    from rowdelta.spark import Gateway, Signature

_COPIED_BYTES: Final = 1 << 18
_IO: Final = "org.apache.iceberg.io.FileIO"
_MISSING: Final = "org.apache.iceberg.exceptions.NotFoundException"
_OPERATIONS: Final = "org.apache.iceberg.TableOperations"
_TEMPORARY: Final = ("temp", "org.apache.iceberg.TableMetadata")
_CREATE: Final = ("newOutputFile", "java.lang.String")
_DELETE: Final = ("deleteFile", "java.lang.String")
_OPEN: Final = (
    ("newInputFile", "java.lang.String"),
    ("newInputFile", "org.apache.iceberg.ManifestFile"),
    ("newInputFile", "org.apache.iceberg.ManifestListFile"),
)


class UncommittedMetadata:
    """The metadata files of one uncommitted snapshot.

    Attributes:
        operations: Iceberg's operations of the table. They write metadata files into memory, and read those and the
            files of the table.
    """

    def __init__(self, handle: TableHandle) -> None:
        gateway = handle.gateway
        self._memory = gateway.iceberg.inmemory.InMemoryFileIO()
        self._files = FileIO(self._memory, gateway)
        self._storage = handle.io
        self._paths = gateway.jvm.java.util.concurrent.ConcurrentLinkedQueue()
        self._copies: list[str] = []
        self._gateway = gateway
        operations = handle.java_table.operations()
        storage = operations.io() if handle.shared_files is None else handle.shared_files.java_io
        self.operations: Any = _override_io(gateway, operations, self._make_io(storage))

    def _make_io(self, storage: Any) -> Any:
        proxies, memory = JavaProxies(self._gateway), self._memory
        own: dict[Signature, Any] = {
            signature: proxies.first_of(
                proxies.of_object(_IO, signature, memory), _MISSING, proxies.of_object(_IO, signature, storage)
            )
            for signature in _OPEN
        }
        remember = proxies.of_object("java.util.Collection", ("add", "java.lang.Object"), self._paths)
        own[_CREATE] = proxies.after(remember, proxies.of_object(_IO, _CREATE, memory))
        own[_DELETE] = proxies.of_object(_IO, _DELETE, memory)
        return proxies.override(_IO, storage, own)

    def __contains__(self, path: str) -> bool:
        return bool(self._memory.fileExists(path))

    def add(self, path: str, data: bytes) -> None:
        """Adds a file."""
        self._paths.add(path)
        self._memory.addFile(path, data)

    def add_copy(self, path: str, data: bytes) -> None:
        """Adds a copy of a file on storage, so that Iceberg does not request it again."""
        if len(data) <= _COPIED_BYTES:
            self._copies.append(path)
            self._memory.addFile(path, data)

    def list_new(self) -> list[str]:
        """Lists all files, including those that the snapshot does not need in the end."""
        return [str(path) for path in self._gateway.members(self._paths)]

    def read(self, path: str) -> bytes:
        """Reads a file from memory."""
        return self._files.read(path)

    def store(self, path: str) -> None:
        """Writes a file to storage, without passing it through Python."""
        self._storage.copy_from(self._memory.newInputFile(path), path)

    def clear(self) -> None:
        """Removes all files from memory: all objects of Iceberg's class share them."""
        for path in (*self.list_new(), *self._copies):
            if path in self:
                with suppress(*JavaError):  # another thread may have removed its own copy of the same file
                    self._memory.deleteFile(path)
        self._paths.clear()
        self._copies.clear()


def _override_io(gateway: Gateway, operations: Any, io: Any) -> Any:
    """Gives a table's operations another FileIO, also where Iceberg uses them for metadata that is not committed."""
    proxies, get_io = JavaProxies(gateway), ("io",)
    return proxies.override(
        _OPERATIONS, operations, {get_io: proxies.constant(_OPERATIONS, get_io, io)}, returns_itself=_TEMPORARY
    )
