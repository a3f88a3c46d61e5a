"""Chooses the encoding of a batch of deletes, and says why. The decision needs plain data only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rowdelta.encoding import properties as names
from rowdelta.encoding.cost import MAX_SELECTIVITY, EncodingCostEstimator
from rowdelta.encoding.delete_encoding import DELETION_VECTOR_V1, EQUALITY_DELETE_HASH_V1, DeleteEncoding
from rowdelta.encoding.file_content import FileContent
from rowdelta.encoding.properties import DeleteProperties
from rowdelta.encoding.vector_fit import FIRST_VERSION_WITH_PUFFIN, VectorFit, find_hash_map_obstacle, fit_vector
from rowdelta.errors import EncodingError

if TYPE_CHECKING:
    from rowdelta.encoding.delete_batch import DeleteBatch


@dataclass(frozen=True)
class EncodingChoice:
    """The encoding of a batch of deletes.

    Attributes:
        encoding: How the deletes are stored.
        blob_type: The type of the Puffin blob; None for full-row.
        codec: How keys become bitmap values, for an equality delete vector of version 2; else None.
        compression: How the set of a vector is stored: `roaring` or `delta-zstd`; None without a vector.
        reason: Why, in words that name the values that decided.
        honoured_hint: Whether the table's encoding hint was followed; an `auto` hint always is.
        granularity: What one position delete file of a v2 table covers: `file` or `partition`; else None.

    Examples:
        >>> from rowdelta.encoding import BatchStatistics, DeleteBatch
        >>> choice = choose_encoding(DeleteBatch("position", 2, BatchStatistics(3)))
        >>> str(choice.encoding), choice.blob_type, choice.granularity
        ('full-row', None, 'file')
    """

    encoding: DeleteEncoding
    blob_type: str | None
    codec: str | None
    compression: str | None
    reason: str
    honoured_hint: bool
    granularity: str | None = None


@dataclass(frozen=True)
class _Option:
    """A possible encoding, or the obstacle that rules it out."""

    encoding: DeleteEncoding
    reason: str
    possible: bool = True
    blob_type: str | None = None
    codec: str | None = None
    compression: str | None = None
    granularity: str | None = None


def choose_encoding(batch: DeleteBatch, *, encoding: DeleteEncoding | str | None = None) -> EncodingChoice:
    """Chooses the encoding of a batch of deletes.

    Without `encoding` the table's properties decide, and what is not possible falls back to something that is, with
    the reason. With it, that encoding is used or refused.

    Args:
        batch: The deletes and the table that they are for.
        encoding: The one encoding to accept, by member or by name.

    Returns:
        The choice with its reason.

    Raises:
        EncodingError: The required encoding is not possible, or a table property has a bad value.

    Examples:
        >>> from rowdelta.encoding import BatchStatistics, DeleteBatch, KeyColumn
        >>> properties = {"write.delete.equality-vector.enabled": "true"}
        >>> keys = (KeyColumn("id", "long"),)
        >>> batch = DeleteBatch("equality", 3, BatchStatistics(3, 100, 1000), keys, properties)
        >>> choice = choose_encoding(batch)
        >>> str(choice.encoding), choice.blob_type, choice.reason
        ('deletion-vector', 'equality-delete-vector-v1', "3 keys of long column 'id' as a bitmap")
        >>> choose_encoding(DeleteBatch("equality", 3, BatchStatistics(1, -5, -5), keys, properties)).reason
        "key 'id' has the negative value -5, and write.delete.equality-vector.codecs does not name long-signed"
    """
    properties = DeleteProperties.from_mapping(batch.properties, stacklevel=3)
    if batch.content == FileContent.POSITION:
        options = _list_position_options(batch, properties)
    else:
        options = _list_equality_options(batch, properties)
    preferred = _prefer(batch, properties, options)
    if encoding is not None:
        preferred = _require(encoding, options, preferred, batch.content)
    return EncodingChoice(
        encoding=preferred.encoding,
        blob_type=preferred.blob_type,
        codec=preferred.codec,
        compression=preferred.compression,
        reason=preferred.reason,
        honoured_hint=properties.hint in {names.HINT_AUTO, preferred.encoding.value},
        granularity=preferred.granularity,
    )


def _list_position_options(batch: DeleteBatch, properties: DeleteProperties) -> list[_Option]:
    """Deletion vectors since version 3, position delete files before it: the table format leaves no choice."""
    no_hashes = _Option(DeleteEncoding.HASH_MAP, "hash-map holds keys, and these are positions", possible=False)
    if batch.format_version < FIRST_VERSION_WITH_PUFFIN:
        no_puffin = f"format version {batch.format_version} has no Puffin delete files"
        granularity = batch.statistics.granularity or properties.granularity
        full_row = _Option(
            DeleteEncoding.FULL_ROW,
            f"{no_puffin}: position delete files, one for each {_describe_granularity(granularity)}",
            granularity=granularity,
        )
        return [_Option(DeleteEncoding.DELETION_VECTOR, no_puffin, possible=False), no_hashes, full_row]
    reason = f"format version {batch.format_version} stores positions as deletion vectors"
    if properties.vector_compression != names.COMPRESSION_ROARING:
        reason += f"; always as roaring, {properties.vector_compression} ({names.VECTOR_COMPRESSION}) is for keys"
    vector = _Option(
        DeleteEncoding.DELETION_VECTOR,
        reason,
        blob_type=DELETION_VECTOR_V1,
        compression=names.COMPRESSION_ROARING,
    )
    no_rows = f"format version {batch.format_version} allows no new position delete files"
    return [vector, no_hashes, _Option(DeleteEncoding.FULL_ROW, no_rows, possible=False)]


def _describe_granularity(granularity: str) -> str:
    return "data file" if granularity == names.GRANULARITY_FILE else "partition"


def _list_equality_options(batch: DeleteBatch, properties: DeleteProperties) -> list[_Option]:
    fit = fit_vector(batch, properties)
    if isinstance(fit, VectorFit):
        vector = _Option(
            DeleteEncoding.DELETION_VECTOR,
            fit.reason,
            blob_type=fit.blob_type,
            codec=fit.codec,
            compression=fit.compression,
        )
    else:
        vector = _Option(DeleteEncoding.DELETION_VECTOR, fit, possible=False)
    no_vector = None if vector.possible else vector.reason
    obstacle = find_hash_map_obstacle(batch, properties)
    hash_map = _Option(
        DeleteEncoding.HASH_MAP,
        obstacle or _join_reasons(no_vector, f"{names.HASH_MAP_ENABLED} is true"),
        possible=obstacle is None,
        blob_type=EQUALITY_DELETE_HASH_V1,
    )
    # A hash map that is not enabled needs no explanation.
    no_hashes = f"no hash-map: {obstacle}" if obstacle and properties.hash_map_enabled else None
    return [vector, hash_map, _Option(DeleteEncoding.FULL_ROW, _join_reasons(no_vector, no_hashes))]


def _prefer(batch: DeleteBatch, properties: DeleteProperties, options: list[_Option]) -> _Option:
    """Returns the option to prefer, by the hint, the estimate and the order of the options."""
    if properties.hint == names.HINT_FULL_ROW:
        return _prefer_full_row(batch, options)
    option = _find_first_possible(batch, properties, options)
    return replace(option, reason=_join_reasons(option.reason, _estimate_cost(batch, properties)))


def _prefer_full_row(batch: DeleteBatch, options: list[_Option]) -> _Option:
    vector, _, full_row = options
    asked = f"{names.ENCODING_HINT} is {names.HINT_FULL_ROW}"
    if not full_row.possible:
        return replace(vector, reason=f"{full_row.reason}, although {asked}")
    if batch.content == FileContent.POSITION:
        return replace(full_row, reason=_join_reasons(asked, full_row.reason))
    return replace(full_row, reason=asked)


def _find_first_possible(batch: DeleteBatch, properties: DeleteProperties, options: list[_Option]) -> _Option:
    vector, hash_map, full_row = options
    if vector.possible:
        too_many = _find_selectivity_obstacle(batch, properties) if full_row.possible else None
        return vector if too_many is None else replace(full_row, reason=too_many)
    return hash_map if hash_map.possible else full_row


def _require(
    encoding: DeleteEncoding | str, options: list[_Option], fallback: _Option, content: FileContent | str
) -> _Option:
    wanted = DeleteEncoding.from_name(encoding) if isinstance(encoding, str) else encoding
    option = next(option for option in options if option.encoding is wanted)
    if not option.possible:
        raise EncodingError(
            f"cannot write the deletes as {wanted.shown(content)}: {option.reason}",
            hint=f"omit encoding= to write them as {fallback.encoding.shown(content)}",
        )
    if option.encoding is fallback.encoding:
        return fallback
    return replace(option, reason=f"encoding={wanted.shown(content)!r} was asked for")


def _estimate_cost(batch: DeleteBatch, properties: DeleteProperties) -> str | None:
    """Returns the estimated sizes as text, if the hint is `auto` and the size of the table is known."""
    if properties.hint != names.HINT_AUTO or batch.statistics.total_rows is None:
        return None
    content, count = FileContent(batch.content), batch.statistics.delete_count
    types = None if content is FileContent.POSITION else [key.type for key in batch.keys]
    estimator = EncodingCostEstimator()
    bitmap = DeleteEncoding.DELETION_VECTOR.shown(content)
    full_row = estimator.estimate_full_row_cost(count, types)
    vector = estimator.estimate_deletion_vector_cost(content, count, types)
    if vector is None:
        return f"estimated {full_row} bytes as full-row, no estimate as {bitmap}"
    return f"estimated {full_row} bytes as full-row, {vector} bytes as {bitmap}"


def _find_selectivity_obstacle(batch: DeleteBatch, properties: DeleteProperties) -> str | None:
    """Applies the estimator's threshold. Its byte counts only inform: they omit the work that readers save."""
    total = batch.statistics.total_rows
    if properties.hint != names.HINT_AUTO or total is None:
        return None
    count = batch.statistics.delete_count
    if EncodingCostEstimator().selectivity(count, total) < MAX_SELECTIVITY:
        return None
    return f"{count} deletes in a table of {total} rows are not less than half of it: the cost estimate says full-row"


def _join_reasons(*parts: str | None) -> str:
    return "; ".join(part for part in parts if part)
