"""Reads the footers of a table's Puffin files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.codec import PuffinFile, read_puffin
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from rowdelta.codec import BlobMetadata
    from rowdelta.iceberg.table_handle import TableHandle


def read_footer(handle: TableHandle, path: str, size: int | None = None) -> PuffinFile:
    """Reads the footer of a Puffin file; a file never changes, so its footer is cached."""
    puffin_file = handle.puffin_footers.get(path)
    if puffin_file is None:
        puffin_file = read_puffin(handle.io.source(path, size))
        handle.puffin_footers.put(path, puffin_file)
    return puffin_file


def read_only_blob_metadata(handle: TableHandle, path: str, size: int | None = None) -> BlobMetadata:
    """Reads the one blob that an equality delete's Puffin file must hold."""
    blobs = read_footer(handle, path, size).blobs
    if len(blobs) != 1:
        raise FormatError(
            f"{path} holds {len(blobs)} blobs; an equality delete has exactly one",
            hint="the file is damaged or incomplete",
        )
    return blobs[0]
