"""What a Puffin file holds, as a document and on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from rowdelta.codec import (
    EDV_V1,
    EDV_V2,
    HASH_BLOB_TYPE,
    BlobMetadata,
    PathSource,
    bitmap_to_numpy,
    decode_edv,
    decode_hashed,
    decode_vector,
    get_codec,
    read_blob,
    read_puffin,
)
from rowdelta.encoding.delete_encoding import DELETION_VECTOR_V1
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

BINS = 40
MOST_VALUES = 50_000_000
BARS = " ▁▂▃▄▅▆▇█"


def describe(path: Path) -> dict[str, Any]:
    """The file's properties and blobs; a blob of deletes also with its cardinality, range and histogram."""
    source = PathSource(path)
    file = read_puffin(source)
    return {
        "file": str(path),
        "size": source.size,
        "properties": file.properties,
        "blobs": [_blob(blob, source) for blob in file.blobs],
    }


def _blob(blob: BlobMetadata, source: PathSource) -> dict[str, Any]:
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
    values = _values(blob, source)
    if values is not None:
        document["cardinality"] = len(values)
        if len(values):
            document |= {"min": int(values[0]), "max": int(values[-1]), "histogram": _histogram(values)}
    return document


def _values(blob: BlobMetadata, source: PathSource) -> npt.NDArray[Any] | None:
    """The sorted positions, keys or hashes inside a blob of deletes; other kinds of blobs have none."""
    if blob.type == DELETION_VECTOR_V1:
        vector = decode_vector(read_blob(source, blob), cardinality=_cardinality(blob))
        return bitmap_to_numpy(vector, limit=MOST_VALUES)
    if blob.type in {EDV_V1, EDV_V2}:
        edv = decode_edv(blob, read_blob(source, blob))
        return get_codec(edv.codec).decode(bitmap_to_numpy(edv.bitmap, limit=MOST_VALUES))
    if blob.type == HASH_BLOB_TYPE:
        return np.frombuffer(decode_hashed(read_blob(source, blob)).bitmap.to_array(), np.uint32)
    return None


def _cardinality(blob: BlobMetadata) -> int | None:
    text = blob.properties.get("cardinality")
    if text is not None and not text.isdecimal():
        raise FormatError(f"blob property cardinality is {text!r}, not a number")
    return None if text is None else int(text)


def _histogram(values: npt.NDArray[Any]) -> list[int]:
    """Values per equal slice of the range."""
    counts, _ = np.histogram(values.astype(np.float64), bins=BINS)
    return [int(count) for count in counts]


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
            typer.echo(f"  holds {blob['cardinality']:,} values" + _range(blob))


def _range(blob: dict[str, Any]) -> str:
    if "min" not in blob:
        return ""
    text = f" from {blob['min']:,} to {blob['max']:,}"
    counts = blob["histogram"]
    top = max(counts)
    bars = "".join(BARS[-(-count * (len(BARS) - 1) // top)] for count in counts)
    return f"{text}\n  |{bars}| at most {top:,} in a slice"
