"""Decodes new delete files before they are written: a file that readers cannot read must not be committed.

The bytes are in memory, so storage is not read. A vector of a million keys takes some milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rowdelta.codec import (
    HASH_BLOB_TYPE,
    BytesSource,
    decode_deletion_vector,
    decode_equality_vector,
    decode_hash_map,
    read_blob,
    read_puffin,
)
from rowdelta.errors import FormatError
from rowdelta.read import check_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyroaring import BitMap64

    from rowdelta.codec import BlobMetadata
    from rowdelta.iceberg import ContentFile, Field

# Decoding a small deletion vector takes 0.2 ms, so only the first of many are decoded.
_VECTORS_DECODED: Final = 64


def check_stored_keys(file: ContentFile, columns: Sequence[Field], blob: BlobMetadata, payload: bytes) -> None:
    """Decodes the keys of an equality delete as readers do.

    Raises:
        FormatError: They do not agree with the manifest entry.
    """
    if blob.type == HASH_BLOB_TYPE:
        keys = decode_hash_map(payload).keys
        for column in columns:
            check_type(file.path, column, keys.schema.field(str(column.id)).type)
        _check_count(file, keys.num_rows)
    else:
        vector = decode_equality_vector(blob, payload)
        _check_count(file, len(vector.bitmap) + vector.contains_null)


def check_parquet(file: ContentFile, data: bytes) -> None:
    """Reads the footer of a Parquet file, and checks its row count."""
    _check_count(file, pq.read_metadata(pa.BufferReader(data)).num_rows)


def check_vectors(path: str, data: bytes, bitmaps: Sequence[BitMap64]) -> None:
    """Reads the footer of a file of deletion vectors, and decodes the vectors, or the first of many.

    Raises:
        FormatError: They differ from the bitmaps.
    """
    source: Any = BytesSource(data)
    blobs = read_puffin(source).blobs
    same = len(blobs) == len(bitmaps) and all(
        decode_deletion_vector(read_blob(source, blob)) == bitmap
        for blob, bitmap in zip(blobs[:_VECTORS_DECODED], bitmaps, strict=False)
    )
    if not same:
        raise FormatError(f"{path} would not contain the vectors that were made", hint="nothing was committed")


def _check_count(file: ContentFile, count: int) -> None:
    if count != file.record_count:
        raise FormatError(
            f"{file.path} would contain {count:,} deletes instead of {file.record_count:,}",
            hint="nothing was committed; please report this",
        )
