"""Simulates a faster second writer, and checks the files that a commit leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowdelta.iceberg.vector_manifests import VectorManifests
from tests.support.tables import stored_files

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    import rowdelta as rd


class FasterWriter:
    """Runs the commit of another writer just before ours, up to a number of times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, other: Callable[[], object], times: int = 1) -> None:
        self.left = times
        original = VectorManifests.complete

        def complete(manifests: VectorManifests, *arguments: Any) -> Any:
            done = original(manifests, *arguments)
            if self.left:
                self.left -= 1
                other()
            return done

        monkeypatch.setattr(VectorManifests, "complete", complete)


def assert_no_stray_files(table: rd.Table) -> None:
    """Asserts that every file in the table's folder belongs to a snapshot."""
    named = set()
    for snapshot in table.refresh().metadata.snapshots.values():
        manifests = table._handle.manifests
        named.add(snapshot.manifest_list)
        for record in manifests.read(snapshot.manifest_list or "").records:
            named.add(record["manifest_path"])
            named |= {entry["data_file"]["file_path"] for entry in manifests.read(record["manifest_path"]).records}
    folder = f"{table.metadata.location}/"
    paths = {str(path).removeprefix("file:") for path in named}
    assert stored_files(table) == {path.removeprefix(folder) for path in paths if path.startswith(folder)}
