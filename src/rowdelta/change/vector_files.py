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
    from rowdelta.iceberg import SnapshotFiles, TableHandle

ROW_POSITION_ID: Final = 2147483645
DELETION_VECTOR: Final = "deletion-vector-v1"


def write_vectors(
    handle: TableHandle, files: SnapshotFiles, touched: Sequence[FilePositions], records: Mapping[str, int]
) -> WrittenDeletes:
    """Makes one vector for each data file, which also holds the positions that were deleted before."""
    paths = {file.path for file in touched}
    before = read_existing_positions(handle, files, paths)
    location = handle.new_data_location(f"{uuid.uuid4()}-deletes.puffin")
    writer = PuffinWriter(created_by="rowdelta")
    written: list[tuple[FilePositions, BitMap64, Any]] = []
    emptied: list[FilePositions] = []
    for file in touched:
        merged = file.positions | before.pop(file.path) if file.path in before else file.positions
        if len(merged) == records.get(file.path):
            emptied.append(file)
            continue
        properties = {"referenced-data-file": file.path, "cardinality": str(len(merged))}
        blob = Blob(DELETION_VECTOR, encode_deletion_vector(merged), fields=(ROW_POSITION_ID,), properties=properties)
        written.append((file, merged, writer.add(blob)))
    old = [entry for entry in files.position_deletes if entry.referenced_data_file in paths]
    replaced = [to_content_file(handle, entry) for entry in old]
    if not written:
        return WrittenDeletes([], replaced, emptied, {})
    data = writer.finish()
    check_vectors(location, data, [merged for _, merged, _ in written])
    new = [
        NewDelete(
            ContentFile(
                path=location,
                file_format="PUFFIN",
                record_count=len(merged),
                file_size_in_bytes=len(data),
                content=FileContent.POSITION,
                spec_id=file.spec_id,
                partition=file.partition,
                referenced_data_file=file.path,
                content_offset=blob.offset,
                content_size_in_bytes=blob.length,
            ),
            DeleteEncoding.DELETION_VECTOR,
        )
        for file, merged, blob in written
    ]
    return WrittenDeletes(new, replaced, emptied, {location: data})
