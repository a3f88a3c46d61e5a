"""Describes the content of a Puffin file, as a document and as text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import typer

from rowdelta.codec import (
    EQUALITY_DELETE_VECTOR_V1,
    EQUALITY_DELETE_VECTOR_V2,
    HASH_BLOB_TYPE,
    BlobMetadata,
    PathSource,
    decode_deletion_vector,
    decode_equality_vector,
    decode_hash_map,
    read_blob,
    read_puffin,
)
from rowdelta.encoding import DELETION_VECTOR_V1
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

    from pyroaring import BitMap, BitMap64

BINS = 40
LONGEST_NUMBER = 19  # digits of the largest long
BARS = " ▁▂▃▄▅▆▇█"


def describe(path: Path) -> dict[str, Any]:
    """Describes the file's properties and blobs; blobs of deletes also by cardinality, range and histogram."""
    source = PathSource(path)
    file = read_puffin(source)
    return {
        "file": str(path),
        "size": source.size,
        "properties": file.properties,
        "blobs": [_describe_blob(blob, source) for blob in file.blobs],
    }


def _describe_blob(blob: BlobMetadata, source: PathSource) -> dict[str, Any]:
    document: dict[str, Any] = {
        "type": blob.type,
        "fields": list(blob.fields),
        "snapshot-id": blob.snapshot_id,
        "sequence-number": blob.sequence_number,
        "offset": blob.offset,
        "length": blob.length,
        "compression-codec": blob.compression_codec,
        "properties": dict(blob.properties),
    }
    values = _read_values(blob, source)
    if values is not None:
        document["cardinality"] = len(values.bitmap)
        if values.bitmap:
            document |= {"min": values.minimum, "max": values.maximum, "histogram": _count_by_slice(values.bitmap)}
    return document


@dataclass(frozen=True)
class _Values:
    """The positions, keys or hashes inside a blob; they may be billions, so they are never listed."""

    bitmap: BitMap | BitMap64
    minimum: int | None
    maximum: int | None


def _read_values(blob: BlobMetadata, source: PathSource) -> _Values | None:
    """Reads the values of a blob of deletes; None for other blobs."""
    if blob.type in {EQUALITY_DELETE_VECTOR_V1, EQUALITY_DELETE_VECTOR_V2}:
        edv = decode_equality_vector(blob, read_blob(source, blob))
        return _Values(edv.bitmap, edv.value_min, edv.value_max)
    bitmap: BitMap | BitMap64
    if blob.type == DELETION_VECTOR_V1:
        bitmap = decode_deletion_vector(read_blob(source, blob), cardinality=_read_cardinality(blob))
    elif blob.type == HASH_BLOB_TYPE:
        bitmap = decode_hash_map(read_blob(source, blob)).bitmap
    else:
        return None
    return _Values(bitmap, bitmap.min(), bitmap.max()) if bitmap else _Values(bitmap, None, None)


def _read_cardinality(blob: BlobMetadata) -> int | None:
    text = blob.properties.get("cardinality")
    if text is not None and not (text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER):
        raise FormatError(f"blob property cardinality is {text!r}, not a number")
    return None if text is None else int(text)


def _count_by_slice(bitmap: BitMap | BitMap64) -> list[int]:
    """Counts the values in each of some equal slices of the range."""
    low, width = bitmap.min(), bitmap.max() - bitmap.min() + 1
    slices = min(BINS, width)
    up_to = [0, *(bitmap.rank(low + width * end // slices - 1) for end in range(1, slices + 1))]
    return [after - before for before, after in pairwise(up_to)]


def show(report: dict[str, Any]) -> None:
    """Prints a report of `describe`."""
    typer.echo(f"{report['file']}: {report['size']:,} bytes, {len(report['blobs'])} blobs")
    for key, value in report["properties"].items():
        typer.echo(f"  {key} = {value}")
    for number, blob in enumerate(report["blobs"]):
        compression = blob["compression-codec"] or "not compressed"
        typer.echo(f"\nblob {number}: {blob['type']}, {blob['length']:,} bytes at {blob['offset']:,}, {compression}")
        typer.echo(f"  fields {blob['fields']}, snapshot {blob['snapshot-id']}, sequence {blob['sequence-number']}")
        for key, value in blob["properties"].items():
            typer.echo(f"  {key} = {value}")
        if "cardinality" in blob:
            typer.echo(f"  holds {blob['cardinality']:,} values" + _format_range(blob))


def _format_range(blob: dict[str, Any]) -> str:
    if "min" not in blob:
        return ""
    text = f" from {blob['min']:,} to {blob['max']:,}"
    counts = blob["histogram"]
    top = max(counts)
    bars = "".join(BARS[-(-count * (len(BARS) - 1) // top)] for count in counts)
    return f"{text}\n  |{bars}| at most {top:,} in a slice"
