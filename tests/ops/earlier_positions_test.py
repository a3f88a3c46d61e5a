"""Vectors of files that are deleted from again: those that lie together in a Puffin file are read at once."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

import rowdelta as rd
from rowdelta.iceberg.file_io import FileIO
from tests.support.tables import append_ids, create

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("limits", "reads"), [({}, 2), ({"_GAP_BYTES": -1}, 5), ({"_READ_BYTES": 1}, 5)], ids=["near", "far", "large"]
)
def test_vectors_that_lie_together_are_read_at_once(
    spark: SparkSession,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
    limits: dict[str, int],
    reads: int,
) -> None:
    create(spark, table_name, "id bigint, v string", version=3)
    for start in range(0, 60, 10):
        append_ids(spark, table_name, range(start, start + 10))
    table = rd.table(spark, table_name)
    for where in ("id % 3 = 0 AND id < 30", "id % 3 = 0 AND id >= 30 AND id < 50"):  # a Puffin file each
        table.delete(where).execute()
    read: list[str] = []
    inner = FileIO.read

    def counted(io: FileIO, path: str, offset: int = 0, length: int | None = None) -> bytes:
        read.extend([path] if path.endswith(".puffin") else [])
        return inner(io, path, offset, length)

    monkeypatch.setattr(FileIO, "read", counted)
    for name, value in limits.items():
        monkeypatch.setattr(importlib.import_module("rowdelta.ops.earlier_positions"), name, value)
    result = rd.table(spark, table_name).delete("id % 5 = 1").execute()
    assert (result.delete_files_added, result.delete_files_removed) == (6, 5)
    assert len(read) == reads
    expected = [i for i in range(60) if (i % 3 or i >= 50) and i % 5 != 1]
    assert sorted(row.id for row in spark.table(table_name).collect()) == expected
