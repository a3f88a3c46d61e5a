"""Converts the data files of a Delta table, in place, to Iceberg's data files."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from rowdelta.delta.log import can_hadoop_read
from rowdelta.delta.statistics import Metrics, parse_statistics
from rowdelta.delta.vectors import DeletedRows
from rowdelta.errors import TableError
from rowdelta.iceberg import ContentFile, read_footer_metrics, read_parquet_footers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rowdelta.delta.actions import AddFile
    from rowdelta.delta.table_layout import Layout
    from rowdelta.iceberg import TableHandle

_BATCH: Final = 1_000


def convert_added_files(
    handle: TableHandle,
    layout: Layout,
    adds: Mapping[str, AddFile],
    progress: Callable[[int], None],
    *,
    stats: str,
    verify_all: bool,
) -> list[ContentFile]:
    """Converts new files, and checks at least one of them against its footer.

    Args:
        handle: The table.
        layout: The layout of the table with these files.
        adds: The files, by the paths that Iceberg gets.
        progress: Called with the number of files after each batch.
        stats: `log` or `footer`: where the metrics come from.
        verify_all: Whether to check every file. One is always checked: files with ids of another table are rare, and
            reading all footers is expensive.
    """
    converter = FileConverter(handle, layout, progress, stats=stats)
    checked = adds if verify_all else dict(islice(adds.items(), 1))
    try:
        files = converter.convert(adds)
        converter.check(checked, {file.path: file for file in files})
    except TableError as error:
        if adds:
            _explain_unreadable(handle, next(iter(adds)), error)
        raise
    return files


def convert_deleted_rows(
    handle: TableHandle, layout: Layout, adds: Mapping[str, AddFile], converted: Mapping[str, ContentFile]
) -> list[DeletedRows]:
    """Pairs the deletion vectors of files with the files, which are converted now unless they are already."""
    staying = {path: add for path, add in adds.items() if path not in converted}
    converter = FileConverter(handle, layout, lambda _: None, stats="log")
    files = {**converted, **{file.path: file for file in converter.convert(staying)}}
    return [
        DeletedRows(path, files[path].spec_id, files[path].partition, files[path].record_count, add.vector)
        for path, add in adds.items()
        if add.vector is not None
    ]


def _explain_unreadable(handle: TableHandle, path: str, error: TableError) -> None:
    """Raises an explanation where Delta Lake can read a file but the table's FileIO, with its own storage, cannot."""
    try:
        handle.io.size(path)
    except TableError:
        if can_hadoop_read(handle.spark, path):
            raise TableError(
                f"{handle.name} cannot read the files of the Delta table where they are: {error.message}",
                hint=f"its FileIO is {handle.io.class_name}; choose a catalog with the setting io-impl="
                "org.apache.iceberg.io.ResolvingFileIO, which opens each path by its scheme",
            ) from error


class FileConverter:
    """Converts files. It reads footers only if the log lacks statistics, or if the caller asks for it."""

    def __init__(self, handle: TableHandle, layout: Layout, progress: Callable[[int], None], *, stats: str) -> None:
        self._handle = handle
        self._layout = layout
        self._progress = progress
        self._stats = stats

    def convert(self, adds: Mapping[str, AddFile]) -> list[ContentFile]:
        """Converts files, given by the paths that Iceberg gets."""
        files: list[ContentFile] = []
        rest = iter(adds.items())
        while batch := dict(islice(rest, _BATCH)):
            files += self._convert_batch(batch)
            self._progress(len(batch))
        return files

    def check(self, adds: Mapping[str, AddFile], files: Mapping[str, ContentFile]) -> None:
        """Reads footers: the files must exist, and have the rows and the field ids that they should have.

        Raises:
            TableError: Says which file differs, and how.
        """
        expected = self._layout.schema.ids
        numbers = set(expected.values())
        sizes = [(path, add.size) for path, add in adds.items()]
        for (path, _), (rows, ids) in zip(sizes, read_parquet_footers(self._handle, sizes), strict=True):
            if path in files and rows != files[path].record_count:
                raise TableError(f"{path} has {rows} rows, and the Delta log says {files[path].record_count}")
            # A name without an expected id belongs to a dropped column; its id must not be that of another column.
            wrong = {
                n: id_ for n, id_ in ids.items() if (expected[(n,)] != id_ if (n,) in expected else id_ in numbers)
            }
            if wrong:
                raise TableError(
                    f"{path} has field ids that are not those of the Delta table: {wrong}; Iceberg would mistake its "
                    "columns for others",
                    hint="rewrite the file with Delta Lake itself, for instance with OPTIMIZE or REORG",
                )

    def _convert_batch(self, adds: Mapping[str, AddFile]) -> list[ContentFile]:
        from_log = self._parse_log_metrics(adds) if self._stats == "log" else {}
        without = [path for path in adds if path not in from_log]
        footers = read_footer_metrics(self._handle, without, self._layout.schema.name_mapping)
        from_footer = dict(zip(without, footers, strict=True)) if without else {}
        files = []
        for path, add in adds.items():
            partition = self._layout.partition_values(add.partition_values)
            if path in from_footer:
                file = replace(from_footer[path], path=path, file_size_in_bytes=add.size)
            else:
                metrics = from_log[path]
                file = ContentFile(
                    path=path,
                    file_format="PARQUET",
                    record_count=metrics.record_count,
                    file_size_in_bytes=add.size,
                    value_counts=metrics.value_counts,
                    null_value_counts=metrics.null_value_counts,
                    lower_bounds=metrics.lower_bounds,
                    upper_bounds=metrics.upper_bounds,
                )
            files.append(replace(file, spec_id=self._layout.spec_id, partition=partition))
        return files

    def _parse_log_metrics(self, adds: Mapping[str, AddFile]) -> dict[str, Metrics]:
        """Parses the metrics of the files whose statistics in the log are complete enough."""
        leaves = self._layout.schema.leaves
        parsed = {path: parse_statistics(a.stats, leaves, deletes=a.vector is not None) for path, a in adds.items()}
        return {path: metrics for path, metrics in parsed.items() if metrics is not None}
