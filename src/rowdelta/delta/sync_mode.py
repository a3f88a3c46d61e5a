"""What a call has to do: nothing, the commits since the last call, or the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowdelta.delta.apply_commit import SOURCE, TABLE_ID, VERSION, delete_folder, is_own
from rowdelta.errors import InputError, TableError

if TYPE_CHECKING:
    from rowdelta.choices import SyncMode
    from rowdelta.delta.log import LogFile
    from rowdelta.delta.log_versions import DeltaSource
    from rowdelta.iceberg import TableHandle


@dataclass(frozen=True)
class Work:
    """What is to be done, and why.

    Attributes:
        mode: `full`, `incremental` or `none`.
        from_version: The Delta version that the table is at; None where that does not matter.
        files: The commits to apply, one after another.
        reason: Why it is this mode.
    """

    mode: str
    from_version: int | None
    files: list[LogFile]
    reason: str


def decide(source: DeltaSource, handle: TableHandle | None, target: str, mode: SyncMode) -> Work:
    """Decides what to do.

    Args:
        source: The Delta table.
        handle: The Iceberg table, if it is there.
        target: The name of the Iceberg table.
        mode: What was asked for.

    Raises:
        InputError: What was asked for is not possible.
    """
    if handle is None:
        if mode == "incremental":
            raise InputError(f"no table {target} to bring up to date", hint="mode='auto' or 'full' makes it")
        return Work("full", None, [], f"{target} is new")
    known = handle.metadata.properties.get(VERSION)
    synced = None if known is None else int(known)
    why = "it was never converted to its end" if synced is None else _astray(handle, source)
    if synced == source.version and not why:
        return Work("none", synced, [], f"the table is at version {synced}")
    if mode == "full":
        return Work("full", None, [], "as asked")
    if synced is not None and source.version < synced:
        raise InputError(
            f"{target} is at Delta version {synced}, after version {source.version}", hint="mode='full' takes it back"
        )
    files = None if why or synced is None else source.commits_after(synced)
    if files:
        return Work("incremental", synced, files, f"{len(files)} commits after version {synced}")
    why = why or f"the Delta log has no complete record of what came after version {synced}"
    if mode == "incremental":
        raise InputError(f"{target} cannot be brought up to date: {why}", hint="use mode='full' or 'auto'")
    return Work("full", synced, [], why)


def check_target(handle: TableHandle, root: str, format_version: int | None, folder: str | None = None) -> None:
    """Refuses a table that was not made from this Delta table, or not in the way that is asked for now."""
    metadata = handle.metadata
    known = metadata.properties.get(SOURCE)
    if known is None:
        raise TableError(
            f"{handle.name} is there and was not made from a Delta table", hint="choose another name for it"
        )
    if known != root:
        raise TableError(
            f"{handle.name} was made from the Delta table at {known}, not from {root}",
            hint="choose another name for the Iceberg table, or drop it first",
        )
    if format_version not in {None, metadata.format_version}:
        raise InputError(
            f"{handle.name} has format version {metadata.format_version}, not {format_version}",
            hint="leave format_version out, or upgrade the table with ALTER TABLE",
        )
    if folder is not None and resolve_folder(folder, metadata.location) != delete_folder(metadata):
        raise InputError(
            f"the delete files of {handle.name} are in {delete_folder(metadata)}, not in {folder}",
            hint="leave delete_folder out: it is chosen when the table is made",
        )


def resolve_folder(folder: str, location: str) -> str:
    """The place of delete files; a relative one is in the folder of the Iceberg table.

    Examples:
        >>> resolve_folder("deletes/", "s3://lake/t"), resolve_folder("s3://deletes/t", "s3://lake/t")
        ('s3://lake/t/deletes', 's3://deletes/t')
    """
    absolute = folder.startswith("/") or ":/" in folder
    return (folder if absolute else f"{location.rstrip('/')}/{folder}").rstrip("/")


def _astray(handle: TableHandle, source: DeltaSource) -> str:
    """Why the table is not what the last conversion left; empty when it is."""
    if handle.metadata.properties.get(TABLE_ID) != source.table_id:
        return "another Delta table has taken the place of the one that it was made from"
    return "" if is_own(handle) else "its newest snapshot is not the one that the last conversion made"
