"""Position deletes of version 2: Parquet files of paths and positions, one for each data file or partition."""

from __future__ import annotations

import struct
import uuid
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rowdelta.change.read_back import check_parquet
from rowdelta.codec import bitmap_to_numpy
from rowdelta.encoding import GRANULARITY_FILE, DeleteEncoding, FileContent, read_granularity
from rowdelta.iceberg import ContentFile, NewDelete

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rowdelta.change.file_positions import FilePositions
    from rowdelta.iceberg import TableHandle

PATH_ID: Final = 2147483546
POS_ID: Final = 2147483545


def has_file_granularity(handle: TableHandle) -> bool:
    """Whether the table wants a delete file for each data file, rather than for each partition."""
    return read_granularity(handle.metadata.properties) == GRANULARITY_FILE


def write_position_files(handle: TableHandle, touched: Sequence[FilePositions]) -> list[NewDelete]:
    """Writes position delete files, one for each data file or partition. On failure, none is left."""
    groups: dict[Any, list[FilePositions]] = defaultdict(list)
    for file in touched:
        groups[file.path if has_file_granularity(handle) else (file.spec_id, file.partition)].append(file)
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
        folder: Where to write; by default, the table decides.
    """
    data = _to_parquet(group)
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


def _to_parquet(group: Iterable[FilePositions]) -> bytes:
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
