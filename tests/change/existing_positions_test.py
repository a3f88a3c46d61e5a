"""Deleting again from files with vectors: adjacent vectors of a Puffin file are read at once."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.iceberg import read_snapshot_files
from rowdelta.iceberg.file_io import FileIO
from tests.support.oracle import assert_same_ids
from tests.support.tables import append_ids, create

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


def reads_of(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object], limits: dict[str, int]) -> int:
    """The number of ranges of Puffin files that an action reads under given limits."""
    found: list[str] = []
    inner = FileIO.read

    def counted(io: FileIO, path: str, offset: int = 0, length: int | None = None, *, size: int | None = None) -> bytes:
        found.extend([path] if path.endswith(".puffin") else [])
        return inner(io, path, offset, length, size=size)

    with monkeypatch.context() as patched:
        patched.setattr(FileIO, "read", counted)
        for name, value in limits.items():
            patched.setattr(importlib.import_module("rowdelta.read.deletion_vectors"), name, value)
        action()
    return len(found)


def six_files(spark: SparkSession, name: str) -> rd.Table:
    """Ids 0 to 59, ten in a file."""
    create(spark, name, "id bigint, v string", version=3)
    for start in range(0, 60, 10):
        append_ids(spark, name, range(start, start + 10))
    return rd.table(spark, name)


@pytest.mark.parametrize("limits", [{}, {"_GAP_BYTES": -1}, {"_READ_BYTES": 1}], ids=["near", "far", "large"])
def test_adjacent_vectors_are_read_together(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]
) -> None:
    table = six_files(spark, table_name)
    for where in ("id % 3 = 0 AND id < 30", "id % 3 = 0 AND id >= 30 AND id < 50"):  # a Puffin file each
        table.delete(where).execute()
    found = reads_of(monkeypatch, rd.table(spark, table_name).delete("id % 5 = 1").execute, limits)
    assert found == (5 if limits else 2)
    assert_same_ids(spark.table(table_name), [i for i in range(60) if (i % 3 or i >= 50) and i % 5 != 1])


@pytest.mark.parametrize("skipped", [False, True])
def test_bytes_between_two_vectors_are_read_or_skipped(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, *, skipped: bool
) -> None:
    table = six_files(spark, table_name)
    table.delete("id % 3 = 0 AND id < 30").execute()
    snapshot = table.refresh().metadata.head("main")
    assert snapshot is not None
    files = read_snapshot_files(table._handle, snapshot)
    assert files is not None
    first, middle, last = sorted(files.position_deletes, key=lambda entry: entry.content_offset or 0)
    gap = (last.content_offset or 0) - (first.content_offset or 0) - (first.content_size_in_bytes or 0)
    assert gap == middle.content_size_in_bytes
    outer = {first.referenced_data_file, last.referenced_data_file}
    places = {row.id: row._file for row in spark.sql(f"SELECT id, _file FROM {table_name}").collect()}
    chosen = [i for i in range(1, 30, 3) if places[i] in outer]
    assert 0 < len(chosen) < 10
    delete = table.delete(f"id IN ({', '.join(map(str, chosen))})")
    assert reads_of(monkeypatch, delete.execute, {"_GAP_BYTES": gap - skipped}) == 1 + skipped
    assert_same_ids(spark.table(table_name), [i for i in range(60) if (i % 3 or i >= 30) and i not in chosen])
