"""The table properties for the encoding of deletes: names, defaults, and a parser that refuses bad values."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rowdelta.errors import EncodingError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ENCODING_HINT: Final = "write.delete.encoding-hint"
EQUALITY_VECTOR_ENABLED: Final = "write.delete.equality-vector.enabled"
EQUALITY_VECTOR_CODECS: Final = "write.delete.equality-vector.codecs"
EQUALITY_VECTOR_MAX_SPARSITY: Final = "write.delete.equality-vector.max-sparsity"
HASH_MAP_ENABLED: Final = "write.delete.hash-map.enabled"
VECTOR_COMPRESSION: Final = "write.deletion-vector.compression"
DELETE_GRANULARITY: Final = "write.delete.granularity"
DELETE_STRATEGY: Final = "write.delete.strategy"
UPSERT_RESOLVE: Final = "write.upsert.resolve"

HINT_AUTO: Final = "auto"
HINT_DELETION_VECTOR: Final = "deletion-vector"
HINT_FULL_ROW: Final = "full-row"
HINT_EQUALITY_VECTOR: Final = "equality-delete-vector"  # the name for deletes by key
HINTS: Final = (HINT_AUTO, HINT_EQUALITY_VECTOR, HINT_DELETION_VECTOR, HINT_FULL_ROW)

CODEC_INT: Final = "int"
CODEC_DATE: Final = "date"
CODEC_TIMESTAMP: Final = "timestamp-micros"
CODEC_LONG_SIGNED: Final = "long-signed"
CODECS: Final = (CODEC_INT, CODEC_DATE, CODEC_TIMESTAMP, CODEC_LONG_SIGNED)

COMPRESSION_ROARING: Final = "roaring"
COMPRESSION_DELTA_ZSTD: Final = "delta-zstd"
COMPRESSIONS: Final = (COMPRESSION_ROARING, COMPRESSION_DELTA_ZSTD)

GRANULARITY_FILE: Final = "file"
GRANULARITY_PARTITION: Final = "partition"
GRANULARITIES: Final = (GRANULARITY_FILE, GRANULARITY_PARTITION)

DEFAULT_MAX_SPARSITY: Final = 1000


@dataclass(frozen=True)
class DeleteProperties:
    """The properties of one table, parsed; each default applies to a table without the property.

    Attributes:
        hint: The preferred encoding: `auto`, `deletion-vector` (also where it is called `equality-delete-vector`) or
            `full-row`.
        equality_vector_enabled: Equality delete vectors may be written.
        equality_vector_codecs: The codecs that vectors of version 2 may use; none means version 1 only.
        equality_vector_max_sparsity: The widest range of values for each key in a vector.
        hash_map_enabled: Hashed equality deletes may be written.
        vector_compression: How an equality delete vector of version 2 stores its set.
        granularity: Whether a v2 position delete file covers one data file or a partition.
        upsert_resolve: Whether upserts and deletes by key look up the rows; None if the property is not set.

    Examples:
        >>> DeleteProperties().hint, DeleteProperties().equality_vector_enabled
        ('auto', False)
    """

    hint: str = HINT_AUTO
    equality_vector_enabled: bool = False
    equality_vector_codecs: tuple[str, ...] = ()
    equality_vector_max_sparsity: int = DEFAULT_MAX_SPARSITY
    hash_map_enabled: bool = False
    vector_compression: str = COMPRESSION_ROARING
    granularity: str = GRANULARITY_FILE
    upsert_resolve: bool | None = None

    @classmethod
    def from_mapping(cls, properties: Mapping[str, str], *, stacklevel: int = 2) -> DeleteProperties:
        """Reads the properties of a table; other names are ignored.

        Args:
            properties: All properties of the table.
            stacklevel: Which caller a deprecation warning points at, as for `warnings.warn`.

        Raises:
            EncodingError: A value cannot be understood.

        Examples:
            >>> DeleteProperties.from_mapping({"write.delete.equality-vector.enabled": "true"}).equality_vector_enabled
            True
            >>> DeleteProperties.from_mapping({"write.delete.hash-map.enabled": "yes"})
            Traceback (most recent call last):
            rowdelta.errors.EncodingError: table property write.delete.hash-map.enabled has the value 'yes'
            Hint: use true or false
        """
        prefers_equality = _prefers_equality(properties, stacklevel + 1)
        hint = _read_word(properties, ENCODING_HINT, HINTS, HINT_DELETION_VECTOR if prefers_equality else HINT_AUTO)
        return cls(
            hint=HINT_DELETION_VECTOR if hint == HINT_EQUALITY_VECTOR else hint,
            equality_vector_enabled=_read_boolean(properties, EQUALITY_VECTOR_ENABLED, default=False),
            equality_vector_codecs=_read_words(properties, EQUALITY_VECTOR_CODECS, CODECS),
            equality_vector_max_sparsity=_read_positive(properties, EQUALITY_VECTOR_MAX_SPARSITY, DEFAULT_MAX_SPARSITY),
            hash_map_enabled=_read_boolean(properties, HASH_MAP_ENABLED, default=False),
            vector_compression=_read_word(properties, VECTOR_COMPRESSION, COMPRESSIONS, COMPRESSION_ROARING),
            granularity=read_granularity(properties),
            upsert_resolve=_read_boolean(properties, UPSERT_RESOLVE, default=False)
            if UPSERT_RESOLVE in properties
            else None,
        )


def read_granularity(properties: Mapping[str, str]) -> str:
    """Reads what one position delete file of a version 2 table covers.

    Examples:
        >>> read_granularity({}), read_granularity({"write.delete.granularity": "PARTITION"})
        ('file', 'partition')
    """
    return _read_word(properties, DELETE_GRANULARITY, GRANULARITIES, GRANULARITY_FILE)


def _prefers_equality(properties: Mapping[str, str], stacklevel: int) -> bool:
    """Whether the deprecated strategy property asks for equality deletes. The hint, if set, overrides it."""
    if DELETE_STRATEGY not in properties:
        return False
    value = properties[DELETE_STRATEGY]
    void = ENCODING_HINT in properties
    effect = f"it is ignored because {ENCODING_HINT} is set" if void else f"set {ENCODING_HINT} instead"
    warnings.warn(
        f"table property {DELETE_STRATEGY} ({value!r}) is deprecated: {effect}",
        DeprecationWarning,
        stacklevel=stacklevel,
    )
    return not void and value.strip().lower() == "equality"


def _read_boolean(properties: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = properties.get(name)
    if value is None:
        return default
    text = value.strip().lower()
    if text not in {"true", "false"}:
        raise _make_error(name, value, "use true or false")
    return text == "true"


def _read_positive(properties: Mapping[str, str], name: str, default: int) -> int:
    value = properties.get(name)
    if value is None:
        return default
    text = value.strip()
    # str.isdecimal also accepts the digits of other scripts, which Java would not write.
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise _make_error(name, value, "use a positive whole number")
    return int(text)


def _read_word(properties: Mapping[str, str], name: str, allowed: Collection[str], default: str) -> str:
    value = properties.get(name)
    if value is None:
        return default
    word = value.strip().lower()
    if word not in allowed:
        raise _make_error(name, value, f"use one of {', '.join(allowed)}")
    return word


def _read_words(properties: Mapping[str, str], name: str, allowed: Collection[str]) -> tuple[str, ...]:
    value = properties.get(name, "")
    words = tuple(word for word in (part.strip().lower() for part in value.split(",")) if word)
    if not set(words) <= set(allowed):
        raise _make_error(name, value, f"use a comma-separated list of {', '.join(allowed)}")
    return tuple(dict.fromkeys(words))


def _make_error(name: str, value: str, hint: str) -> EncodingError:
    return EncodingError(f"table property {name} has the value {value!r}", hint=hint)
