"""What the manifests of a snapshot must not say of its deletes.

Iceberg's reader refuses damaged files by itself. Here are the contradictions that it would read over, with deleted rows
coming back. Only metadata is looked at, which has been read anyway: no delete file is opened.
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
    """Refuses a snapshot whose deletes cannot be applied with certainty.

    Raises:
        TableError: A manifest is of no known partition spec, a table below version 3 has a deletion vector, or a data
            file has two of them.
        FormatError: A deletion vector does not say for which file or where it is, or a path leaves its folder.
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
        found = read_spec_id(manifest)
        if found not in metadata.specs:
            raise TableError(
                f"manifest {manifest['manifest_path']} is of partition spec {found}, which the table does not have",
                hint="the manifest list is damaged; which deletes apply cannot be known",
            )


def _check_targets(vectors: list[DeleteEntry]) -> None:
    """Each deletion vector names its data file, and no other one names the same."""
    known: dict[str, list[tuple[str, DeleteEntry]]] = {}
    for entry in vectors:
        authority, path = _place(_target(entry))
        others = known.setdefault(path, [])
        for other_authority, other in others:
            if authority == other_authority or not authority or not other_authority:
                raise TableError(
                    f"two deletion vectors for {entry.referenced_data_file}: in {other.path} at {other.content_offset} "
                    f"and in {entry.path} at {entry.content_offset}",
                    hint="a data file has at most one; which of them is right cannot be known",
                )
        others.append((authority, entry))


def _target(entry: DeleteEntry) -> str:
    """The data file of a deletion vector, whose place in its Puffin file must be known too."""
    offset, size = entry.content_offset, entry.content_size_in_bytes
    if entry.referenced_data_file is None:
        raise FormatError(
            f"deletion vector {entry.path} has no referenced_data_file", hint="the rows that it deletes cannot be known"
        )
    if offset is None or size is None or offset < 0 or size < 0 or offset + size > _LONG_MAX:
        raise FormatError(
            f"deletion vector {entry.path} has content_offset {offset} and content_size_in_bytes {size}",
            hint="the manifest is damaged",
        )
    return entry.referenced_data_file


def _place(location: str) -> tuple[str, str]:
    """Authority and path of a location: one file may be written with and without scheme and authority.

    >>> _place("s3://bucket/data/a.parquet"), _place("file:///data/a.parquet"), _place("/data/a.parquet")
    (('bucket', '/data/a.parquet'), ('', '/data/a.parquet'), ('', '/data/a.parquet'))
    """
    _, separator, rest = location.partition("://")
    if not separator:
        return "", location.removeprefix("file:")
    authority, _, path = rest.partition("/")
    return authority, f"/{path}"
