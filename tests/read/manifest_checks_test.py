"""Which claims about deletes a snapshot's manifests may make, and which are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import rowdelta as rd
from rowdelta.encoding import FileContent
from rowdelta.iceberg import AvroFile, DeleteEntry, Snapshot, SnapshotFiles, TableMetadata
from rowdelta.iceberg.metadata import parse_metadata
from rowdelta.read import check_deletes

VECTOR = DeleteEntry(
    path="s3://lake/t/data/one.puffin",
    content=FileContent.POSITION,
    file_format="PUFFIN",
    spec_id=0,
    partition=(),
    sequence_number=1,
    record_count=1,
    file_size_in_bytes=100,
    equality_ids=(),
    content_offset=4,
    content_size_in_bytes=42,
    referenced_data_file="s3://lake/t/data/a.parquet",
    encoding_id=None,
    manifest_path="s3://lake/t/metadata/m0.avro",
)
FILE = replace(VECTOR, path="s3://lake/t/data/one.parquet", file_format="PARQUET", content_offset=None)


def metadata(version: int = 3, location: str = "s3://lake/t") -> TableMetadata:
    return parse_metadata(
        {
            "format-version": version,
            "location": location,
            "schemas": [{"schema-id": 0, "type": "struct", "fields": []}],
            "partition-specs": [{"spec-id": 0, "fields": []}],
        }
    )


def snapshot(*positions: DeleteEntry, spec_id: int | None = 0) -> SnapshotFiles:
    manifest = {"manifest_path": VECTOR.manifest_path, "content": 1, "partition_spec_id": spec_id}
    return SnapshotFiles(Snapshot(1, None, 1, 0, "list", 0, {}), AvroFile({}, [manifest], {}), positions, ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://lake/t/data/a.parquet", "s3://lake/t/data/a.parquet"),
        ("s3://lake/t/data/a.parquet", "s3a://lake/t/data/a.parquet"),
        ("file:///t/data/a.parquet", "/t/data/a.parquet"),
        ("file:///t/data/a.parquet", "file:/t/data/a.parquet"),
        ("hdfs://node:8020/t/data/a.parquet", "/t/data/a.parquet"),
    ],
)
def test_two_vectors_for_one_file_are_refused_however_it_is_spelled(one: str, other: str) -> None:
    files = snapshot(replace(VECTOR, referenced_data_file=one), replace(VECTOR, referenced_data_file=other))
    with pytest.raises(rd.TableError, match="two deletion vectors"):
        check_deletes(metadata(), files)


def test_files_of_one_name_in_two_buckets_are_two_files() -> None:
    check_deletes(metadata(), snapshot(VECTOR, replace(VECTOR, referenced_data_file="s3://pond/t/data/a.parquet")))


@pytest.mark.parametrize(
    "place",
    [
        {"content_offset": None},
        {"content_size_in_bytes": None},
        {"content_offset": -1},
        {"content_size_in_bytes": -42},
        {"content_offset": 2**63 - 10},
    ],
)
def test_a_vector_that_does_not_say_where_it_is_is_refused(place: dict[str, Any]) -> None:
    with pytest.raises(rd.FormatError, match="has content_offset"):
        check_deletes(metadata(), snapshot(replace(VECTOR, **place)))


def test_a_position_delete_file_needs_neither_a_place_nor_version_3() -> None:
    check_deletes(metadata(2), snapshot(FILE, FILE))


def test_a_path_may_not_climb_out_of_the_table_but_the_table_may_lie_anywhere() -> None:
    with pytest.raises(rd.FormatError, match="leaves its folder"):
        check_deletes(metadata(), snapshot(replace(FILE, path="s3://lake/t/../other/one.parquet")))
    check_deletes(
        metadata(location="/home/../lake/t"), snapshot(replace(FILE, path="/home/../lake/t/data/one.parquet"))
    )
    check_deletes(metadata(), snapshot(replace(FILE, path="s3://elsewhere/data/..one/one.parquet")))


@pytest.mark.parametrize(
    ("spec_id", "message"), [(None, "has no partition spec in its manifest list"), (7, "is of partition spec 7")]
)
def test_a_manifest_of_an_unknown_partition_spec_is_refused(spec_id: int | None, message: str) -> None:
    with pytest.raises(rd.TableError, match=message):
        check_deletes(metadata(), snapshot(VECTOR, spec_id=spec_id))
