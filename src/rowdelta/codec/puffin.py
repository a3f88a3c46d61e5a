"""Puffin files: blobs, and a JSON footer that describes them.

A file is the magic `PFA1`, the blobs, and the footer: magic, payload (JSON, or an LZ4 frame of it), payload size, flags
and magic.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING, Any

from rowdelta.codec.byte_source import Source, read_exactly
from rowdelta.codec.frame_compression import DEFAULT_LIMIT, compress, decompress
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping

PUFFIN_MAGIC = b"PFA1"
MAX_FOOTER_BYTES = 64 * 2**20
INHERITED = -1  # a snapshot id or sequence number that the commit gives

_TAIL = Struct("<iI4s")  # payload size, flags, magic
_FIRST_READ = 8 * 2**10
_FOOTER_COMPRESSED = 1
_INT32, _INT64 = 2**31, 2**63


@dataclass(frozen=True)
class BlobMetadata:
    """A blob in the footer. `offset` and `length` refer to the stored bytes, which may be compressed."""

    type: str
    fields: tuple[int, ...]
    snapshot_id: int
    sequence_number: int
    offset: int
    length: int
    compression_codec: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PuffinFile:
    """A footer: the blobs in the order it lists them, and the file's properties."""

    blobs: tuple[BlobMetadata, ...]
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Blob:
    """A blob to write."""

    type: str
    payload: bytes
    fields: tuple[int, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    snapshot_id: int = INHERITED
    sequence_number: int = INHERITED
    compression_codec: str | None = None


def read_puffin(source: Source) -> PuffinFile:
    """Reads and checks a file's footer: one ranged read from the end, or two if the footer is long.

    Raises:
        FormatError: The file is truncated or damaged, or its footer describes impossible blobs.

    Examples:
        >>> from rowdelta.codec.byte_source import BytesSource
        >>> writer = PuffinWriter(created_by="me")
        >>> _ = writer.add(Blob("note", b"hello", fields=(1,)))
        >>> file = BytesSource(writer.finish())
        >>> footer = read_puffin(file)
        >>> footer.properties, footer.blobs[0].offset, read_blob(file, footer.blobs[0])
        ({'created-by': 'me'}, 4, b'hello')
    """
    size = source.size
    smallest = 2 * len(PUFFIN_MAGIC) + _TAIL.size
    if size < smallest:
        raise FormatError(f"Puffin file has {size} bytes, fewer than the {smallest} of an empty one")
    tail = read_exactly(source, max(0, size - _FIRST_READ), min(size, _FIRST_READ))
    payload_size, flags, magic = _TAIL.unpack_from(tail, len(tail) - _TAIL.size)
    _check_magic(magic, "at its end")
    if flags & ~_FOOTER_COMPRESSED:
        raise FormatError(f"Puffin file has unknown flags 0x{flags:08x}", hint="a newer version may have written it")
    footer_start = size - _TAIL.size - payload_size - len(PUFFIN_MAGIC)
    if payload_size < 0 or footer_start < len(PUFFIN_MAGIC):
        raise FormatError(f"Puffin file of {size} bytes has a footer payload of {payload_size} bytes")
    if footer_start < size - len(tail):
        tail = read_exactly(source, footer_start, size - footer_start)
    footer = tail[len(tail) - (size - footer_start) :]
    _check_magic(footer[:4], "at the start of its footer")
    _check_magic(tail[:4] if len(tail) == size else read_exactly(source, 0, 4), "at its start")
    payload = footer[4 : 4 + payload_size]
    if flags & _FOOTER_COMPRESSED:
        payload = decompress("lz4", payload, limit=MAX_FOOTER_BYTES)
    file = _parse_footer(payload)
    _check_places(file.blobs, footer_start)
    return file


def read_blob(source: Source, blob: BlobMetadata, *, limit: int = DEFAULT_LIMIT) -> bytes:
    """Reads one blob by range and decompresses it.

    Args:
        source: The file.
        blob: One of the blobs of its footer.
        limit: The maximum size of a decompressed blob.
    """
    data = read_exactly(source, blob.offset, blob.length)
    return data if blob.compression_codec is None else decompress(blob.compression_codec, data, limit=limit)


class PuffinWriter:
    """Writes a Puffin file into memory, its footer byte for byte as Iceberg's Java library writes it.

    Examples:
        >>> len(PuffinWriter().finish())
        32
    """

    def __init__(
        self,
        *,
        created_by: str | None = None,
        properties: Mapping[str, str] | None = None,
        compress_footer: bool = False,
    ) -> None:
        """Starts a file.

        Args:
            created_by: The program that writes, for the `created-by` property.
            properties: Other properties of the file.
            compress_footer: Whether to compress the footer. Iceberg's Java library cannot read such a file.
        """
        self._properties = dict(properties or {}) | ({} if created_by is None else {"created-by": created_by})
        self._compress_footer = compress_footer
        self._data = bytearray(PUFFIN_MAGIC)
        self._blobs: list[BlobMetadata] = []

    def add(self, blob: Blob) -> BlobMetadata:
        """Writes a blob, and returns its place in the file."""
        stored = blob.payload if blob.compression_codec is None else compress(blob.compression_codec, blob.payload)
        metadata = BlobMetadata(
            type=blob.type,
            fields=tuple(blob.fields),
            snapshot_id=blob.snapshot_id,
            sequence_number=blob.sequence_number,
            offset=len(self._data),
            length=len(stored),
            compression_codec=blob.compression_codec,
            properties=dict(blob.properties),
        )
        _parse_blob(_convert_to_json(metadata))  # refuses here what no reader would accept
        self._data += stored
        self._blobs.append(metadata)
        return metadata

    def finish(self) -> bytes:
        """Finishes the file, and returns its bytes."""
        footer: dict[str, Any] = {"blobs": [_convert_to_json(blob) for blob in self._blobs]}
        if self._properties:
            footer["properties"] = self._properties
        payload = json.dumps(footer, ensure_ascii=False, separators=(",", ":")).encode()
        if self._compress_footer:
            payload = compress("lz4", payload)
        tail = _TAIL.pack(len(payload), _FOOTER_COMPRESSED if self._compress_footer else 0, PUFFIN_MAGIC)
        return bytes(self._data) + PUFFIN_MAGIC + payload + tail


def _convert_to_json(blob: BlobMetadata) -> dict[str, Any]:
    result: dict[str, Any] = {
        "type": blob.type,
        "fields": list(blob.fields),
        "snapshot-id": blob.snapshot_id,
        "sequence-number": blob.sequence_number,
        "offset": blob.offset,
        "length": blob.length,
    }
    if blob.compression_codec is not None:
        result["compression-codec"] = blob.compression_codec
    if blob.properties:
        result["properties"] = dict(blob.properties)
    return result


def _parse_footer(payload: bytes) -> PuffinFile:
    try:
        footer = json.loads(payload.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"Puffin footer of {len(payload)} bytes is not JSON: {error}") from error
    if not isinstance(footer, dict):
        raise FormatError(f"Puffin footer is a JSON {type(footer).__name__}, not an object")
    blobs = footer.get("blobs")
    if not isinstance(blobs, list):
        raise FormatError(f"Puffin footer has {blobs!r:.80} as its blobs, not a list")
    return PuffinFile(tuple(_parse_blob(blob) for blob in blobs), _check_strings(footer))


def _parse_blob(blob: Any) -> BlobMetadata:
    if not isinstance(blob, dict):
        raise FormatError(f"Puffin footer has {blob!r:.80} as a blob, not an object")
    fields = blob.get("fields")
    if not isinstance(fields, list):
        raise FormatError(f"Puffin blob has {fields!r:.80} as its fields, not a list")
    codec = blob.get("compression-codec")
    return BlobMetadata(
        type=_check_string(blob.get("type"), "type"),
        fields=tuple(_check_integer(item, "fields", _INT32) for item in fields),
        snapshot_id=_check_integer(blob.get("snapshot-id"), "snapshot-id", _INT64),
        sequence_number=_check_integer(blob.get("sequence-number"), "sequence-number", _INT64),
        offset=_check_integer(blob.get("offset"), "offset", _INT64),
        length=_check_integer(blob.get("length"), "length", _INT64),
        compression_codec=None if codec is None else _check_string(codec, "compression-codec"),
        properties=_check_strings(blob),
    )


def _check_strings(owner: dict[str, Any]) -> dict[str, str]:
    properties = owner.get("properties", {})
    if not isinstance(properties, dict):
        raise FormatError(f"Puffin footer has {properties!r:.80} as properties, not an object")
    return {_check_string(name, "property name"): _check_string(value, name) for name, value in properties.items()}


def _check_string(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise FormatError(f"Puffin footer has {value!r:.80} as {name!a}, not a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FormatError(f"Puffin footer has {value!a:.80} as {name!a}, which is not Unicode text") from error
    return value


def _check_integer(value: Any, name: str, limit: int) -> int:
    if type(value) is not int:
        raise FormatError(f"Puffin blob has {value!r:.80} as {name!r}, not an integer")
    if not -limit <= value < limit:
        raise FormatError(f"Puffin blob has {name!r} {value}, which does not fit {limit.bit_length()} bits")
    return value


def _check_places(blobs: tuple[BlobMetadata, ...], footer_start: int) -> None:
    for blob in blobs:
        if blob.length < 0 or blob.offset < len(PUFFIN_MAGIC) or blob.offset + blob.length > footer_start:
            raise FormatError(
                f"Puffin blob {blob.type!r} has offset {blob.offset} and length {blob.length}: "
                f"it does not lie between the magic and the footer at {footer_start}"
            )
    for before, after in pairwise(sorted(blobs, key=lambda blob: (blob.offset, blob.length))):
        if before.offset + before.length > after.offset:
            raise FormatError(f"Puffin blobs at {before.offset} and {after.offset} overlap")


def _check_magic(magic: bytes, where: str) -> None:
    if magic != PUFFIN_MAGIC:
        raise FormatError(f"Puffin file has {magic!r} {where}, not {PUFFIN_MAGIC!r}")
