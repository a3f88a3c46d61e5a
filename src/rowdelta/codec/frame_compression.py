"""Single LZ4 and Zstandard frames with their content size, as the Puffin spec requires, read within a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from rowdelta.codec.byte_source import Buffer

CODECS: Final = ("lz4", "zstd")
DEFAULT_LIMIT: Final = 256 * 2**20
"""The default limit for the size of a decompressed blob, in bytes."""

_CHUNK: Final = 2**20
_ZSTD_MAGIC: Final = bytes.fromhex("28b52ffd")
_LZ4_MAGIC: Final = bytes.fromhex("04224d18")
_SMALLEST_WINDOW_LIMIT: Final = 8 * 2**20  # every Zstandard decoder takes windows up to here
_LZ4_SIZE_FLAG: Final = 0x08
_WORD: Final = 0xFFFF_FFFF


def compress(codec: str, data: Buffer) -> bytes:
    """Compresses into one frame that states the size of its content.

    Examples:
        >>> decompress("lz4", compress("lz4", b"some data"))
        b'some data'
    """
    _check_codec(codec)
    frame: bytes = pa.Codec(codec).compress(bytes(data), asbytes=True)
    if codec == "zstd":
        return frame
    # Arrow omits the content size from LZ4 frames. It is added to the header, which ends in its own checksum.
    descriptor = bytes([frame[4] | _LZ4_SIZE_FLAG, frame[5]]) + len(data).to_bytes(8, "little")
    return _LZ4_MAGIC + descriptor + bytes([_hash_xxhash32(descriptor) >> 8 & 0xFF]) + frame[7:]


def decompress(codec: str, data: Buffer, *, limit: int = DEFAULT_LIMIT) -> bytes:
    """Decompresses one frame, and never holds more than `limit` bytes of content.

    Raises:
        FormatError: The codec is unknown, the frame is damaged, or its content exceeds `limit` or the stated size.

    Examples:
        >>> decompress("zstd", compress("zstd", bytes(1_000_000)), limit=1000)
        Traceback (most recent call last):
        ...
        rowdelta.errors.FormatError: zstd frame of 51 bytes has 1000000 bytes of content, more than the limit of 1000
        Hint: raise the limit if the data can be trusted
    """
    _check_codec(codec)
    raw = bytes(data)
    size = _read_zstd_content_size(raw, limit) if codec == "zstd" else _read_lz4_content_size(raw)
    if size is not None and size > limit:
        raise FormatError(
            f"{codec} frame of {len(raw)} bytes has {size} bytes of content, more than the limit of {limit}",
            hint="raise the limit if the data can be trusted",
        )
    content = _decompress_stream(codec, raw, limit if size is None else size)
    if size is not None and len(content) != size:
        raise FormatError(f"{codec} frame gives {len(content)} bytes of content but says {size}")
    return content


def _decompress_stream(codec: str, raw: bytes, limit: int) -> bytes:
    chunks: list[bytes] = []
    total = 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(raw), codec) as stream:
            while chunk := stream.read(min(_CHUNK, limit + 1 - total)):
                total += len(chunk)
                if total > limit:
                    raise FormatError(f"{codec} frame of {len(raw)} bytes gives more than {limit} bytes of content")
                chunks.append(chunk)
    except (OSError, pa.ArrowException, MemoryError) as error:
        raise FormatError(f"{codec} frame of {len(raw)} bytes cannot be decompressed: {error}") from error
    return b"".join(chunks)


def _read_zstd_content_size(raw: bytes, limit: int) -> int | None:
    if raw[:4] != _ZSTD_MAGIC or len(raw) < 6:  # noqa: PLR2004 - magic, descriptor and one byte more
        raise FormatError(f"zstd frame starts with {raw[:4].hex() or 'nothing'}, not {_ZSTD_MAGIC.hex()}")
    descriptor = raw[4]
    single_segment = bool(descriptor & 0x20)
    if descriptor & 0x03:
        raise FormatError("zstd frame needs a dictionary, which Puffin does not have")
    position = 5
    if not single_segment:
        base = 1 << 10 + (raw[5] >> 3)
        window = base + base // 8 * (raw[5] & 7)
        if window > max(limit, _SMALLEST_WINDOW_LIMIT):
            raise FormatError(f"zstd frame requires a window of {window} bytes, more than the limit of {limit}")
        position = 6
    width = (1 if single_segment else 0, 2, 4, 8)[descriptor >> 6]
    if width == 0:
        return None
    if len(raw) < position + width:
        raise FormatError(f"zstd frame of {len(raw)} bytes ends inside its header")
    size = int.from_bytes(raw[position : position + width], "little")
    return size + 256 if width == 2 else size  # noqa: PLR2004 - the format's own offset for two bytes


def _read_lz4_content_size(raw: bytes) -> int | None:
    if raw[:4] != _LZ4_MAGIC or len(raw) < 7:  # noqa: PLR2004 - magic, two descriptor bytes and their checksum
        raise FormatError(f"lz4 frame starts with {raw[:4].hex() or 'nothing'}, not {_LZ4_MAGIC.hex()}")
    if not raw[4] & _LZ4_SIZE_FLAG:
        return None
    return int.from_bytes(raw[6:14], "little")


def _check_codec(codec: str) -> None:
    if codec not in CODECS:
        raise FormatError(f"unknown compression codec {codec!r}", hint=f"known codecs: {', '.join(CODECS)}")


def _hash_xxhash32(data: bytes) -> int:
    """Hashes fewer than 16 bytes; no frame header is longer."""
    prime2, prime3, prime4, prime5 = 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
    value = prime5 + len(data)
    words = len(data) // 4 * 4
    for at in range(0, words, 4):
        value = value + int.from_bytes(data[at : at + 4], "little") * prime3 & _WORD
        value = (value << 17 | value >> 15) * prime4 & _WORD
    for byte in data[words:]:
        value = value + byte * prime5 & _WORD
        value = (value << 11 | value >> 21) * 0x9E3779B1 & _WORD
    value = (value ^ value >> 15) * prime2 & _WORD
    value = (value ^ value >> 13) * prime3 & _WORD
    return value ^ value >> 16
