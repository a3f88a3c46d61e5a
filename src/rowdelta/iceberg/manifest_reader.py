"""Reads the manifest lists and manifests of a table. They never change, so it reads each of them once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rowdelta.iceberg.avro_file import AvroFile
from rowdelta.iceberg.cache import LruCache
from rowdelta.iceberg.file_io import run_in_parallel
from rowdelta.iceberg.manifest_entries import (
    DataEntry,
    DeleteEntry,
    may_be_live,
    parse_data_entry,
    parse_delete_entry,
    parse_entries,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rowdelta.iceberg.file_io import FileIO
    from rowdelta.iceberg.uncommitted_metadata import UncommittedMetadata

# One action reads the same manifest for several reasons, and every read takes several py4j calls.
_CACHED_BYTES: Final = 16 << 20
_CACHED_BYTES_EACH: Final = 1 << 20
_CACHED_BETWEEN: Final = 1 << 18


class ManifestReader:
    """Reads manifests through a FileIO. They never change, so each is read once."""

    def __init__(self, files: FileIO) -> None:
        self._files = files
        self._lengths = LruCache[str, int]()
        self._entries = LruCache[str, list[Any]]()
        self._lacks_offsets = LruCache[str, bool]()
        self._bytes = LruCache[str, bytes](_CACHED_BYTES, len, _CACHED_BETWEEN)
        self._uncommitted: list[UncommittedMetadata] = []

    def read(self, path: str) -> AvroFile:
        """Any Avro metadata file."""
        avro = AvroFile.parse(path, self.read_bytes(path))
        if avro.records and "manifest_path" in avro.records[0]:  # a manifest list
            for record in avro.records:
                self._lengths.put(record["manifest_path"], record["manifest_length"])
        return avro

    def fetch(self, manifests: Iterable[dict[str, Any]], *, parsed: bool = False) -> None:
        """Reads manifests in parallel, up to the capacity of the cache.

        Args:
            manifests: Their records in the manifest list.
            parsed: Whether only their entries are needed, which may be in the cache already.
        """
        wanted, room = [], _CACHED_BYTES
        for manifest in manifests:
            path, length = manifest["manifest_path"], manifest["manifest_length"]
            if (
                not may_be_live(manifest)
                or length > min(room, _CACHED_BYTES_EACH)
                or (parsed and path in self._entries)
            ):
                continue
            room -= length
            if path not in self._bytes:
                wanted.append(path)
        for path, data in zip(wanted, run_in_parallel(self._read_file, wanted), strict=True):
            self._keep(path, data)

    @contextmanager
    def read_first_from(self, files: UncommittedMetadata) -> Iterator[None]:
        """Reads the files of an uncommitted snapshot from memory inside the block."""
        self._uncommitted.append(files)
        try:
            yield
        finally:
            self._uncommitted.remove(files)

    def after_change(self) -> None:
        """Removes most bytes, and entries that were not used recently. Call it after each change of the table."""
        for cache in (self._entries, self._lacks_offsets, self._bytes, self._lengths):
            cache.after_change()

    def read_bytes(self, path: str) -> bytes:
        """The bytes of a metadata file."""
        data = self._bytes.get(path)
        if data is None:
            uncommitted = next((files for files in list(self._uncommitted) if path in files), None)
            data = self._read_file(path) if uncommitted is None else uncommitted.read(path)
            self._keep(path, data)
        return data

    def _read_file(self, path: str) -> bytes:
        return self._files.read(path, size=self._lengths.get(path))

    def _keep(self, path: str, data: bytes) -> None:
        if len(data) <= _CACHED_BYTES_EACH:
            self._bytes.put(path, data)

    def read_deletes(self, manifest: dict[str, Any]) -> list[DeleteEntry]:
        """Reads the live entries of a delete manifest, given as its record in the manifest list."""
        return self._read_entries(manifest, parse_delete_entry)

    def read_data(self, manifest: dict[str, Any]) -> list[DataEntry]:
        """Reads the live entries of a data manifest, given as its record in the manifest list."""
        return self._read_entries(manifest, parse_data_entry)

    def lacks_offsets(self, manifest: dict[str, Any]) -> bool:
        """Whether a delete manifest lacks the blob offset of an equality delete vector. Its entries are not cached."""
        path = manifest["manifest_path"]
        lacks = self._lacks_offsets.get(path)
        if lacks is None:
            entries = self._entries.get(path)
            entries = self._parse_entries(manifest, parse_delete_entry) if entries is None else entries
            lacks = any(entry.is_vector and entry.content_offset is None for entry in entries)
            self._lacks_offsets.put(path, lacks)
        return lacks

    def read_back(self, manifest: dict[str, Any], data: bytes) -> int:
        """Parses a delete manifest that is about to be written, given as its record in the manifest list.

        Returns:
            How many live entries it has. They are not cached: a writer does not need them again.

        Raises:
            FormatError: No reader could read it.
        """
        path = manifest["manifest_path"]
        entries = parse_entries(AvroFile.parse(path, data), manifest, parse_delete_entry)
        self._lacks_offsets.put(path, any(entry.is_vector and entry.content_offset is None for entry in entries))
        return len(entries)

    def _read_entries(self, manifest: dict[str, Any], parse: Any) -> list[Any]:
        path = manifest["manifest_path"]
        entries = self._entries.get(path)
        if entries is None:
            entries = self._parse_entries(manifest, parse)
            self._entries.put(path, entries)
        return entries

    def _parse_entries(self, manifest: dict[str, Any], parse: Any) -> list[Any]:
        return parse_entries(self.read(manifest["manifest_path"]), manifest, parse) if may_be_live(manifest) else []
