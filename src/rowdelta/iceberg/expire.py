"""Expires snapshots. Iceberg decides which ones; a file is removed if no remaining snapshot can reach it.

The incremental clean-up of Iceberg's core library considers removed entries only, but the Puffin file of a removed
entry may hold other, live vectors. So rowdelta removes files as Iceberg's Spark action does: those that no snapshot can
reach.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from rowdelta.errors import TableError
from rowdelta.iceberg.manifest_entries import ADDED, DELETED
from rowdelta.iceberg.table_state import read_metadata_document
from rowdelta.spark import JavaError, collect_arrow, read_java_message, read_java_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.iceberg.table_handle import TableHandle

GC_ENABLED: Final = "gc.enabled"
# By the names of Iceberg's action; all others are statistics.
_KINDS: Final = {
    "DATA": "data",
    "POSITION_DELETES": "deletes",
    "EQUALITY_DELETES": "deletes",
    "Manifest": "manifests",
    "Manifest List": "manifest_lists",
    "Statistics Files": "statistics",
}


@dataclass(frozen=True)
class ExpiredFiles:
    """Files that only expired snapshots need, by type. Data and delete files have their sizes, 0 if unknown."""

    data: dict[str, int] = field(default_factory=dict)
    deletes: dict[str, int] = field(default_factory=dict)
    manifests: tuple[str, ...] = ()
    manifest_lists: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()

    @property
    def by_kind(self) -> dict[str, tuple[str, ...]]:
        """The paths, by the name of the field."""
        return {column.name: tuple(getattr(self, column.name)) for column in fields(self)}

    @property
    def metadata_files(self) -> int:
        """How many metadata files there are."""
        return len(self.manifests) + len(self.manifest_lists) + len(self.statistics)

    @property
    def size_in_bytes(self) -> int:
        """The size of the data and delete files."""
        return sum(self.data.values()) + sum(self.deletes.values())


@dataclass(frozen=True)
class Expiry:
    """What an expiry removes from the table's metadata."""

    snapshots: tuple[int, ...]
    references: tuple[str, ...]


def plan_expiry(handle: TableHandle, older_than_ms: int | None, retain_last: int | None) -> tuple[Expiry, ExpiredFiles]:
    """Plans what an expiry would remove; commits and writes nothing."""
    transaction = _expire_in_transaction(handle, older_than_ms, retain_last)
    after = read_metadata_document(handle.gateway, transaction.table().operations().current())
    before = handle.read_whole_document()
    return compare_documents(before, after), find_expired_files(handle, before, after)


def expire_all(handle: TableHandle, older_than_ms: int | None, retain_last: int | None) -> ExpiredFiles:
    """Expires snapshots, and finds every file that only these needed, by Iceberg's Spark action.

    The caller must remove the files: they cannot be found afterwards.
    """
    gateway = handle.gateway
    try:
        action = gateway.iceberg.spark.actions.SparkActions.get(gateway.session).expireSnapshots(handle.java_table)
        if older_than_ms is not None:
            action = action.expireOlderThan(older_than_ms)
        if retain_last is not None:
            action = action.retainLast(retain_last)
        table = collect_arrow(DataFrame(action.expireFiles().toDF(), handle.spark).select("path", "type"))
    except JavaError as error:
        raise _translate_error(error) from error
    paths: dict[str, list[str]] = {file_type: [] for file_type in _KINDS.values()}
    for path, file_type in zip(*(column.to_pylist() for column in table.columns), strict=True):
        paths[_KINDS.get(file_type, "statistics")].append(path)
    return ExpiredFiles(
        data=dict.fromkeys(paths["data"], 0),
        deletes=dict.fromkeys(paths["deletes"], 0),
        manifests=tuple(paths["manifests"]),
        manifest_lists=tuple(paths["manifest_lists"]),
        statistics=tuple(paths["statistics"]),
    )


def expire_own(
    handle: TableHandle,
    before: dict[str, Any],
    older_than_ms: int | None,
    retain_last: int | None,
    folders: Sequence[str],
) -> ExpiredFiles:
    """Expires snapshots of a table whose data files belong to another table.

    `before` is the metadata with every snapshot. The files to remove are metadata and delete files in the table's own
    folders, never data files.
    """
    transaction = _expire_in_transaction(handle, older_than_ms, retain_last)
    try:
        transaction.commitTransaction()
    except JavaError as error:
        raise _translate_error(error) from error
    handle.refresh()
    after = handle.read_whole_document()
    return select_own_files(find_expired_files(handle, before, after), folders)


def select_own_files(files: ExpiredFiles, folders: Sequence[str]) -> ExpiredFiles:
    """Selects the files in some folders that are not data."""

    def select(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if any(is_under(folder, path) for folder in folders))

    return ExpiredFiles(
        deletes={path: files.deletes[path] for path in select(files.deletes)},
        manifests=select(files.manifests),
        manifest_lists=select(files.manifest_lists),
        statistics=select(files.statistics),
    )


def is_under(folder: str, path: str) -> bool:
    """Whether a file is in a folder; a local path may be written with its scheme or without.

    Examples:
        >>> is_under("/w/db/t", "file:/w/db/t/metadata/a.avro"), is_under("/w/db/t", "/w/db/t2/a.avro")
        (True, False)
    """
    return _remove_scheme(path).startswith(f"{_remove_scheme(folder).rstrip('/')}/")


def _remove_scheme(path: str) -> str:
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith(("file:", "/")) else path


def _expire_in_transaction(handle: TableHandle, older_than_ms: int | None, retain_last: int | None) -> Any:
    """Makes an uncommitted transaction that expires snapshots and removes no file.

    Iceberg refuses to expire if garbage collection is off, so the transaction turns it on.
    """
    setting = handle.metadata.properties.get(GC_ENABLED)
    transaction = handle.java_table.newTransaction()
    try:
        if setting is not None:
            transaction.updateProperties().set(GC_ENABLED, "true").commit()
        expire = transaction.expireSnapshots().cleanExpiredFiles(False)
        if older_than_ms is not None:
            expire = expire.expireOlderThan(older_than_ms)
        if retain_last is not None:
            expire = expire.retainLast(retain_last)
        expire.commit()
        if setting is not None:
            transaction.updateProperties().set(GC_ENABLED, setting).commit()
    except JavaError as error:
        raise _translate_error(error) from error
    return transaction


def compare_documents(before: dict[str, Any], after: dict[str, Any]) -> Expiry:
    """Finds the snapshots and references that a later state of the metadata no longer has."""
    remaining = {snapshot["snapshot-id"] for snapshot in after.get("snapshots", [])}
    return Expiry(
        tuple(s["snapshot-id"] for s in before.get("snapshots", []) if s["snapshot-id"] not in remaining),
        tuple(sorted(before.get("refs", {}).keys() - after.get("refs", {}).keys())),
    )


def find_expired_files(handle: TableHandle, before: dict[str, Any], after: dict[str, Any]) -> ExpiredFiles:
    """Finds the files that removed snapshots needed and that no remaining snapshot can reach."""
    kept_ids = {snapshot["snapshot-id"] for snapshot in after.get("snapshots", [])}
    removed_snapshots = [s for s in before.get("snapshots", []) if s["snapshot-id"] not in kept_ids]
    removed_manifests = _read_manifest_lists(handle, removed_snapshots)
    kept_manifests = _read_manifest_lists(handle, after.get("snapshots", [])) if removed_manifests else {}
    only_gone = {path: manifest for path, manifest in removed_manifests.items() if path not in kept_manifests}
    data: dict[str, int] = {}
    deletes: dict[str, int] = {}
    for manifest in only_gone.values():
        (deletes if manifest.get("content") else data).update(_read_live_files(handle, manifest))
    for manifest in kept_manifests.values() if data or deletes else ():
        for path in _read_live_files(handle, manifest):
            data.pop(path, None)
            deletes.pop(path, None)
    kept_lists = {snapshot.get("manifest-list") for snapshot in after.get("snapshots", [])}
    return ExpiredFiles(
        data=data,
        deletes=deletes,
        manifests=tuple(only_gone),
        manifest_lists=tuple({s["manifest-list"] for s in removed_snapshots if "manifest-list" in s} - kept_lists),
        statistics=tuple(sorted(_list_statistics(before) - _list_statistics(after))),
    )


def find_added_files(handle: TableHandle, removed_snapshots: Sequence[dict[str, Any]]) -> list[str]:
    """Finds the files that removed snapshots added, metadata included, unless a later snapshot still needs them.

    Older snapshots cannot refer to these files, so they are not read.
    """
    ids = {snapshot["snapshot-id"] for snapshot in removed_snapshots}
    oldest = min(snapshot.get("sequence-number", 0) for snapshot in removed_snapshots)
    later = [s for s in handle.read_whole_document().get("snapshots", []) if s.get("sequence-number", 0) >= oldest]
    added = {
        path: m for path, m in _read_manifest_lists(handle, removed_snapshots).items() if m["added_snapshot_id"] in ids
    }
    files = {
        record["data_file"]["file_path"]
        for path in added
        for record in handle.manifests.read(path).records
        if record["status"] == ADDED
    }
    for path, manifest in _read_manifest_lists(handle, later).items():
        added.pop(path, None)
        if (manifest.get("sequence_number") or 0) >= oldest:
            files -= _read_live_files(handle, manifest).keys()
    return [*files, *added, *(snapshot["manifest-list"] for snapshot in removed_snapshots)]


def _read_manifest_lists(handle: TableHandle, snapshots: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    manifests: dict[str, dict[str, Any]] = {}
    for snapshot in snapshots:
        if "manifest-list" in snapshot:
            for record in handle.manifests.read(snapshot["manifest-list"]).records:
                manifests[record["manifest_path"]] = record
    return manifests


def _read_live_files(handle: TableHandle, manifest: dict[str, Any]) -> dict[str, int]:
    records = handle.manifests.read(manifest["manifest_path"]).records
    files = [record["data_file"] for record in records if record["status"] != DELETED]
    return {file["file_path"]: file["file_size_in_bytes"] for file in files}


def _list_statistics(document: dict[str, Any]) -> set[str]:
    return {
        file["statistics-path"]
        for name in ("statistics", "partition-statistics")
        for file in document.get(name) or []
        if "statistics-path" in file
    }


def _translate_error(error: Exception) -> TableError:
    return TableError(f"snapshots cannot be expired: {read_java_name(error)}: {read_java_message(error)}")
