"""Reads the footers of Parquet data files: metrics, with Iceberg's own reader, and column ids."""

from __future__ import annotations

import io
import json
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rowdelta.errors import FormatError, TableError
from rowdelta.iceberg.content_files import ContentFile
from rowdelta.iceberg.file_io import run_in_parallel
from rowdelta.spark import NODE, JavaError, MethodHandles, read_java_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rowdelta.iceberg.table_handle import TableHandle

_BATCH: Final = 100
_LEAST_BATCHES: Final = 16  # enough for every thread of the pool
_TAIL: Final = 16 * 2**10
_FIELD_ID: Final = b"PARQUET:field_id"
_ICEBERG: Final = "org.apache.iceberg"
_BUILDER: Final = "org.apache.iceberg.DataFiles$Builder"
_STRING: Final = "java.lang.String"


def read_footer_metrics(handle: TableHandle, paths: Sequence[str], name_mapping: str) -> list[ContentFile]:
    """Reads data files with the metrics of their footers, in order, without a partition.

    Args:
        handle: The table, whose FileIO reads the files.
        paths: The files.
        name_mapping: The ids of columns in files that have none, as JSON.
    """
    if not paths:
        return []
    handles = MethodHandles(handle.gateway)
    read = _compose_footer_reader(handle, handles, name_mapping)

    def read_batch(some: Sequence[str]) -> list[str]:
        texts = handle.gateway.jvm.java.util.ArrayList()
        try:
            handles.run(handles.then(read, handles.of_collection("add", texts)), json.dumps(some))
        except JavaError as error:
            raise TableError(f"cannot read the footer of {some[texts.size()]}: {read_java_message(error)}") from error
        return handles.texts(texts)

    size = min(_BATCH, -(-len(paths) // _LEAST_BATCHES))
    batches = [paths[start : start + size] for start in range(0, len(paths), size)]
    return [ContentFile.from_json(text) for text in chain.from_iterable(run_in_parallel(read_batch, batches))]


def _compose_footer_reader(handle: TableHandle, handles: MethodHandles, name_mapping: str) -> Any:
    """Composes a Java method that takes the path of a file as JSON text, and returns the file with its metrics."""
    iceberg = handle.gateway.iceberg
    spec, config = iceberg.PartitionSpec.unpartitioned(), iceberg.MetricsConfig.getDefault()
    mapping = iceberg.mapping.NameMappingParser.fromJson(name_mapping)
    open_file = handles.method(f"{_ICEBERG}.io.FileIO", "newInputFile", _STRING).bindTo(handle.java_table.io())
    metrics = handles.method(
        f"{_ICEBERG}.parquet.ParquetUtil",
        "fileMetrics",
        f"{_ICEBERG}.io.InputFile",
        f"{_ICEBERG}.MetricsConfig",
        f"{_ICEBERG}.mapping.NameMapping",
    )
    metrics = handles.with_values(metrics, 1, config, mapping)
    start = handles.with_values(
        handles.method(f"{_ICEBERG}.DataFiles", "builder", f"{_ICEBERG}.PartitionSpec"), 0, spec
    )
    start = handles.then(start, handles.with_values(handles.method(_BUILDER, "withFormat", _STRING), 1, "parquet"))
    with_file = handles.after(start, handles.method(_BUILDER, "withInputFile", f"{_ICEBERG}.io.InputFile"))
    with_metrics = handles.both(handles.method(_BUILDER, "withMetrics", f"{_ICEBERG}.Metrics"), with_file, metrics)
    write = handles.method(
        f"{_ICEBERG}.ContentFileParser", "toJson", f"{_ICEBERG}.ContentFile", f"{_ICEBERG}.PartitionSpec"
    )
    return handles.then(
        handles.method(NODE, "asText"),
        open_file,
        with_metrics,
        handles.method(_BUILDER, "build"),
        handles.with_values(write, 1, spec),
    )


def read_parquet_footers(handle: TableHandle, sizes: Iterable[tuple[str, int]]) -> Iterator[tuple[int, dict[str, int]]]:
    """Reads the row count and the ids of the top-level columns of data files, in order.

    Columns without an id are omitted.

    Args:
        handle: The table, whose FileIO reads the files.
        sizes: Paths and sizes in bytes.

    Raises:
        TableError: A file is missing, or has another size.
    """
    # A table may have a million files: the caller checks each batch before the next is read, and may stop early.
    remaining = iter(sizes)
    while batch := list(islice(remaining, _BATCH)):
        yield from run_in_parallel(partial(_read_footer, handle), batch)


def _read_footer(handle: TableHandle, file: tuple[str, int]) -> tuple[int, dict[str, int]]:
    path, size = file
    actual_size = handle.io.size(path)
    if actual_size != size:
        raise TableError(f"{path} has {actual_size} bytes, and the log says {size}")
    try:
        metadata = pq.read_metadata(pa.PythonFile(_Ranges(handle, path, size), mode="r"))
    except pa.ArrowException as error:
        raise FormatError(f"{path} is not a Parquet file: {error}") from error
    fields = metadata.schema.to_arrow_schema()
    ids = {field.name: int(field.metadata[_FIELD_ID]) for field in fields if _FIELD_ID in (field.metadata or {})}
    return metadata.num_rows, ids


class _Ranges(io.RawIOBase):
    """A file of a FileIO as a Python file object, whose end is read once."""

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
