"""Reads Delta Lake's deletion vectors: finds the bytes of a descriptor, and converts them to an Iceberg vector.

The magic and the bitmap are the same in both formats. Delta keeps them in a file of many vectors (`u` and `p`), framed
as Iceberg frames them, or as text in the log (`i`), without the frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from rowdelta.codec.byte_source import read_exactly
from rowdelta.codec.deletion_vector import FRAME_BYTES, MAX_VECTOR_BYTES, decode_unframed, frame, unframe
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from pyroaring import BitMap64

    from rowdelta.codec.byte_source import Source

DV_FILE_VERSION: Final = 1

_NATIVE_MAGIC: Final = (1681511376).to_bytes(4, "little")
_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS: Final = {character: value for value, character in enumerate(_ALPHABET)}
_PAD: Final = "#"
_GROUP, _TEXT_GROUP = 4, 5
_UUID_TEXT: Final = 20
_INLINE, _RELATIVE, _ABSOLUTE = "i", "u", "p"


@dataclass(frozen=True)
class DeletionVectorDescriptor:
    """A descriptor from a Delta log.

    Attributes:
        storage_type: `u` for a file under the table, `p` for a file elsewhere, `i` for inline.
        path_or_inline_dv: The encoded path, the path, or the encoded vector.
        offset: Where in the file the vector is; None means right after the file's version byte.
        size_in_bytes: The size of magic and bitmap.
        cardinality: How many rows are deleted.
    """

    storage_type: str
    path_or_inline_dv: str
    offset: int | None
    size_in_bytes: int
    cardinality: int

    def __post_init__(self) -> None:
        if self.storage_type not in (_INLINE, _RELATIVE, _ABSOLUTE):
            raise FormatError(f"Delta deletion vector has storage type {self.storage_type!r}, not 'u', 'p' or 'i'")
        if not _GROUP <= self.size_in_bytes <= MAX_VECTOR_BYTES - FRAME_BYTES:
            raise FormatError(f"Delta deletion vector has a size of {self.size_in_bytes} bytes")
        if self.offset is not None and self.offset < 0:
            raise FormatError(f"Delta deletion vector has offset {self.offset}")
        if self.cardinality < 0:
            raise FormatError(f"Delta deletion vector has cardinality {self.cardinality}")


def z85_encode(data: bytes) -> str:
    """Encodes as Delta does: Z85, with zero bytes appended up to a multiple of four.

    Examples:
        >>> z85_encode(bytes.fromhex("864fd26fb559f75b"))
        'HelloWorld'
    """
    padded = data + bytes(-len(data) % _GROUP)
    characters: list[str] = []
    for at in range(0, len(padded), _GROUP):
        value = int.from_bytes(padded[at : at + _GROUP], "big")
        characters += (_ALPHABET[value // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return "".join(characters)


def z85_decode(text: str) -> bytes:
    """Decodes Z85, also with the padding of the Rust crate: a last group of k `#` and 5 - k digits is 4 - k bytes.

    No plain group starts with `#`, since its value would not fit 32 bits.

    Examples:
        >>> z85_decode("HelloWorld").hex()
        '864fd26fb559f75b'
        >>> z85_decode("##093").hex()
        '0300'
    """
    if len(text) % _TEXT_GROUP:
        raise FormatError(f"Z85 text has {len(text)} characters, which is not a multiple of 5")
    result = bytearray()
    for at in range(0, len(text), _TEXT_GROUP):
        group = text[at : at + _TEXT_GROUP]
        padding = len(group) - len(group.lstrip(_PAD))
        if padding and (at + _TEXT_GROUP < len(text) or padding >= _GROUP):
            raise FormatError(f"Z85 text has group {group!r}, whose value does not fit 32 bits")
        value = 0
        for character in group[padding:]:
            if character not in _DIGITS:
                raise FormatError(f"Z85 text has the character {character!a}, which is not in its alphabet")
            value = value * 85 + _DIGITS[character]
        width = _GROUP - padding
        if value >> 8 * width:
            raise FormatError(f"Z85 text has group {group!r}, whose value does not fit {8 * width} bits")
        result += value.to_bytes(width, "big")
    return bytes(result)


def delta_vector_path(descriptor: DeletionVectorDescriptor) -> str:
    """Returns the path of the descriptor's file: relative to the table for `u`, absolute for `p`.

    Examples:
        >>> delta_vector_path(DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6))
        'ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin'
    """
    text = descriptor.path_or_inline_dv
    if descriptor.storage_type == _INLINE:
        raise FormatError("an inline Delta deletion vector has no path")
    if descriptor.storage_type == _ABSOLUTE:
        return text
    if len(text) < _UUID_TEXT:
        raise FormatError(f"Delta deletion vector path {text!r} is shorter than the 20 characters of its UUID")
    prefix, encoded = text[:-_UUID_TEXT], text[-_UUID_TEXT:]
    uuid = z85_decode(encoded)
    if len(uuid) != len(UUID(int=0).bytes):
        raise FormatError(f"Delta deletion vector path {text!r} ends in {len(uuid)} bytes, not in a UUID")
    name = f"deletion_vector_{UUID(bytes=uuid)}.bin"
    return f"{prefix}/{name}" if prefix else name


def convert_to_deletion_vector(descriptor: DeletionVectorDescriptor, source: Source | None = None) -> bytes:
    """Returns the descriptor's vector as a framed Iceberg `deletion-vector-v1` blob.

    A vector in a file is copied as it is, an inline one gets its frame. Everything is checked: magic, checksum,
    structure, size and cardinality.

    Args:
        descriptor: What the Delta log says.
        source: The file at `delta_vector_path(descriptor)`; not for inline vectors.

    Examples:
        >>> inline = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
        >>> len(convert_to_deletion_vector(DeletionVectorDescriptor("i", inline, None, 44, 6)))
        52
    """
    blob, _ = _read(descriptor, source)
    return blob


def decode_delta_vector(descriptor: DeletionVectorDescriptor, source: Source | None = None) -> BitMap64:
    """Decodes the descriptor's vector; the arguments are those of `convert_to_deletion_vector`.

    Examples:
        >>> inline = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
        >>> decode_delta_vector(DeletionVectorDescriptor("i", inline, None, 44, 6))
        BitMap64([3, 4, 7, 11, 18, 29])
    """
    _, bitmap = _read(descriptor, source)
    return bitmap


def _read(descriptor: DeletionVectorDescriptor, source: Source | None) -> tuple[bytes, BitMap64]:
    if descriptor.storage_type == _INLINE:
        content = _read_inline(descriptor)
        blob = None
    else:
        if source is None:
            raise FormatError(f"Delta deletion vector lies in file {delta_vector_path(descriptor)!r}: give its source")
        blob = _read_file_blob(descriptor, source)
        content = bytes(unframe(blob))
    if content.startswith(_NATIVE_MAGIC):
        raise FormatError(
            "Delta deletion vector has the old native format (magic 1681511376), which no engine writes any more",
            hint="rewrite the Delta table's deletion vectors, for instance with REORG TABLE ... APPLY (PURGE)",
        )
    bitmap = decode_unframed(content)
    if len(bitmap) != descriptor.cardinality:
        raise FormatError(f"Delta deletion vector has {len(bitmap)} rows but the log says {descriptor.cardinality}")
    return frame(content) if blob is None else blob, bitmap


def _read_inline(descriptor: DeletionVectorDescriptor) -> bytes:
    decoded = z85_decode(descriptor.path_or_inline_dv)
    size = descriptor.size_in_bytes
    if not size <= len(decoded) < size + _GROUP or any(decoded[size:]):
        raise FormatError(f"inline Delta deletion vector has {len(decoded)} bytes but the log says {size}")
    return decoded[:size]


def _read_file_blob(descriptor: DeletionVectorDescriptor, source: Source) -> bytes:
    version = read_exactly(source, 0, 1)[0]
    if version != DV_FILE_VERSION:
        raise FormatError(f"Delta deletion vector file has version {version}, not {DV_FILE_VERSION}")
    offset = 1 if descriptor.offset is None else descriptor.offset
    if offset == 0:
        raise FormatError("Delta deletion vector has offset 0, where the file's version byte is")
    blob = read_exactly(source, offset, descriptor.size_in_bytes + FRAME_BYTES)
    stored = int.from_bytes(blob[:4], "big")
    if stored != descriptor.size_in_bytes:
        raise FormatError(
            f"Delta deletion vector at byte {offset} has {stored} bytes but the log says {descriptor.size_in_bytes}"
        )
    return blob
