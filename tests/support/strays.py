"""Files in a table's folder that its metadata does not name: no verb may leave any."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowdelta.iceberg import AvroFile

if TYPE_CHECKING:
    from collections.abc import Iterator

_DELETED = 2
_VERSION = re.compile(r"v\d+(\.gz)?\.metadata\.json")


class Tables:
    """The tables of a namespace in the warehouse of Iceberg's Hadoop catalog.

    Its own reader of metadata keeps this check independent of Iceberg and rowdelta.
    """

    def __init__(self, namespace: Path) -> None:
        self._namespace = namespace
        self._before = self._read_states()

    def strays(self) -> dict[str, list[str]]:
        """The stray files of each table in which files came or went since this object was made."""
        changed = [folder for folder, state in self._read_states().items() if self._before.get(folder) != state]
        found = {folder.name: stray_files(folder) for folder in changed}
        return {name: strays for name, strays in found.items() if strays}

    def _read_states(self) -> dict[Path, list[tuple[int, int]]]:
        """A state that changes when files of a table come or go, or when it is dropped and created again."""
        if not self._namespace.is_dir():
            return {}
        hints = {folder: folder / "metadata" / "version-hint.text" for folder in self._namespace.iterdir()}
        looked_at = {
            folder: [hint.stat(), *(path.stat() for path in folder.iterdir())]
            for folder, hint in hints.items()
            if hint.exists()
        }
        return {folder: [(one.st_ino, one.st_mtime_ns) for one in stats] for folder, stats in looked_at.items()}


def stray_files(folder: Path) -> list[str]:
    """The files in a table's folder that no snapshot needs, relative to it."""
    known = {Path(path.removeprefix("file:")) for path in _list_named_files(folder)}
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path not in known and not _is_of_the_catalog(path)
    )


def _is_of_the_catalog(path: Path) -> bool:
    if path.parent.name != "metadata":
        return path.suffix == ".crc"
    return path.suffix == ".crc" or path.name == "version-hint.text" or bool(_VERSION.fullmatch(path.name))


def _list_named_files(folder: Path) -> Iterator[str]:
    version = (folder / "metadata" / "version-hint.text").read_text().strip()
    document = json.loads((folder / "metadata" / f"v{version}.metadata.json").read_text())
    for kind in ("statistics", "partition-statistics"):
        yield from (file["statistics-path"] for file in document.get(kind, ()))
    manifests: set[str] = set()
    for snapshot in document.get("snapshots", ()):
        if "manifest-list" in snapshot:
            yield snapshot["manifest-list"]
            manifests |= {record["manifest_path"] for record in _read_records(snapshot["manifest-list"])}
    for manifest in manifests:
        yield manifest
        yield from (r["data_file"]["file_path"] for r in _read_records(manifest) if r["status"] != _DELETED)


def _read_records(location: str) -> list[dict[str, Any]]:
    path = Path(location.removeprefix("file:"))
    if not path.exists():  # a test may have removed it
        return []
    return AvroFile.parse(location, path.read_bytes()).records  # fastavro alone knows no years beyond 9999
