"""Lets everything on the driver share one copy of a small file: Python, Iceberg's planning and its commits.

Each of them would otherwise request the same manifests from storage. On a local disk that costs nothing, so only tables
on other storage are read in this way. Spark's scans request their manifests themselves: their FileIO goes to executors.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlparse

from rowdelta.spark import JavaError, JavaProxies

if TYPE_CHECKING:
    from rowdelta.spark import Gateway

_CACHE: Final = "org.apache.iceberg.io.ContentCache"
_IO: Final = "org.apache.iceberg.io.FileIO"
_OPEN: Final = ("newInputFile", "org.apache.iceberg.ManifestFile")
_KEPT_MS: Final = 600_000
_KEPT_BYTES: Final = 16 << 20
_KEPT_BYTES_EACH: Final = 4 << 20


def is_local(location: str) -> bool:
    """Whether a location is on a file system of this machine.

    Examples:
        >>> is_local("file:/w/db/t"), is_local("/w/db/t"), is_local("s3://bucket/db/t")
        (True, True, False)
    """
    return urlparse(location).scheme in {"", "file"}


class SharedFiles:
    """Small files of a table that never change, each of which is requested once.

    Attributes:
        java_io: A FileIO that has the manifests. It cannot be sent to executors.
    """

    def __init__(self, gateway: Gateway, storage: Any) -> None:
        self._gateway = gateway
        self._storage = storage
        self._proxies = JavaProxies(gateway)
        self._cache = gateway.iceberg.io.ContentCache(_KEPT_MS, _KEPT_BYTES, _KEPT_BYTES_EACH)
        remember = self._proxies.of_object(_CACHE, ("tryCache", "org.apache.iceberg.io.InputFile"), self._cache)
        opened = self._proxies.of_object(_IO, _OPEN, storage)
        self.java_io = self._proxies.override(_IO, storage, {_OPEN: self._proxies.then(opened, remember)})

    def open(self, path: str, size: int) -> Any:
        """Opens a file of a known size as Java's input file."""
        return self._cache.tryCache(self._storage.newInputFile(path, size))

    def open_table(self, metadata: Any, name: str) -> Any:
        """Opens a state of a table for planning on the driver."""
        iceberg = self._gateway.iceberg
        return iceberg.BaseTable(iceberg.StaticTableOperations(metadata, self.java_io), name)


def remember_listing(gateway: Gateway, metadata: Any, snapshot_id: int, data: bytes) -> None:
    """Gives Iceberg's object of a snapshot the bytes of its manifest list, so that Iceberg does not request them.

    All threads share the files in memory. If another thread removes this one too early, Iceberg requests it.
    """
    snapshot, memory = metadata.snapshot(snapshot_id), gateway.iceberg.inmemory.InMemoryFileIO()
    if snapshot is None:  # another thread has refreshed the table
        return
    with suppress(*JavaError):
        memory.addFile(snapshot.manifestListLocation(), data)
        snapshot.allManifests(memory)
        memory.deleteFile(snapshot.manifestListLocation())
