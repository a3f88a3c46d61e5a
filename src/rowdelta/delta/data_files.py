"""Data files of a Delta table as Iceberg's data files, where they are."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from rowdelta.delta.statistics import Metrics, parse_statistics
from rowdelta.errors import TableError
from rowdelta.iceberg import ContentFile, footer_files, read_parquet_footers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rowdelta.delta.actions import AddFile
    from rowdelta.delta.table_layout import Layout
    from rowdelta.iceberg import TableHandle

_BATCH: Final = 1_000


class FileConverter:
    """Converts files; footers are read only where the log does not say enough, or where that is asked for."""

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
            files += self._batch(batch)
            self._progress(len(batch))
        return files

    def check(self, adds: Mapping[str, AddFile], files: Mapping[str, ContentFile]) -> None:
        """Looks at the files themselves: they must be there, and have the rows and the field ids that they should.

        Raises:
            TableError: Says which file differs, and how.
        """
        known = self._layout.schema.ids
        numbers = set(known.values())
        sizes = [(path, add.size) for path, add in adds.items()]
        for (path, _), (rows, ids) in zip(sizes, read_parquet_footers(self._handle, sizes), strict=True):
            if path in files and rows != files[path].record_count:
                raise TableError(f"{path} has {rows} rows, and the Delta log says {files[path].record_count}")
            # A name that is not known is of a column that was dropped; nobody else may have its id.
            wrong = {n: id_ for n, id_ in ids.items() if (known[(n,)] != id_ if (n,) in known else id_ in numbers)}
            if wrong:
                raise TableError(
                    f"{path} has field ids that are not those of the Delta table: {wrong}; Iceberg would take its "
                    "columns for others",
                    hint="write the file anew, for instance with OPTIMIZE or REORG, with Delta Lake itself",
                )

    def _batch(self, adds: Mapping[str, AddFile]) -> list[ContentFile]:
        leaves = self._layout.schema.leaves
        known: dict[str, Metrics] = {}
        if self._stats == "log":
            for path, add in adds.items():
                metrics = parse_statistics(add.stats, leaves, deletes=add.vector is not None)
                if metrics is not None:
                    known[path] = metrics
        unknown = [path for path in adds if path not in known]
        footers = footer_files(self._handle, unknown, self._layout.schema.name_mapping)
        read = dict(zip(unknown, footers, strict=True)) if unknown else {}
        files = []
        for path, add in adds.items():
            partition = self._layout.partition_values(add.partition_values)
            if path in read:
                file = replace(read[path], path=path, file_size_in_bytes=add.size)
            else:
                metrics = known[path]
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
