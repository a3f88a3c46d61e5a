"""Position deletes of version 3: one Puffin file with a deletion vector for each data file."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from rowdelta.change.existing_positions import read_existing_positions
from rowdelta.change.manifest_entries import to_content_file
from rowdelta.change.read_back import check_vectors
from rowdelta.change.written_deletes import WrittenDeletes
from rowdelta.codec import Blob, PuffinWriter, encode_deletion_vector
from rowdelta.encoding import DeleteEncoding, FileContent
from rowdelta.iceberg import ContentFile, NewDelete

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyroaring import BitMap64

    from rowdelta.change.file_positions import FilePositions
    from rowdelta.codec import BlobMetadata
    from rowdelta.iceberg import SnapshotFiles, TableHandle

_ROW_POSITION_ID: Final = 2147483645
_DELETION_VECTOR: Final = "deletion-vector-v1"


def write_vectors(
    handle: TableHandle, files: SnapshotFiles, touched: Sequence[FilePositions], records: Mapping[str, int]
) -> WrittenDeletes:
    """Makes one vector for each data file, which also holds the positions that were deleted before."""
    paths = {file.path for file in touched}
    before = read_existing_positions(handle, files, paths)
    location = handle.new_data_location(f"{uuid.uuid4()}-deletes.puffin")
    writer = PuffinWriter(created_by="rowdelta")
    written: list[tuple[FilePositions, BitMap64, BlobMetadata]] = []
    emptied: list[FilePositions] = []
    for file in touched:
        merged = file.positions | before.pop(file.path) if file.path in before else file.positions
        if len(merged) == records.get(file.path):
            emptied.append(file)
            continue
        blob = make_vector_blob(file.path, encode_deletion_vector(merged), len(merged))
        written.append((file, merged, writer.add(blob)))
    old = [entry for entry in files.position_deletes if entry.referenced_data_file in paths]
    replaced = [to_content_file(handle, entry) for entry in old]
    if not written:
        return WrittenDeletes([], replaced, emptied, {})
    data = writer.finish()
    check_vectors(location, data, [merged for _, merged, _ in written])
    new = [make_vector_delete(location, len(data), blob, file.spec_id, file.partition) for file, _, blob in written]
    return WrittenDeletes(new, replaced, emptied, {location: data})


def make_vector_blob(data_file: str, vector: bytes, cardinality: int) -> Blob:
    """Makes the blob of a deletion vector, whose properties name the data file and the number of deleted rows."""
    properties = {"referenced-data-file": data_file, "cardinality": str(cardinality)}
    return Blob(_DELETION_VECTOR, vector, fields=(_ROW_POSITION_ID,), properties=properties)


def make_vector_delete(path: str, size: int, blob: BlobMetadata, spec_id: int, partition: Sequence[Any]) -> NewDelete:
    """Makes the delete file of one deletion vector, as a commit takes it.

    Args:
        path: The Puffin file.
        size: Its size in bytes.
        blob: The vector in it, which was made by `make_vector_blob`.
        spec_id: The partition spec of the data file.
        partition: The partition values of the data file, in Iceberg's JSON form.
    """
    file = ContentFile(
        path=path,
        file_format="PUFFIN",
        record_count=int(blob.properties["cardinality"]),
        file_size_in_bytes=size,
        content=FileContent.POSITION,
        spec_id=spec_id,
        partition=partition,
        referenced_data_file=blob.properties["referenced-data-file"],
        content_offset=blob.offset,
        content_size_in_bytes=blob.length,
    )
    return NewDelete(file, DeleteEncoding.DELETION_VECTOR)
