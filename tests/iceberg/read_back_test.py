"""Files that cannot be read back are not committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyroaring import BitMap64

import rowdelta as rd
from rowdelta.codec import bitmap_from_sorted as bitmap
from rowdelta.codec import encode_deletion_vector as rd_encode
from rowdelta.iceberg import vector_manifests
from rowdelta.iceberg.manifest_entries import add_encoding_field
from rowdelta.iceberg.vector_manifests import VectorManifests
from tests.support.oracle import assert_same_ids
from tests.support.tables import EDV, append_ids, create, head, keys, live_vectors, set_properties, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from rowdelta.iceberg import AvroFile


def without_ids(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema in which Iceberg does not find the fields of a data file."""
    made = add_encoding_field(schema)
    data_file = next(entry for entry in made["fields"] if entry["name"] == "data_file")["type"]
    for known in data_file["fields"]:
        if known["name"] == "file_format":
            del known["field-id"]
    return made


def without_paths(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that no entry fits."""
    made = add_encoding_field(schema)
    data_file = next(entry for entry in made["fields"] if entry["name"] == "data_file")["type"]
    data_file["fields"] = [known for known in data_file["fields"] if known["name"] != "file_path"]
    return made


@pytest.mark.parametrize("broken", [without_ids, without_paths])
def test_a_manifest_that_cannot_be_read_is_not_committed(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, broken: Callable[[Any], Any]
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(3))
    before, files = head(table), stored_files(table)
    with monkeypatch.context() as patch:
        patch.setattr(vector_manifests, "add_encoding_field", broken)
        with pytest.raises(rd.FormatError, match=r"Iceberg cannot read the manifests|an entry without 'file_path'"):
            table.delete_keys(keys(spark, 1), "id").execute()
    assert head(table) == before
    assert stored_files(table) == files
    assert table.delete_keys(keys(spark, 1), "id").execute().vectors == 1
    assert_same_ids(table.read(), [0, 2])


def test_delete_files_that_hold_something_else_are_not_committed(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(3))
    before, files = head(table), stored_files(table)
    with monkeypatch.context() as patch:
        patch.setattr(
            "rowdelta.change.vector_files.encode_deletion_vector", lambda found: rd_encode(found | BitMap64([7]))
        )
        with pytest.raises(rd.FormatError, match="would not contain the vectors"):
            table.delete("id = 1").execute()
    with monkeypatch.context() as patch:
        patch.setattr("rowdelta.change.key_files.bitmap_from_sorted", lambda found: bitmap(found[:1]))
        with pytest.raises(rd.FormatError, match="would contain 1 deletes instead of 2"):
            table.delete_keys(keys(spark, 1, 2), "id").execute()
    assert head(table) == before
    assert stored_files(table) == files


def test_lost_offsets_are_restored_whatever_the_summary_counts(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each snapshot carries the totals of the one before it, with the errors of other writers."""
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(6))
    table.delete_keys(keys(spark, 1), "id").execute()
    real = VectorManifests.complete

    def drifted(manifests: VectorManifests, snapshot: dict[str, Any]) -> AvroFile:
        snapshot["summary"]["total-equality-deletes"] = "0"
        return real(manifests, snapshot)

    with monkeypatch.context() as patch:
        patch.setattr(VectorManifests, "complete", drifted)
        table.delete_keys(keys(spark, 2), "id").execute()
    set_properties(spark, table_name, commit_manifest_min__count__to__merge="2")
    append_ids(spark, table_name, [7])  # Iceberg's writer merges the manifests
    newest = table.refresh().metadata.head("main")
    assert newest is not None
    assert newest.summary["total-equality-deletes"] == "0"
    assert [entry.content_offset for entry in live_vectors(table)] == [None, None]
    table.delete("id = 4").execute()
    assert None not in [entry.content_offset for entry in live_vectors(table)]
    assert_same_ids(table.read(), [0, 3, 5, 7])
