"""Delete files for positions: deletion vectors on version 3, Parquet files on version 2."""

from __future__ import annotations

import struct
import uuid
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rowdelta.change.existing_positions import read_existing_positions
from rowdelta.change.read_back import check_parquet, check_vectors
from rowdelta.codec import Blob, PuffinWriter, bitmap_to_numpy, encode_vector
from rowdelta.encoding import GRANULARITY_FILE, DeleteEncoding, FileContent, granularity_of
from rowdelta.iceberg import ContentFile, NewDelete, RowChange
from rowdelta.spark import json_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyroaring import BitMap64

    from rowdelta.change.row_positions import FilePositions
    from rowdelta.iceberg import DataEntry, DeleteEntry, LiveData, SnapshotFiles, StagedFiles, TableHandle, Validation

ROW_POSITION_ID: Final = 2147483645
PATH_ID: Final = 2147483546
POS_ID: Final = 2147483545
DELETION_VECTOR: Final = "deletion-vector-v1"
DELETION_VECTOR_VERSION: Final = 3


class Written(NamedTuple):
    """New delete files, the old ones that they replace, and data files that have no live row any more.

    `contents` has the bytes of new files that are not on storage yet: the commit writes them beside its manifests.
    """

    deletes: list[NewDelete]
    replaced: list[ContentFile]
    emptied: list[FilePositions]
    contents: dict[str, bytes]

    def change(self, validation: Validation, rows: StagedFiles | None = None) -> RowChange:
        """The change that deletes the positions, and adds rows where there are some."""
        return RowChange(
            deletes=self.deletes,
            rows=rows,
            contents=self.contents,
            removed_deletes=self.replaced,
            validation=validation,
        )

    def save(self, handle: TableHandle) -> None:
        """Writes the contents now."""
        for path, data in self.contents.items():
            handle.io.write(path, data)


def write_positions(
    handle: TableHandle,
    files: SnapshotFiles,
    touched: Sequence[FilePositions],
    records: Mapping[str, int] | None = None,
) -> Written:
    """Writes positions to delete: vectors into memory, Parquet files to storage.

    Args:
        handle: The table.
        files: The snapshot that was read.
        touched: The positions.
        records: How many rows data files have, for a caller who removes files that have no live row any more: these get
            no deletes. On version 2 a file counts as such when all of its rows are among `touched`; what else was
            deleted before is not known.
    """
    if not touched:
        return Written([], [], [], {})
    if handle.metadata.format_version >= DELETION_VECTOR_VERSION:
        return _write_vectors(handle, files, touched, records or {})
    emptied = [file for file in touched if records is not None and len(file.positions) == records.get(file.path)]
    gone = {file.path for file in emptied}
    return Written(_write_parquet(handle, [file for file in touched if file.path not in gone]), [], emptied, {})


def _write_vectors(
    handle: TableHandle, files: SnapshotFiles, touched: Sequence[FilePositions], records: Mapping[str, int]
) -> Written:
    """One vector for each data file, all in one Puffin file; each also holds what was deleted before."""
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
        blob = Blob(DELETION_VECTOR, encode_vector(merged), fields=(ROW_POSITION_ID,), properties=properties)
        written.append((file, merged, writer.add(blob)))
    old = [entry for entry in files.position_deletes if entry.referenced_data_file in paths]
    replaced = [as_content_file(handle, entry) for entry in old]
    if not written:
        return Written([], replaced, emptied, {})
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
    return Written(new, replaced, emptied, {location: data})


def as_content_file(handle: TableHandle, entry: DeleteEntry) -> ContentFile:
    """An entry of a manifest as a file that a commit can remove."""
    return ContentFile(
        path=entry.path,
        file_format=entry.file_format,
        record_count=entry.record_count,
        file_size_in_bytes=entry.file_size_in_bytes,
        content=entry.content,
        spec_id=entry.spec_id,
        partition=stored_partition(handle, entry),
        equality_ids=list(entry.equality_ids) or None,
        referenced_data_file=entry.referenced_data_file if entry.is_deletion_vector else None,
        content_offset=entry.content_offset,
        content_size_in_bytes=entry.content_size_in_bytes,
    )


def stored_partition(handle: TableHandle, entry: DeleteEntry | DataEntry | LiveData) -> list[Any]:
    """The partition of an entry as JSON."""
    return json_values(handle.metadata.partition_types[entry.spec_id], entry.partition)


def _by_file(handle: TableHandle) -> bool:
    return granularity_of(handle.metadata.properties) == GRANULARITY_FILE


def describe_deletes(handle: TableHandle) -> str:
    """What `write_positions` would write, and why."""
    version = f"the table is of format version {handle.metadata.format_version}"
    if handle.metadata.format_version >= DELETION_VECTOR_VERSION:
        return f"deletion-vector, one for each data file touched: {version}"
    return f"position deletes, a file for each {'data file' if _by_file(handle) else 'partition'}: {version}"


def _write_parquet(handle: TableHandle, touched: Sequence[FilePositions]) -> list[NewDelete]:
    """Position delete files, one for each data file or for each partition."""
    groups: dict[Any, list[FilePositions]] = defaultdict(list)
    for file in touched:
        groups[file.path if _by_file(handle) else (file.spec_id, file.partition)].append(file)
    written: list[NewDelete] = []
    try:
        for group in groups.values():
            written.append(write_position_file(handle, sorted(group, key=lambda file: file.path)))  # noqa: PERF401 - see except
    except BaseException:
        handle.io.discard([new.file.path for new in written])
        raise
    return written


def write_position_file(handle: TableHandle, group: list[FilePositions], folder: str | None = None) -> NewDelete:
    """Writes positions of data files of one partition, sorted by path, into one file.

    Args:
        handle: The table.
        group: The positions.
        folder: Where to write; left out, the table decides.
    """
    data = _parquet(group)
    first, last = group[0], group[-1]
    count = sum(len(file.positions) for file in group)
    low = min(file.positions.min() for file in group)
    high = max(file.positions.max() for file in group)
    name = f"{uuid.uuid4()}-deletes.parquet"
    file = ContentFile(
        path=handle.new_data_location(name) if folder is None else f"{folder}/{name}",
        file_format="PARQUET",
        record_count=count,
        file_size_in_bytes=len(data),
        content=FileContent.POSITION,
        spec_id=first.spec_id,
        partition=first.partition,
        value_counts={PATH_ID: count, POS_ID: count},
        null_value_counts={PATH_ID: 0, POS_ID: 0},
        lower_bounds={PATH_ID: first.path.encode(), POS_ID: struct.pack("<q", low)},
        upper_bounds={PATH_ID: last.path.encode(), POS_ID: struct.pack("<q", high)},
    )
    if len(group) == 1:
        file = replace(file, referenced_data_file=first.path)
    check_parquet(file, data)
    handle.io.write(file.path, data)
    return NewDelete(file, DeleteEncoding.FULL_ROW)


def _parquet(group: Iterable[FilePositions]) -> bytes:
    files = list(group)
    counts = [len(file.positions) for file in files]
    paths = pa.DictionaryArray.from_arrays(
        pa.array(np.repeat(np.arange(len(files), dtype=np.int32), counts)), pa.array([file.path for file in files])
    )
    positions = np.concatenate([bitmap_to_numpy(file.positions).astype(np.int64) for file in files])
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(PATH_ID)}),
            pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(POS_ID)}),
        ]
    )
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table([paths.cast(pa.string()), pa.array(positions)], schema=schema),
        sink,
        compression="zstd",
        use_dictionary=["file_path"],
        column_encoding={"pos": "DELTA_BINARY_PACKED"},
        store_schema=False,
    )
    return bytes(sink.getvalue().to_pybytes())
