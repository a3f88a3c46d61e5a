"""Equality delete vectors as Puffin blobs: the set of deleted keys, and the properties that describe it.

`equality-delete-vector-v1` holds non-negative longs in a Roaring vector and nothing else. `equality-delete-vector-v2`
names a key codec and a set compression, and may hold null. The oldest version that can hold a vector is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rowdelta.codec import key_codecs as keys
from rowdelta.codec.puffin import Blob, BlobMetadata, PuffinWriter, read_blob, read_puffin
from rowdelta.codec.set_compression import get_compression
from rowdelta.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyroaring import BitMap64

    from rowdelta.codec.byte_source import Buffer, Source

EQUALITY_DELETE_VECTOR_V1: Final = "equality-delete-vector-v1"
EQUALITY_DELETE_VECTOR_V2: Final = "equality-delete-vector-v2"
GLOBAL_SPEC_ID: Final = -1
ENCODING: Final = "deletion-vector"

_V2_PROPERTIES: Final = ("codec", "compression", "contains-null")
_DECIMAL: Final = re.compile(r"-?(0|[1-9][0-9]{0,19})", re.ASCII)
_INT32: Final = 2**31


@dataclass(frozen=True)
class EqualityDeleteVector:
    """The deleted keys of one column.

    Attributes:
        field_id: The Iceberg field id of the column.
        bitmap: The keys as the codec encodes them.
        codec: The key codec.
        compression: How the set is stored.
        contains_null: Whether rows with a null key are deleted too.
        partition_spec_id: The spec of the partition that the deletes are for; -1 for all partitions.

    Examples:
        >>> from pyroaring import BitMap64
        >>> vector = EqualityDeleteVector(1, BitMap64([100, 500, 1000]))
        >>> vector.type, vector.value_min, vector.value_max
        ('equality-delete-vector-v1', 100, 1000)
    """

    field_id: int
    bitmap: BitMap64
    codec: str = "long"
    compression: str = "roaring"
    contains_null: bool = False
    partition_spec_id: int = GLOBAL_SPEC_ID

    @property
    def type(self) -> str:
        """The blob type that can hold this vector."""
        plain = self.codec == "long" and self.compression == "roaring" and not self.contains_null
        return EQUALITY_DELETE_VECTOR_V1 if plain else EQUALITY_DELETE_VECTOR_V2

    @property
    def value_min(self) -> int | None:
        """The smallest key, decoded; None if null is the only key."""
        return self._decode(self.bitmap.min()) if self.bitmap else None

    @property
    def value_max(self) -> int | None:
        """The largest key, decoded; None if null is the only key."""
        return self._decode(self.bitmap.max()) if self.bitmap else None

    def _decode(self, encoded: int) -> int:
        return int(keys.get(self.codec).decode(np.array([encoded], np.uint64))[0])


def encode_equality_vector(vector: EqualityDeleteVector) -> Blob:
    """Turns a vector into a blob.

    Raises:
        FormatError: The vector is empty, its codec or compression is unknown, or a key is out of the codec's range.

    Examples:
        >>> from pyroaring import BitMap64
        >>> blob = encode_equality_vector(EqualityDeleteVector(1, BitMap64([100, 500, 1000])))
        >>> blob.type, blob.fields
        ('equality-delete-vector-v1', (1,))
        >>> for name, value in blob.properties.items():
        ...     print(name, value)
        equality-field-id 1
        cardinality 3
        partition-spec-id -1
        value-min 100
        value-max 1000
        encoding deletion-vector
    """
    _check_ids(vector.field_id, vector.partition_spec_id)
    if not vector.bitmap and not vector.contains_null:
        raise FormatError("an equality delete vector without keys deletes nothing", hint="write no vector")
    properties = {
        "equality-field-id": str(vector.field_id),
        "cardinality": str(len(vector.bitmap)),
        "partition-spec-id": str(vector.partition_spec_id),
    }
    if vector.bitmap:
        properties |= {"value-min": str(vector.value_min), "value-max": str(vector.value_max)}
    if vector.type == EQUALITY_DELETE_VECTOR_V2:
        properties["codec"] = keys.get(vector.codec).name
        properties["compression"] = vector.compression
        properties["contains-null"] = "true" if vector.contains_null else "false"
    properties["encoding"] = ENCODING
    limit = keys.get(vector.codec).high_key_limit
    payload = get_compression(vector.compression).encode(vector.bitmap, high_key_limit=limit)
    return Blob(vector.type, payload, fields=(vector.field_id,), properties=properties)


def decode_equality_vector(metadata: BlobMetadata | Blob, payload: Buffer) -> EqualityDeleteVector:
    """Reads a vector, and checks its properties against its content.

    Args:
        metadata: The blob's entry in the footer.
        payload: The blob's bytes.

    Raises:
        FormatError: The type, the codec or the compression is unknown, or the properties contradict the content.

    Examples:
        >>> from pyroaring import BitMap64
        >>> blob = encode_equality_vector(EqualityDeleteVector(1, BitMap64([7, 8])))
        >>> decode_equality_vector(blob, blob.payload).bitmap
        BitMap64([7, 8])
    """
    properties = metadata.properties
    _check_type(metadata)
    field_id, spec_id = _read_integer(properties, "equality-field-id"), _read_integer(properties, "partition-spec-id")
    _check_ids(field_id, spec_id)
    if tuple(metadata.fields) != (field_id,):
        raise FormatError(f"vector is for field {field_id} but its blob is for fields {list(metadata.fields)}")
    second = metadata.type == EQUALITY_DELETE_VECTOR_V2
    codec = keys.get(_read_property(properties, "codec") if second else "long")
    compression = get_compression(_read_property(properties, "compression") if second else "roaring")
    contains_null = second and _read_boolean(properties, "contains-null")
    bitmap = compression.decode(
        payload, cardinality=_read_integer(properties, "cardinality"), high_key_limit=codec.high_key_limit
    )
    vector = EqualityDeleteVector(field_id, bitmap, codec.name, compression.name, contains_null, spec_id)
    if not bitmap and not contains_null:
        raise FormatError("an equality delete vector without keys deletes nothing: its writer lost them")
    for name, actual in (("value-min", vector.value_min), ("value-max", vector.value_max)):
        if name in properties and _read_integer(properties, name) != actual:
            raise FormatError(f"vector has {name} {actual} but its metadata says {properties[name]}")
    return vector


def encode_equality_vector_file(vector: EqualityDeleteVector, *, created_by: str = "rowdelta") -> bytes:
    """Writes a whole Puffin file that holds one vector.

    Examples:
        >>> from pyroaring import BitMap64
        >>> from rowdelta.codec.byte_source import BytesSource
        >>> file = encode_equality_vector_file(EqualityDeleteVector(1, BitMap64([7, 8])))
        >>> decode_equality_vector_file(BytesSource(file)).value_max
        8
    """
    writer = PuffinWriter(created_by=created_by)
    writer.add(encode_equality_vector(vector))
    return writer.finish()


def decode_equality_vector_file(source: Source) -> EqualityDeleteVector:
    """Reads a Puffin file that must hold one vector and no other blob."""
    blobs = read_puffin(source).blobs
    if len(blobs) != 1:
        raise FormatError(f"a file of an equality delete vector has one blob, not {len(blobs)}")
    _check_type(blobs[0])
    return decode_equality_vector(blobs[0], read_blob(source, blobs[0]))


def _check_type(metadata: BlobMetadata | Blob) -> None:
    if metadata.type not in (EQUALITY_DELETE_VECTOR_V1, EQUALITY_DELETE_VECTOR_V2):
        raise FormatError(
            f"blob has type {metadata.type!r}, not {EQUALITY_DELETE_VECTOR_V1!r} or {EQUALITY_DELETE_VECTOR_V2!r}"
        )
    if metadata.compression_codec is not None:
        raise FormatError(f"vector is compressed with {metadata.compression_codec!r}; vectors never are")
    properties = metadata.properties
    if "referenced-data-file" in properties:
        raise FormatError(f"vector of keys refers to data file {properties['referenced-data-file']!r}, as positions do")
    if properties.get("encoding", ENCODING) != ENCODING:
        raise FormatError(f"vector has encoding {properties['encoding']!r}, not {ENCODING!r}")
    later = [name for name in _V2_PROPERTIES if name in properties]
    if metadata.type == EQUALITY_DELETE_VECTOR_V1 and later:
        raise FormatError(
            f"{EQUALITY_DELETE_VECTOR_V1} has no property {later[0]!r}",
            hint=f"{EQUALITY_DELETE_VECTOR_V2} has it: the blob type is wrong",
        )


def _check_ids(field_id: int, spec_id: int) -> None:
    if not 0 <= field_id < _INT32:
        raise FormatError(f"equality field id {field_id} is not an Iceberg field id")
    if not GLOBAL_SPEC_ID <= spec_id < _INT32:
        raise FormatError(f"partition spec id {spec_id} is neither an Iceberg spec id nor -1")


def _read_property(properties: Mapping[str, str], name: str) -> str:
    if name not in properties:
        raise FormatError(f"vector has no property {name!r}")
    return properties[name]


def _read_integer(properties: Mapping[str, str], name: str) -> int:
    text = _read_property(properties, name)
    if not _DECIMAL.fullmatch(text):
        raise FormatError(f"vector has {name} {text!r}, which is not an integer")
    return int(text)


def _read_boolean(properties: Mapping[str, str], name: str) -> bool:
    text = _read_property(properties, name)
    if text not in ("true", "false"):
        raise FormatError(f"vector has {name} {text!r}, not 'true' or 'false'")
    return text == "true"
