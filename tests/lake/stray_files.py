"""Finds the files in a table's folder that its metadata does not name, on any store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.iceberg import AvroFile
from rowdelta.iceberg.scratch_files import in_use

if TYPE_CHECKING:
    from collections.abc import Iterator

    import rowdelta as rd

_DELETED = 2


def find_stray_files(table: rd.Table) -> list[str]:
    """Lists data files, delete files and manifests that no snapshot needs, by their names in the table's folder.

    Metadata files of the catalog are not listed, and neither are scratch files that frames of this process may need.
    """
    location = table.refresh().metadata.location
    needed = {_strip(path) for path in (*_list_named_files(table), *in_use)}
    listed = table._handle.java_table.io().listPrefix(f"{location}/").iterator()
    stored = []
    while listed.hasNext():
        stored.append(_strip(str(listed.next().location())))
    folder = f"{_strip(location)}/"
    return sorted(path.removeprefix(folder) for path in stored if path not in needed and not _is_of_the_catalog(path))


def _strip(location: str) -> str:
    """A location without its scheme, which a store may spell in several ways."""
    return location.split(":", 1)[1].lstrip("/") if ":" in location else location.lstrip("/")


def _is_of_the_catalog(path: str) -> bool:
    return path.endswith((".metadata.json", ".crc", "version-hint.text", "/"))


def _list_named_files(table: rd.Table) -> Iterator[str]:
    io = table._handle.io
    manifests: set[str] = set()
    for snapshot in table.metadata.snapshots.values():
        if snapshot.manifest_list:
            yield snapshot.manifest_list
            records = AvroFile.parse(snapshot.manifest_list, io.read(snapshot.manifest_list)).records
            manifests |= {record["manifest_path"] for record in records}
    for manifest in manifests:
        yield manifest
        for record in AvroFile.parse(manifest, io.read(manifest)).records:
            if record["status"] != _DELETED:
                yield record["data_file"]["file_path"]
