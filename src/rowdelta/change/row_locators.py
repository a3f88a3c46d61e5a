"""Locates rows by the path of their file, or by a number for it, and collects their positions as bitmaps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change.file_positions import FilePositions, check_spec
from rowdelta.change.manifest_entries import partition_to_json
from rowdelta.change.target_snapshot import FILE, POSITION
from rowdelta.codec import bitmap_from_sorted, compute_spark_hashes, sort_distinct
from rowdelta.iceberg import list_partition_names
from rowdelta.read import PARTITION, SPEC, locate_bit, unpack_words
from rowdelta.spark import (
    collect_arrow,
    convert_to_json_values,
    convert_to_plain_values,
    make_frame_from_arrow,
    parse_column,
    select_sql,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt
    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg import DataEntry, LiveData, TableHandle

RowArrays: TypeAlias = "dict[str, npt.NDArray[Any]]"  # columns of rows

CODE: Final = "__rd_code"
_BLOCK, _BIT = locate_bit(POSITION)
_HASH: Final = f"hash({FILE}) AS {CODE}"
_PATH: Final = "__rd_path"
_RUNS_OF_BATCH: Final = 64
# The code and the position of a row take twelve bytes in Arrow, and those of one file are copied to be sorted.
_BYTES_OF_ROW: Final = 24


class RowLocator(ABC):
    """Locates rows by columns that they carry, and collects their positions.

    Attributes:
        handle: The table.
        names: The columns that rows carry: one or more for the file, and the position. The first two identify a row.
        sources: The columns of live rows that these are computed from.
    """

    handle: TableHandle
    names: list[str]
    sources: list[str]

    @abstractmethod
    def mark(self, rows: DataFrame, columns: Sequence[str | Column]) -> DataFrame:
        """Selects columns of live rows, and those of `names`."""

    @abstractmethod
    def collect(self, rows: DataFrame) -> list[FilePositions]:
        """Collects the positions of marked rows, by file."""

    def find(self, rows: DataFrame) -> list[FilePositions]:
        """Collects the positions of live rows, by file."""
        return self.collect(self.mark(rows, []))


class PathLocator(RowLocator):
    """Rows carry the path of their file: for tables with so many files that it would cost more to list them."""

    def __init__(self, handle: TableHandle, rows: DataFrame) -> None:
        self.handle = handle
        self.names = [FILE, POSITION, SPEC, *([PARTITION] if PARTITION in rows.columns else [])]
        self.sources = self.names

    def mark(self, rows: DataFrame, columns: Sequence[str | Column]) -> DataFrame:
        """Selects the columns, and those of `names`: live rows have them all."""
        return rows.select(*columns, *self.names)

    def collect(self, rows: DataFrame) -> list[FilePositions]:
        """Collects one record for each file, with one 64-bit word for every 64 neighbouring positions."""
        partition = PARTITION in self.names
        words = (
            rows.withColumn("block", parse_column(_BLOCK))
            .groupBy(FILE, "block")
            .agg(
                F.bit_or(parse_column(_BIT)).alias("word"),
                F.first(SPEC).alias("spec_id"),
                F.count("*").alias("rows"),
                *([F.first(PARTITION).alias("partition")] if partition else []),
            )
        )
        files = words.groupBy(FILE).agg(
            F.first("spec_id").alias("spec_id"),
            F.sum("rows").alias("rows"),
            *([F.first("partition").alias("partition")] if partition else []),
            F.collect_list(F.struct("block", "word")).alias("words"),
        )
        table = collect_arrow(files)
        names, specs = list_partition_names(self.handle), self.handle.metadata.specs
        types = self.handle.metadata.partition_types
        partitions = convert_to_plain_values(table["partition"]) if partition else [None] * table.num_rows
        located = []
        for index in range(table.num_rows):
            words_of = table["words"][index].values
            blocks = words_of.field("block").to_numpy(zero_copy_only=False).astype(np.int64)
            bits = words_of.field("word").to_numpy(zero_copy_only=False).astype(np.int64)
            spec_id = table["spec_id"][index].as_py()
            values = partitions[index] or {}
            of_file = [values.get(names[part.field_id]) for part in specs[spec_id].fields]
            located.append(
                FilePositions(
                    path=table[FILE][index].as_py(),
                    spec_id=spec_id,
                    partition=tuple(convert_to_json_values(types[spec_id], of_file)),
                    positions=bitmap_from_sorted(unpack_words(blocks, bits)),
                    rows=table["rows"][index].as_py(),
                )
            )
        return located


class ListedFilesLocator(RowLocator):
    """Rows carry a hash of their file's path, or its number where two files have the same hash.

    Attributes:
        one_by_one: Whether rows are collected as they are, rather than as words of 64 neighbours after a shuffle.
    """

    def __init__(self, handle: TableHandle, files: Sequence[DataEntry | LiveData], *, one_by_one: bool) -> None:
        self.handle = handle
        self.names = [CODE, POSITION]
        self.sources = [FILE, POSITION]
        self.one_by_one = one_by_one
        by_hash = dict(zip(compute_spark_hashes([file.path for file in files]), files, strict=True))
        self._hashes_differ = len(by_hash) == len(files)
        self._files = by_hash if self._hashes_differ else dict(enumerate(files))

    def mark(self, rows: DataFrame, columns: Sequence[str | Column]) -> DataFrame:
        """Selects the columns, and the hash or number of the file."""
        if self._hashes_differ:
            return rows.select(*columns, parse_column(_HASH), POSITION)
        paths = pa.array([file.path for file in self._files.values()], pa.string())
        numbers = make_frame_from_arrow(
            self.handle.spark, pa.table({_PATH: paths, CODE: pa.array(self._files, pa.int32())})
        )
        with_paths = rows.select(*columns, parse_column(f"{FILE} AS {_PATH}"), POSITION)
        return with_paths.join(F.broadcast(numbers), _PATH).drop(_PATH)

    def collect(self, rows: DataFrame) -> list[FilePositions]:
        """Collects positions one by one, or as words of 64 neighbours."""
        if self.one_by_one:
            return self.group_positions(collect_arrow(rows.select(*self.names)))
        words = rows.groupBy(CODE, parse_column(_BLOCK).alias("block"))
        table = collect_arrow(words.agg(F.bit_or(parse_column(_BIT)).alias("word"), F.count("*").alias("rows")))
        return [
            self._make_file_positions(code, unpack_words(blocks, bits), int(counts.sum()))
            for code, (blocks, bits, counts) in group_by_code(table, ["block", "word", "rows"])
        ]

    def find(self, rows: DataFrame) -> list[FilePositions]:
        """Collects the positions of live rows, and saves a plan where possible."""
        if self.one_by_one and self._hashes_differ:
            return self.group_positions(collect_arrow(select_sql(rows, _HASH, POSITION)))
        return super().find(rows)

    def group_positions(self, table: pa.Table) -> list[FilePositions]:
        """Groups the positions of marked rows that have been collected, by file."""
        return [
            self._make_file_positions(code, sort_distinct(positions), len(positions))
            for code, (positions,) in group_by_code(table, [POSITION])
        ]

    def group_rows(self, table: pa.Table, names: list[str]) -> Iterator[tuple[FilePositions, RowArrays]]:
        """Groups marked rows that have been collected by file: its positions, and the other columns row by row."""
        for code, (positions, *columns) in group_by_code(table, [POSITION, *names]):
            arrays = dict(zip([POSITION, *names], [positions, *columns], strict=True))
            yield self._make_file_positions(code, sort_distinct(positions), len(positions)), arrays

    def _make_file_positions(self, code: int, positions: npt.NDArray[np.int64], rows: int) -> FilePositions:
        file = self._files[code]
        check_spec(self.handle, file.spec_id)
        values = tuple(partition_to_json(self.handle, file))
        return FilePositions(file.path, file.spec_id, values, bitmap_from_sorted(positions), rows)


def collect_positions_in(
    handle: TableHandle, rows: DataFrame, files: Sequence[LiveData], *, expected: int | None = None, most_bytes: int = 0
) -> list[FilePositions]:
    """Collects the positions of rows, given as path and position.

    Args:
        handle: The table.
        rows: The rows.
        files: The files that all of the rows are in.
        expected: How many rows to expect; by default, all rows of the files.
        most_bytes: The memory that rows may take; if they fit, they are collected without a shuffle.
    """
    every = sum(file.records for file in files)
    one_by_one = (every if expected is None else min(expected, every)) * _BYTES_OF_ROW <= most_bytes
    return ListedFilesLocator(handle, files, one_by_one=one_by_one).find(rows.select(FILE, POSITION))


def group_by_code(table: pa.Table, names: list[str]) -> Iterator[tuple[int, list[npt.NDArray[Any]]]]:
    """Groups the values of columns by code.

    Rows come by file, as they were read, so whole runs are taken at once. Where a join has moved them, each batch is
    sorted first: there is never a second copy of many rows.
    """
    pieces: dict[int, list[list[npt.NDArray[Any]]]] = defaultdict(list)
    for batch in table.to_batches():
        codes, *columns = (batch[name].to_numpy() for name in (CODE, *names))
        if np.count_nonzero(codes[1:] != codes[:-1]) > _RUNS_OF_BATCH:
            order = np.argsort(codes, kind="stable")
            codes, columns = codes[order], [column[order] for column in columns]
        ends = [*(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), len(codes)]
        for start, end in zip([0, *ends], ends, strict=False):
            if end > start:
                pieces[int(codes[start])].append([column[start:end] for column in columns])
    for code, parts in pieces.items():
        yield code, [np.concatenate(column) for column in zip(*parts, strict=True)]
