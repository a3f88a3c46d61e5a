"""Measure how long `t.debt()` takes for a table with many files.

The files exist only in manifests, because `t.debt()` reads nothing else.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import rowdelta as rd
from bench.data import make_table
from bench.measure import Measure, time_of
from rowdelta.encoding import DeleteEncoding, FileContent
from rowdelta.iceberg import ContentFile, NewDelete, RowChange, commit_change

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "lake.bench.owing"
DATA_FILES = 10_000
DELETE_FILES = 1_000
COMMITS = 50
ROWS = 100_000  # in a data file
KEYS = 1_000  # in a delete file
ID = 1


def debt_of_many_files(spark: SparkSession) -> Measure:
    """Measures the debt. Half of the delete files have keys of the whole table; the others are deletion vectors."""
    make_table(spark, TABLE, 0)
    table = rd.table(spark, TABLE)
    commit_change(table._handle, RowChange(kept_files=[_data_file(table, number) for number in range(DATA_FILES)]))
    per_commit = DELETE_FILES // COMMITS
    for start in range(0, DELETE_FILES, per_commit):
        commit_change(table._handle, RowChange(deletes=[_delete(table, n) for n in range(start, start + per_commit)]))
    timing = time_of(lambda: rd.table(spark, TABLE).debt())
    debt = rd.table(spark, TABLE).debt()
    assert (debt.data_files, debt.delete_files) == (DATA_FILES, DELETE_FILES)
    spark.sql(f"DROP TABLE {TABLE}")  # without PURGE: the files do not exist
    name = f"debt of {DATA_FILES:,} data files and {DELETE_FILES:,} delete files from {COMMITS} commits"
    return Measure(name, round(timing.best, 2), "<= 10", "s", {"seconds": [round(s, 2) for s in timing.seconds]})


def _data_file(table: rd.Table, number: int) -> ContentFile:
    return ContentFile(
        path=f"{table.metadata.location}/data/{number:05}.parquet",
        file_format="PARQUET",
        record_count=ROWS,
        file_size_in_bytes=64 << 20,
        value_counts={ID: ROWS},
        null_value_counts={ID: 0},
        lower_bounds={ID: struct.pack("<q", number * ROWS)},
        upper_bounds={ID: struct.pack("<q", (number + 1) * ROWS - 1)},
    )


def _delete(table: rd.Table, number: int) -> NewDelete:
    return NewDelete(*(_keys(table, number) if number % 2 else _vector(table, number)))


def _keys(table: rd.Table, number: int) -> tuple[ContentFile, DeleteEncoding]:
    file = ContentFile(
        path=f"{table.metadata.location}/data/{number:05}-keys.parquet",
        file_format="PARQUET",
        record_count=KEYS,
        file_size_in_bytes=8 << 10,
        content=FileContent.EQUALITY,
        equality_ids=[ID],
        value_counts={ID: KEYS},
        null_value_counts={ID: 0},
        lower_bounds={ID: struct.pack("<q", number)},
        upper_bounds={ID: struct.pack("<q", DATA_FILES * ROWS - number)},
    )
    return file, DeleteEncoding.FULL_ROW


def _vector(table: rd.Table, number: int) -> tuple[ContentFile, DeleteEncoding]:
    file = ContentFile(
        path=f"{table.metadata.location}/data/{number:05}-deletes.puffin",
        file_format="PUFFIN",
        record_count=KEYS,
        file_size_in_bytes=4 << 10,
        content=FileContent.POSITION,
        referenced_data_file=_data_file(table, number * 7).path,
        content_offset=4,
        content_size_in_bytes=2 << 10,
    )
    return file, DeleteEncoding.DELETION_VECTOR
