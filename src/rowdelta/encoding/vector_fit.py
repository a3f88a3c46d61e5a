"""Decides whether a batch of equality deletes fits an equality delete vector or a hash map, and if not, why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rowdelta.encoding import properties as names
from rowdelta.encoding.delete_encoding import EQUALITY_DELETE_VECTOR_V1, EQUALITY_DELETE_VECTOR_V2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rowdelta.encoding.delete_batch import BatchStatistics, DeleteBatch, KeyColumn
    from rowdelta.encoding.properties import DeleteProperties

# The first format version with Puffin delete files.
FIRST_VERSION_WITH_PUFFIN: Final = 3

# The codec of a plain long, which version 2 of the blob names explicitly.
CODEC_LONG: Final = "long"

# The largest value of Iceberg's Java bitmap, and of values in a delta-zstd set: `codec/` has the same limits.
LARGEST_PLAIN_LONG: Final = 0x7FFF_FFFE_8000_0000
MOST_DELTA_VALUES: Final = 2**25

TYPE_CODECS: Final[Mapping[str, str]] = {
    "int": names.CODEC_INT,
    "date": names.CODEC_DATE,
    "timestamp": names.CODEC_TIMESTAMP,
    "timestamptz": names.CODEC_TIMESTAMP,
}

_PRIMITIVE: Final = re.compile(
    r"boolean|int|long|float|double|date|time|timestamp|timestamptz|timestamp_ns|timestamptz_ns"
    r"|string|uuid|binary|decimal\(\d+, ?\d+\)|fixed\[\d+\]"
)


@dataclass(frozen=True)
class VectorFit:
    """The equality delete vector that holds a batch.

    Attributes:
        blob_type: Version 1, or version 2 where a codec, a null or a compression needs it.
        codec: The codec of version 2; None in version 1.
        compression: How the set is stored.
        reason: Why it fits.
    """

    blob_type: str
    codec: str | None
    compression: str
    reason: str


def fit_vector(batch: DeleteBatch, properties: DeleteProperties) -> VectorFit | str:
    """Finds the vector that can hold the batch, or returns the obstacle as text."""
    obstacle = _find_table_obstacle(batch, properties) or _find_key_obstacle(batch, properties)
    if obstacle is not None:
        return obstacle
    (key,), statistics = batch.keys, batch.statistics
    codec = _find_needed_codec(key, statistics)
    reason = f"{_format_count(statistics)} of {key.type} column {key.name!r} as a bitmap"
    if properties.vector_compression == names.COMPRESSION_DELTA_ZSTD:
        no_delta = _find_delta_obstacle(statistics, properties)
        if no_delta is None:
            return VectorFit(EQUALITY_DELETE_VECTOR_V2, codec or CODEC_LONG, names.COMPRESSION_DELTA_ZSTD, reason)
        reason += f"; stored as roaring, not delta-zstd ({names.VECTOR_COMPRESSION}), because {no_delta}"
    blob_type = EQUALITY_DELETE_VECTOR_V1 if codec is None else EQUALITY_DELETE_VECTOR_V2
    return VectorFit(blob_type, codec, names.COMPRESSION_ROARING, reason)


def find_hash_map_obstacle(batch: DeleteBatch, properties: DeleteProperties) -> str | None:
    """Finds the obstacle to a hash map; None if there is none."""
    if batch.format_version < FIRST_VERSION_WITH_PUFFIN:
        return f"format version {batch.format_version} has no Puffin delete files"
    if not properties.hash_map_enabled:
        return f"{names.HASH_MAP_ENABLED} is false"
    for key in batch.keys:
        if not _PRIMITIVE.fullmatch(key.type):
            return f"key {key.name!r} is of type {key.type}, which is not primitive"
    return None


def _find_table_obstacle(batch: DeleteBatch, properties: DeleteProperties) -> str | None:
    if batch.format_version < FIRST_VERSION_WITH_PUFFIN:
        return f"format version {batch.format_version} has no Puffin delete files"
    if not properties.equality_vector_enabled:
        return f"{names.EQUALITY_VECTOR_ENABLED} is false"
    return None


def _find_key_obstacle(batch: DeleteBatch, properties: DeleteProperties) -> str | None:
    if len(batch.keys) != 1:
        listed = ", ".join(repr(key.name) for key in batch.keys)
        return f"the key has {len(batch.keys)} columns ({listed}), and a bitmap holds one"
    (key,) = batch.keys
    if key.type != "long" and key.type not in TYPE_CODECS:
        return f"key {key.name!r} is of type {key.type}, which a bitmap cannot hold"
    if batch.statistics.delete_count == 0:
        return "the batch has no keys"
    return _find_codec_obstacle(key, batch.statistics, properties) or _find_range_obstacle(
        key, batch.statistics, properties
    )


def _find_codec_obstacle(key: KeyColumn, statistics: BatchStatistics, properties: DeleteProperties) -> str | None:
    codec = _find_needed_codec(key, statistics)
    if codec is None or codec in properties.equality_vector_codecs:
        return None
    if key.type != "long":
        what = f"key {key.name!r} is of type {key.type}"
    elif statistics.has_null:
        what = f"key {key.name!r} has a null in the batch"
    elif _is_negative(statistics):
        what = f"key {key.name!r} has the negative value {statistics.minimum}"
    else:
        what = f"key {key.name!r} has the value {statistics.maximum}, which is more than {LARGEST_PLAIN_LONG}"
    return f"{what}, and {names.EQUALITY_VECTOR_CODECS} does not name {codec}"


def _find_range_obstacle(key: KeyColumn, statistics: BatchStatistics, properties: DeleteProperties) -> str | None:
    """Applies the limit of sparsity, for every codec and compression: a sparse set is a large bitmap in memory."""
    if statistics.cardinality == 0:
        return None
    if statistics.minimum is None or statistics.maximum is None:
        return f"the smallest and largest values of key {key.name!r} are not known"
    value_range = statistics.maximum - statistics.minimum
    if value_range > statistics.cardinality * properties.equality_vector_max_sparsity:
        return (
            f"key {key.name!r} is too sparse: range {value_range} is more than "
            f"{properties.equality_vector_max_sparsity} times the {_format_count(statistics)} "
            f"({names.EQUALITY_VECTOR_MAX_SPARSITY})"
        )
    return None


def _find_needed_codec(key: KeyColumn, statistics: BatchStatistics) -> str | None:
    """Finds the codec that version 2 needs to hold the key; None if version 1 can hold it."""
    if key.type != "long":
        return TYPE_CODECS[key.type]
    too_large = statistics.maximum is not None and statistics.maximum > LARGEST_PLAIN_LONG
    signed = statistics.has_null or _is_negative(statistics) or too_large
    return names.CODEC_LONG_SIGNED if signed else None


def _is_negative(statistics: BatchStatistics) -> bool:
    return statistics.minimum is not None and statistics.minimum < 0


def _find_delta_obstacle(statistics: BatchStatistics, properties: DeleteProperties) -> str | None:
    if not properties.equality_vector_codecs:
        return f"{names.EQUALITY_VECTOR_CODECS} is empty"
    if statistics.cardinality > MOST_DELTA_VALUES:
        return f"{statistics.cardinality} keys are more than {MOST_DELTA_VALUES}"
    return None


def _format_count(statistics: BatchStatistics) -> str:
    return "1 key" if statistics.cardinality == 1 else f"{statistics.cardinality} keys"
