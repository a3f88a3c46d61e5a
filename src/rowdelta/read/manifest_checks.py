"""Refuses manifests that contradict themselves about deletes.

Iceberg's reader refuses damaged files, but ignores these contradictions: deleted rows would come back. The checks use
metadata that has been read already, and open no delete file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rowdelta.errors import FormatError, TableError
from rowdelta.iceberg import read_spec_id

if TYPE_CHECKING:
    from rowdelta.iceberg import DeleteEntry, SnapshotFiles, TableMetadata

_DELETION_VECTOR_VERSION: Final = 3
_LONG_MAX: Final = 2**63 - 1


def check_deletes(metadata: TableMetadata, files: SnapshotFiles) -> None:
    """Refuses a snapshot whose deletes are ambiguous.

    Raises:
        TableError: A manifest has an unknown partition spec, a table below version 3 has a deletion vector, or a data
            file has two of them.
        FormatError: A deletion vector lacks its data file or its offset, or a path leaves its folder.
    """
    _check_specs(metadata, files)
    for entry in (*files.position_deletes, *files.equality_deletes):
        if "/../" in entry.path.removeprefix(metadata.location):
            raise FormatError(f"delete file {entry.path} leaves its folder", hint="no Iceberg writer makes such a path")
    vectors = [entry for entry in files.position_deletes if entry.is_deletion_vector]
    if vectors and metadata.format_version < _DELETION_VECTOR_VERSION:
        raise TableError(
            f"deletion vector {vectors[0].path} in a table of format version {metadata.format_version}",
            hint="deletion vectors need version 3: the table was not written as the Iceberg spec says",
        )
    _check_targets(vectors)


def _check_specs(metadata: TableMetadata, files: SnapshotFiles) -> None:
    for manifest in files.listing.records:
        number = read_spec_id(manifest)
        if number not in metadata.specs:
            raise TableError(
                f"manifest {manifest['manifest_path']} is of partition spec {number}, which the table does not have",
                hint="the manifest list is damaged; it is unknown which deletes apply",
            )


def _check_targets(vectors: list[DeleteEntry]) -> None:
    """Refuses deletion vectors without a data file, and two of the same data file."""
    by_path: dict[str, list[tuple[str, DeleteEntry]]] = {}
    for entry in vectors:
        authority, path = _split_location(_find_target(entry))
        others = by_path.setdefault(path, [])
        for other_authority, other in others:
            if authority == other_authority or not authority or not other_authority:
                raise TableError(
                    f"two deletion vectors for {entry.referenced_data_file}: in {other.path} at {other.content_offset} "
                    f"and in {entry.path} at {entry.content_offset}",
                    hint="a data file has at most one; it is unknown which of them is right",
                )
        others.append((authority, entry))


def _find_target(entry: DeleteEntry) -> str:
    """Finds the data file of a deletion vector, and checks its offset in the Puffin file."""
    offset, size = entry.content_offset, entry.content_size_in_bytes
    if entry.referenced_data_file is None:
        raise FormatError(
            f"deletion vector {entry.path} has no referenced_data_file", hint="it is unknown which rows it deletes"
        )
    if offset is None or size is None or offset < 0 or size < 0 or offset + size > _LONG_MAX:
        raise FormatError(
            f"deletion vector {entry.path} has content_offset {offset} and content_size_in_bytes {size}",
            hint="the manifest is damaged",
        )
    return entry.referenced_data_file


def _split_location(location: str) -> tuple[str, str]:
    """Splits a location into authority and path: writers may omit the scheme and the authority of a file.

    >>> [_split_location(f"{start}/data/a.parquet") for start in ("s3://bucket", "file://", "")]
    [('bucket', '/data/a.parquet'), ('', '/data/a.parquet'), ('', '/data/a.parquet')]
    """
    _, separator, rest = location.partition("://")
    if not separator:
        return "", location.removeprefix("file:")
    authority, _, path = rest.partition("/")
    return authority, f"/{path}"
