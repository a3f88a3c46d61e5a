"""Row positions by data file, collected as bitmaps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change.position_files import stored_partition
from rowdelta.change.target_snapshot import FILE, POSITION
from rowdelta.codec import bitmap_from_sorted, sorted_distinct, spark_hashes
from rowdelta.errors import TableError
from rowdelta.iceberg import ContentFile, is_read_as_it_is, partition_names
from rowdelta.read import PARTITION, SPEC, locate_bit, unpack_words
from rowdelta.spark import arrow_frame, json_values, plain_values, select_sql, sql_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt
    from pyroaring import BitMap64
    from pyspark.sql import Column, DataFrame

    from rowdelta.change.target_snapshot import Target
    from rowdelta.iceberg import DataEntry, LiveData, TableHandle

CODE: Final = "__rd_code"
_BLOCK, _BIT = locate_bit(POSITION)
_HASH: Final = f"hash({FILE}) AS {CODE}"
_PATH: Final = "__rd_path"
_RUNS_OF_BATCH: Final = 64
_FILES_KNOWN_AT_MOST: Final = 5_000  # to know them, their manifests are read
# Twelve bytes in Arrow for the code and the position of a row, and those of a file once more, sorted.
_BYTES_OF_ROW: Final = 24
# Rows are collected without a shuffle where that cannot be much: 600 MB, were all of them to match.
_ROWS_COLLECTED_AT_MOST: Final = 25_000_000


class DroppedPartitionError(TableError):
    """Files of a partition whose column was dropped would need deletes."""

    def __init__(self, table: str, partition: str) -> None:
        super().__init__(
            f"files of {table} are partitioned by {partition}, whose column was dropped: Iceberg cannot write deletes "
            "for them",
            hint="rewrite these files first: t.compact(options={'rewrite-all': 'true'})",
        )


@dataclass(frozen=True)
class FilePositions:
    """Some rows of one data file, and the partition that the file is in: one JSON value for each field of its spec."""

    path: str
    spec_id: int
    partition: tuple[Any, ...]
    positions: BitMap64
    rows: int  # more than there are positions where a row was found twice

    @property
    def data_file(self) -> ContentFile:
        """The data file as one that a commit removes: it is found by its partition and path."""
        return ContentFile(
            path=self.path,
            file_format="PARQUET",
            record_count=1,
            file_size_in_bytes=1,
            spec_id=self.spec_id,
            partition=self.partition,
        )


class RowLocator(ABC):
    """How rows say where they are, and how that is collected.

    Attributes:
        handle: The table.
        names: The columns that rows carry: one or more for the file, and the position. The first two tell one row from
            another.
    """

    handle: TableHandle
    names: list[str]

    @abstractmethod
    def mark(self, rows: DataFrame, columns: Sequence[str | Column]) -> DataFrame:
        """Some columns of live rows of the table, with those of `names`."""

    @abstractmethod
    def collect(self, rows: DataFrame) -> list[FilePositions]:
        """Where marked rows are, by file."""

    def find(self, rows: DataFrame) -> list[FilePositions]:
        """Where live rows of the table are, by file."""
        return self.collect(self.mark(rows, []))


class PathLocator(RowLocator):
    """Rows carry the path of their file: for tables of so many files that listing them would cost more."""

    def __init__(self, handle: TableHandle, rows: DataFrame) -> None:
        self.handle = handle
        self.names = [FILE, POSITION, SPEC, *([PARTITION] if PARTITION in rows.columns else [])]

    def mark(self, rows: DataFrame, columns: Sequence[str | Column]) -> DataFrame:
        """The columns: rows have them all."""
        return rows.select(*columns, *self.names)

    def collect(self, rows: DataFrame) -> list[FilePositions]:
        """One 64-bit word for every 64 neighbouring positions, one record for each file."""
        partition = PARTITION in self.names
        words = (
            rows.withColumn("block", sql_column(_BLOCK))
            .groupBy(FILE, "block")
            .agg(
                F.bit_or(sql_column(_BIT)).alias("word"),
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
        table = files.toArrow()
        names, specs = partition_names(self.handle), self.handle.metadata.specs
        types = self.handle.metadata.partition_types
        partitions = plain_values(table["partition"]) if partition else [None] * table.num_rows
        found = []
        for index in range(table.num_rows):
            words_of = table["words"][index].values
            blocks = words_of.field("block").to_numpy(zero_copy_only=False).astype(np.int64)
            bits = words_of.field("word").to_numpy(zero_copy_only=False).astype(np.int64)
            spec_id = table["spec_id"][index].as_py()
            values = partitions[index] or {}
            mine = [values.get(names[part.field_id]) for part in specs[spec_id].fields]
            found.append(
                FilePositions(
                    path=table[FILE][index].as_py(),
                    spec_id=spec_id,
                    partition=tuple(json_values(types[spec_id], mine)),
                    positions=bitmap_from_sorted(unpack_words(blocks, bits)),
                    rows=table["rows"][index].as_py(),
                )
            )
        return found


class ListedFilesLocator(RowLocator):
    """Rows carry a hash of their file's path, or its number where two files have the same hash.

    Attributes:
        one_by_one: Whether rows are collected as they are, rather than as words of 64 neighbours after a shuffle.
    """

    def __init__(self, handle: TableHandle, files: Sequence[DataEntry | LiveData], *, one_by_one: bool) -> None:
        self.handle = handle
        self.names = [CODE, POSITION]
        self.one_by_one = one_by_one
        by_hash = dict(zip(spark_hashes([file.path for file in files]), files, strict=True))
        self._are_apart = len(by_hash) == len(files)
        self._files = by_hash if self._are_apart else dict(enumerate(files))

    def mark(self, rows: DataFrame, columns: Sequence[str | Column]) -> DataFrame:
        """The columns with the hash or number."""
        if self._are_apart:
            return rows.select(*columns, sql_column(_HASH), POSITION)
        paths = pa.array([file.path for file in self._files.values()], pa.string())
        numbers = arrow_frame(self.handle.spark, pa.table({_PATH: paths, CODE: pa.array(self._files, pa.int32())}))
        found = rows.select(*columns, sql_column(f"{FILE} AS {_PATH}"), POSITION)
        return found.join(F.broadcast(numbers), _PATH).drop(_PATH)

    def collect(self, rows: DataFrame) -> list[FilePositions]:
        """One by one, or as words of 64 neighbouring positions."""
        if self.one_by_one:
            return self.collected(rows.select(*self.names).toArrow())
        words = rows.groupBy(CODE, sql_column(_BLOCK).alias("block"))
        table = words.agg(F.bit_or(sql_column(_BIT)).alias("word"), F.count("*").alias("rows")).toArrow()
        return [
            self._of(code, unpack_words(blocks, bits), int(counts.sum()))
            for code, (blocks, bits, counts) in _by_code(table, ["block", "word", "rows"])
        ]

    def find(self, rows: DataFrame) -> list[FilePositions]:
        """The same of rows that are not marked, with one plan less where that can be."""
        if self.one_by_one and self._are_apart:
            return self.collected(select_sql(rows, _HASH, POSITION).toArrow())
        return super().find(rows)

    def collected(self, table: pa.Table) -> list[FilePositions]:
        """The same of marked rows that have been collected already."""
        found = []
        for code, (positions,) in _by_code(table, [POSITION]):
            found.append(self._of(code, sorted_distinct(positions), len(positions)))
        return found

    def _of(self, code: int, positions: npt.NDArray[np.int64], rows: int) -> FilePositions:
        file = self._files[code]
        _check_spec(self.handle, file.spec_id)
        values = tuple(stored_partition(self.handle, file))
        return FilePositions(file.path, file.spec_id, values, bitmap_from_sorted(positions), rows)


def choose_locator(target: Target, rows: DataFrame) -> RowLocator:
    """How rows of a table best say where they are.

    Rows do not know a partition value whose source column was dropped, so then the manifests must tell it.
    """
    assert target.files is not None
    handle = target.handle
    manifests = [manifest for manifest in target.files.listing.records if not manifest.get("content")]
    if not _are_known(target):
        return PathLocator(handle, rows)
    entries = [entry for manifest in manifests for entry in handle.manifests.data(manifest)]
    return ListedFilesLocator(handle, entries, one_by_one=can_collect_rows(target))


def read_target_rows(
    target: Target, alias: str | None = None, *, with_ids: bool = False, skipping: Column | None = None
) -> DataFrame:
    """Live rows of a table, of which `_file` and `_pos` can be selected.

    A snapshot that has to be made up has row ids that are, too: a filter must not see these. Nor may rows keep ids of a
    snapshot that has none yet: the commit gives them theirs.

    Args:
        target: The table.
        alias: What conditions and values call it.
        with_ids: Whether `Target.lineage` can be selected, too.
        skipping: A predicate that the rows are to meet, which skips files; see `matching`.

    Raises:
        TableError: A column has a name that changes need for themselves.
    """
    assert target.files is not None
    target.check_own_names()
    lineage = target.lineage if with_ids else []
    plain = _are_known(target) and is_read_as_it_is(target.handle, target.files)
    if plain and (target.files.has_row_ids or not lineage):
        return target.stored_rows(alias, lineage, skipping=skipping)
    return target.rows(alias, skipping=skipping)


def can_collect_rows(target: Target) -> bool:
    """Whether rows of a table are collected one by one, with `ListedFilesLocator`."""
    rows_at_most = None if target.files is None else target.files.count("rows")
    return rows_at_most is not None and rows_at_most <= _ROWS_COLLECTED_AT_MOST and _are_known(target)


def _are_known(target: Target) -> bool:
    files = None if target.files is None else target.files.count("files")
    return not (files is None or files > _FILES_KNOWN_AT_MOST) or not _rows_know_partitions(target.handle)


def _rows_know_partitions(handle: TableHandle) -> bool:
    named = partition_names(handle)
    return all(part.field_id in named for spec in handle.metadata.specs.values() for part in spec.fields)


def collect_positions_in(
    handle: TableHandle, rows: DataFrame, files: Sequence[LiveData], *, expected: int | None = None, most_bytes: int = 0
) -> list[FilePositions]:
    """Collects where rows are, given as path and position, all of them in some files.

    Args:
        handle: The table.
        rows: The rows.
        files: Their files.
        expected: How many rows to expect; all rows of the files when left out.
        most_bytes: What they may take; where so many fit, they are collected without a shuffle.
    """
    every = sum(file.records for file in files)
    one_by_one = (every if expected is None else min(expected, every)) * _BYTES_OF_ROW <= most_bytes
    known = ListedFilesLocator(handle, files, one_by_one=one_by_one)
    return known.find(rows.select(FILE, POSITION))


def dropped_partition(handle: TableHandle, spec_id: int) -> str | None:
    """A partition field of a spec whose column is gone: Iceberg cannot write a value of it any more."""
    known = handle.metadata.schema.by_id
    fields = handle.metadata.specs[spec_id].fields
    return next((part.name for part in fields if part.source_id not in known and part.transform != "void"), None)


def _check_spec(handle: TableHandle, spec_id: int) -> None:
    name = dropped_partition(handle, spec_id)
    if name is not None:
        raise DroppedPartitionError(handle.name, name)


def _by_code(table: pa.Table, names: list[str]) -> Iterator[tuple[int, list[npt.NDArray[Any]]]]:
    """The values of some columns for each code.

    Rows come by file as they were read, so whole runs are taken at once; where a join has moved them, they are sorted
    first, a batch at a time: of many rows there is never another copy.
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
