"""What the Puffin files of a table hold, by their footers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.codec import PuffinFile, read_puffin
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from rowdelta.codec import BlobMetadata
    from rowdelta.iceberg.handle import TableHandle

_KEPT: Final = 4096


def footer(handle: TableHandle, path: str, size: int | None = None) -> PuffinFile:
    """The footer of a Puffin file; a file never changes, so each is read once per handle."""
    found = handle.puffin_footers.get(path)
    if found is None:
        found = read_puffin(handle.io.source(path, size))
        keep_footer(handle, path, found)
    return found


def keep_footer(handle: TableHandle, path: str, file: PuffinFile) -> None:
    """Keeps the footer of a file that has just been read or written; the oldest go when there are many."""
    handle.puffin_footers[path] = file
    while len(handle.puffin_footers) > _KEPT:
        handle.puffin_footers.popitem(last=False)


def only_blob(handle: TableHandle, path: str, size: int | None = None) -> BlobMetadata:
    """The one blob that an equality delete's Puffin file must hold."""
    blobs = footer(handle, path, size).blobs
    if len(blobs) != 1:
        raise FormatError(
            f"{path} holds {len(blobs)} blobs; an equality delete has exactly one",
            hint="the file was not written whole",
        )
    return blobs[0]
