"""Which deletes may apply to which data files, for invented files. Tests of `delete_files` use the planner."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from rowdelta.encoding import FileContent
from rowdelta.iceberg import ColumnMetrics, DeleteEntry, DeleteFileIndex, LiveData, LiveDelete, TableMetadata
from rowdelta.iceberg.metadata import parse_metadata


def table(column_type: Any, *, partitioned: bool = False) -> TableMetadata:
    part = {"source-id": 1, "field-id": 1000, "name": "k", "transform": "identity"}
    return parse_metadata(
        {
            "location": "w/t",
            "format-version": 3,
            "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "k", "required": False, "type": column_type}]}],
            "partition-specs": [{"spec-id": 0, "fields": [part] if partitioned else []}],
        }
    )


def data(path: str, metrics: ColumnMetrics | None = None, partition: tuple[Any, ...] = (), age: int = 1) -> LiveData:
    return LiveData(path, 0, partition, age, 10, 100, {} if metrics is None else {1: metrics})


def delete(metrics: ColumnMetrics | None = None, partition: tuple[Any, ...] = (), age: int = 2) -> LiveDelete:
    entry = DeleteEntry(
        path="d",
        content=FileContent.EQUALITY,
        file_format="PARQUET",
        spec_id=0,
        partition=partition,
        sequence_number=age,
        record_count=1,
        file_size_in_bytes=10,
        equality_ids=(1,),
        content_offset=None,
        content_size_in_bytes=None,
        encoding_id=None,
        referenced_data_file=None,
        manifest_path="m",
    )
    return LiveDelete(entry, 1, {} if metrics is None else {1: metrics})


def matches(metadata: TableMetadata, files: list[LiveData], found: LiveDelete) -> list[str]:
    (indices,) = DeleteFileIndex(metadata, files, [found]).match_files()
    return [files[index].path for index in indices.tolist()]


def long(low: int, high: int, nulls: int | None = 0) -> ColumnMetrics:
    return ColumnMetrics(struct.pack("<q", low), struct.pack("<q", high), nulls, 10)


def test_only_older_files_whose_bounds_overlap_may_hold_a_deleted_key() -> None:
    files = [data("low", long(0, 9)), data("mid", long(10, 19)), data("young", long(10, 19), age=2), data("unknown")]
    assert matches(table("long"), files, delete(long(9, 9))) == ["low", "unknown"]
    assert matches(table("long"), files, delete(long(15, 99))) == ["mid", "unknown"]
    assert matches(table("long"), files, delete(long(-5, -1))) == ["unknown"]
    assert matches(table("long"), files, delete(None)) == ["low", "mid", "unknown"]
    short = data("short", ColumnMetrics(struct.pack("<i", -3), struct.pack("<i", 5), 0, 10))  # from when it was an int
    assert matches(table("long"), [short], delete(long(5, 5))) == ["short"]
    assert matches(table("long"), [short], delete(long(6, 6))) == []


def test_a_null_key_matches_files_with_nulls_alone() -> None:
    files = [
        data("some", long(0, 9, nulls=1)),
        data("none", long(0, 9)),
        data("all", ColumnMetrics(None, None, 10, 10)),
    ]
    only_null = ColumnMetrics(None, None, 1, 1)
    assert matches(table("long"), files, delete(only_null)) == ["some", "all"]
    assert matches(table("long"), files, delete(long(50, 60, nulls=0))) == []
    assert matches(table("long"), files, delete(long(5, 5, nulls=0))) == ["some", "none"]
    assert matches(table("long"), files, delete(long(50, 60, nulls=None))) == ["some", "all"]


def test_not_a_number_is_beyond_bounds_and_is_a_partition_of_its_own() -> None:
    one, far = struct.pack("<d", 1.0), struct.pack("<d", 100.0)
    files = [data("f", ColumnMetrics(one, one, 0, 10))]
    assert matches(table("double"), files, delete(ColumnMetrics(far, far, 0, 2))) == ["f"]
    parted = [data("nan", partition=(float("nan"),)), data("one", partition=(1.0,)), data("null", partition=(None,))]
    metadata = table("double", partitioned=True)
    assert matches(metadata, parted, delete(partition=(math.nan,))) == ["nan"]
    assert matches(metadata, parted, delete(partition=(None,))) == ["null"]


@pytest.mark.parametrize(
    ("type_name", "low", "high", "beyond"),
    [
        ("string", b"ab", b"\xc3\xa9", b"\xf0\x9f\x98\x80"),
        ("decimal(9, 2)", b"\xff\x00", b"\x05", b"\x06"),
        ("date", struct.pack("<i", -7), struct.pack("<i", 3), struct.pack("<i", 4)),
        ("timestamptz", struct.pack("<q", -7), struct.pack("<q", 3), struct.pack("<q", 4)),
        ("binary", b"", b"\x80", b"\x80\x01"),
    ],
)
def test_bounds_of_every_type_rule_out_what_is_beyond_them(
    type_name: str, low: bytes, high: bytes, beyond: bytes
) -> None:
    files = [data("f", ColumnMetrics(low, high, 0, 10))]
    assert matches(table(type_name), files, delete(ColumnMetrics(high, beyond, 0, 2))) == ["f"]
    assert matches(table(type_name), files, delete(ColumnMetrics(beyond, beyond, 0, 2))) == []
    assert matches(table(type_name), files, delete(ColumnMetrics(low, low, 0, 2))) == ["f"]


def test_types_without_a_known_order_rule_out_nothing() -> None:
    files = [data("f", ColumnMetrics(b"\x00" * 16, b"\x01" * 16, 0, 10))]
    for column_type in ("uuid", {"type": "struct", "fields": []}):
        assert matches(table(column_type), files, delete(ColumnMetrics(b"\xff" * 16, b"\xff" * 16, 0, 2))) == ["f"]
