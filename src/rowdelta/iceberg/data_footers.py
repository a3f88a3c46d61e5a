"""What the footers of Parquet data files say: metrics, read by Iceberg itself, and the ids of columns."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rowdelta.errors import FormatError, TableError
from rowdelta.iceberg.content_files import ContentFile
from rowdelta.iceberg.java_errors import JavaError, java_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rowdelta.iceberg.handle import TableHandle

# Footers wait for storage, not for the processor.
_READERS: Final = 16
_TAIL: Final = 64 * 2**10
_FIELD_ID: Final = b"PARQUET:field_id"


def footer_files(handle: TableHandle, paths: Iterable[str], name_mapping: str) -> Iterator[ContentFile]:
    """Data files with the metrics of their footers, in order; their partition is not known.

    Args:
        handle: The table, whose FileIO reads the files.
        paths: The files.
        name_mapping: The ids of columns in files that have none, as JSON.
    """
    iceberg = handle.gateway.iceberg
    config, spec = iceberg.MetricsConfig.getDefault(), iceberg.PartitionSpec.unpartitioned()
    mapping = iceberg.mapping.NameMappingParser.fromJson(name_mapping)
    metrics_of, builder_of = iceberg.parquet.ParquetUtil.fileMetrics, iceberg.DataFiles.builder
    to_json, files = iceberg.ContentFileParser.toJson, handle._table.io()

    def read(path: str) -> ContentFile:
        try:
            file = files.newInputFile(path)
            metrics = metrics_of(file, config, mapping)
            made = builder_of(spec).withInputFile(file).withFormat("parquet").withMetrics(metrics).build()
            return ContentFile.from_json(to_json(made, spec))
        except JavaError as error:
            raise TableError(f"cannot read the footer of {path}: {java_message(error)}") from error

    with ThreadPoolExecutor(_READERS) as pool:
        yield from pool.map(read, paths)


def parquet_footers(handle: TableHandle, sizes: Iterable[tuple[str, int]]) -> Iterator[tuple[int, dict[str, int]]]:
    """The number of rows and the ids of the top-level columns of data files, in order; no id for a column without one.

    Args:
        handle: The table, whose FileIO reads the files.
        sizes: Paths and sizes in bytes.

    Raises:
        TableError: A file is not there, or has another size.
    """
    with ThreadPoolExecutor(_READERS) as pool:
        yield from pool.map(partial(_footer, handle), sizes)


def _footer(handle: TableHandle, file: tuple[str, int]) -> tuple[int, dict[str, int]]:
    path, size = file
    found = handle.io.size(path)
    if found != size:
        raise TableError(f"{path} has {found} bytes, and the log says {size}")
    try:
        metadata = pq.read_metadata(pa.PythonFile(_Ranges(handle, path, size), mode="r"))
    except pa.ArrowException as error:
        raise FormatError(f"{path} is not a Parquet file: {error}") from error
    fields = metadata.schema.to_arrow_schema()
    ids = {field.name: int(field.metadata[_FIELD_ID]) for field in fields if _FIELD_ID in (field.metadata or {})}
    return metadata.num_rows, ids


class _Ranges(io.RawIOBase):
    """A file of a FileIO as Python sees files; the end of it is read once."""

    def __init__(self, handle: TableHandle, path: str, size: int) -> None:
        super().__init__()
        self._io = handle.io
        self._path = path
        self._size = size
        self._at = 0
        self._tail_start = max(0, size - _TAIL)
        self._tail = self._io.read(path, self._tail_start, size - self._tail_start)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> Any:
        end = self._size if size < 0 else min(self._size, self._at + size)
        start, self._at = self._at, max(self._at, end)
        if start >= self._tail_start:
            return self._tail[start - self._tail_start : end - self._tail_start]
        return self._io.read(self._path, start, end - start)
