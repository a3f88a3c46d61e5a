"""Keys of small delete files are read without Spark, but only where Iceberg's rules still hold."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rowdelta.encoding import FileContent
from rowdelta.iceberg import DeleteEntry, Field
from rowdelta.read import parquet_keys as module
from rowdelta.read.parquet_keys import read_parquet_keys

UTC = dt.timezone.utc


def files(**columns: pa.Array) -> tuple[Any, list[DeleteEntry]]:
    """A table whose files are in memory, and a delete file for each array, on field 7."""
    stored = {}
    for name, array in columns.items():
        fields = [
            pa.field("other", pa.int64(), metadata={"PARQUET:field_id": "3"}),
            pa.field("key of old", array.type, metadata={"PARQUET:field_id": "7"}),
        ]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table([[0] * len(array), array], schema=pa.schema(fields)), sink)
        stored[name] = sink.getvalue().to_pybytes()
    handle = SimpleNamespace(io=SimpleNamespace(read=lambda path, start, length: stored[path][start : start + length]))
    return handle, [entry(name, len(data)) for name, data in stored.items()]


def entry(path: str, size: int, file_format: str = "PARQUET") -> DeleteEntry:
    return DeleteEntry(path, FileContent.EQUALITY, file_format, 0, (), 1, 1, size, (7,), None, None, None, None, "m")


def column(kind: str, *path: str) -> Field:
    return Field(7, "key", kind, required=False, path=path or ("key",))


@pytest.mark.parametrize(
    ("kind", "array", "keys"),
    [
        ("long", pa.array([1, 5, 2**62]), [1, 5, 2**62]),
        ("long", pa.array([5, 1, 5, -3]), [-3, 1, 5]),
        ("long", pa.array([2, 1], pa.int32()), [1, 2]),  # written before the column became a long
        ("int", pa.array([-(2**31), 7], pa.int32()), [-(2**31), 7]),
        ("date", pa.array([dt.date(1969, 12, 31), dt.date(1970, 1, 2)]), [-1, 1]),
        ("timestamp", pa.array([dt.datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("us")), [1_000_000]),  # noqa: DTZ001
        ("timestamptz", pa.array([dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")), [10**6]),
        ("long", pa.array([], pa.int64()), []),
    ],
)
def test_keys_are_sorted_distinct_integers(kind: str, array: pa.Array, keys: list[int]) -> None:
    handle, entries = files(one=array)
    found = read_parquet_keys(handle, entries, column(kind))["one"]
    assert (found.keys.tolist(), found.has_null) == (keys, False)


def test_a_null_is_a_key_and_many_files_are_read_together() -> None:
    handle, entries = files(a=pa.array([3, None, 1]), b=pa.array([None], pa.int64()), c=pa.array([4]))
    found = read_parquet_keys(handle, entries, column("long"))
    assert {name: (keys.keys.tolist(), keys.has_null) for name, keys in found.items()} == {
        "a": ([1, 3], True),
        "b": ([], True),
        "c": ([4], False),
    }


def test_files_that_need_icebergs_rules_are_left_to_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    handle, entries = files(days=pa.array([dt.date(2024, 1, 1)]), seconds=pa.array([1], pa.timestamp("s")))
    assert read_parquet_keys(handle, entries, column("timestamp")) == {}  # once a date, or another unit
    handle, (good,) = files(good=pa.array([1, 2]))
    assert read_parquet_keys(handle, [good], replace(column("long"), id=8)) == {}  # the file does not have the column
    assert read_parquet_keys(handle, [good], column("long", "inside", "key")) == {}
    assert read_parquet_keys(handle, [replace(good, file_format="AVRO")], column("long")) == {}
    damaged = SimpleNamespace(io=SimpleNamespace(read=lambda *_: b"PAR1 and nothing more"))
    assert read_parquet_keys(damaged, [good], column("long")) == {}  # type: ignore[arg-type]
    monkeypatch.setattr(module, "MOST_BYTES_TOGETHER", 2 * good.file_size_in_bytes)
    handle, three = files(a=pa.array([1, 2]), b=pa.array([1, 2]), c=pa.array([1, 2]))
    assert list(read_parquet_keys(handle, three, column("long"))) == ["a", "b"]
