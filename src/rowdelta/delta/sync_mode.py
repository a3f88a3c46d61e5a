"""Decides what a call has to do: nothing, apply the commits since the last call, or convert the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.delta.sync_properties import SOURCE, TABLE_ID, VERSION, find_delete_folder, is_last_conversion
from rowdelta.errors import InputError, TableError

if TYPE_CHECKING:
    from rowdelta.choices import SyncMode
    from rowdelta.delta.log import LogFile
    from rowdelta.delta.log_versions import DeltaSource
    from rowdelta.iceberg import TableHandle


@dataclass(frozen=True)
class SyncWork:
    """What a call has to do, and why.

    Attributes:
        mode: `full`, `incremental` or `none`.
        from_version: The Delta version of the table; None if it does not matter.
        files: The commits to apply, one after another.
        reason: Why it is this mode.
    """

    mode: str
    from_version: int | None
    files: list[LogFile]
    reason: str


def plan_sync(source: DeltaSource, handle: TableHandle | None, target: str, mode: SyncMode) -> SyncWork:
    """Plans what a call has to do.

    Args:
        source: The Delta table.
        handle: The Iceberg table, if it exists.
        target: The name of the Iceberg table.
        mode: The mode that the caller asked for.

    Raises:
        InputError: That mode is not possible.
    """
    if handle is None:
        if mode == "incremental":
            raise InputError(f"no table {target} to bring up to date", hint="mode='auto' or 'full' creates it")
        return SyncWork("full", None, [], f"{target} is new")
    version = handle.metadata.properties.get(VERSION)
    synced = None if version is None else int(version)
    deviation = "it was never converted to its end" if synced is None else _find_deviation(handle, source)
    if synced == source.version and not deviation:
        return SyncWork("none", synced, [], f"the table is at version {synced}")
    if mode == "full":
        return SyncWork("full", None, [], "as asked")
    if synced is not None and source.version < synced:
        raise InputError(
            f"{target} is at Delta version {synced}, after version {source.version}",
            hint="mode='full' goes back",
        )
    files = None if deviation or synced is None else source.commits_after(synced)
    if files:
        return SyncWork("incremental", synced, files, f"{len(files)} commits after version {synced}")
    deviation = deviation or f"the Delta log has no complete record of what came after version {synced}"
    if mode == "incremental":
        raise InputError(f"{target} cannot be brought up to date: {deviation}", hint="use mode='full' or 'auto'")
    return SyncWork("full", synced, [], deviation)


def check_target(handle: TableHandle, root: str, format_version: int | None, folder: str | None = None) -> None:
    """Refuses a table that was not made from this Delta table, or was made with other options."""
    metadata = handle.metadata
    source = metadata.properties.get(SOURCE)
    if source is None:
        raise TableError(f"{handle.name} exists and was not made from a Delta table", hint="choose another name for it")
    if source != root:
        raise TableError(
            f"{handle.name} was made from the Delta table at {source}, not from {root}",
            hint="choose another name for the Iceberg table, or drop it first",
        )
    if format_version not in {None, metadata.format_version}:
        raise InputError(
            f"{handle.name} has format version {metadata.format_version}, not {format_version}",
            hint="omit format_version, or upgrade the table with ALTER TABLE",
        )
    if folder is not None and resolve_folder(folder, metadata.location) != find_delete_folder(metadata):
        raise InputError(
            f"the delete files of {handle.name} are in {find_delete_folder(metadata)}, not in {folder}",
            hint="omit delete_folder: it is chosen when the table is created",
        )


def resolve_folder(folder: str, location: str) -> str:
    """Resolves the folder of delete files; a relative path is inside the folder of the Iceberg table.

    Examples:
        >>> resolve_folder("deletes/", "s3://lake/t"), resolve_folder("s3://deletes/t", "s3://lake/t")
        ('s3://lake/t/deletes', 's3://deletes/t')
    """
    absolute = folder.startswith("/") or ":/" in folder
    return (folder if absolute else f"{location.rstrip('/')}/{folder}").rstrip("/")


def _find_deviation(handle: TableHandle, source: DeltaSource) -> str:
    """Explains why the table is not as the last conversion left it; empty if it is."""
    if handle.metadata.properties.get(TABLE_ID) != source.table_id:
        return "another Delta table has taken the place of the one that it was made from"
    return "" if is_last_conversion(handle) else "its newest snapshot is not the one that the last conversion made"
