"""What cannot be read back is not committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyroaring import BitMap64

import rowdelta as rd
from rowdelta.codec import bitmap_from_sorted as bitmap
from rowdelta.codec import encode_vector as rd_encode
from rowdelta.iceberg import vector_manifests
from rowdelta.iceberg.manifests import with_encoding
from tests.support.tables import EDV, append_ids, create, head, keys, stored_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


def without_ids(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema in which Iceberg does not find the fields of a data file."""
    made = with_encoding(schema)
    data_file = next(entry for entry in made["fields"] if entry["name"] == "data_file")["type"]
    for known in data_file["fields"]:
        if known["name"] == "file_format":
            del known["field-id"]
    return made


def without_paths(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that no entry fits."""
    made = with_encoding(schema)
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
        patch.setattr(vector_manifests, "with_encoding", broken)
        with pytest.raises(rd.FormatError, match=r"Iceberg cannot read the manifests|an entry without 'file_path'"):
            table.delete_keys(keys(spark, 1), "id").execute()
    assert head(table) == before
    assert stored_files(table) == files
    assert table.delete_keys(keys(spark, 1), "id").execute().vectors == 1
    assert sorted(row.id for row in table.read().collect()) == [0, 2]


def test_delete_files_that_hold_something_else_are_not_committed(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(spark, table_name, "id bigint, v string", properties=EDV)
    append_ids(spark, table_name, range(3))
    before, files = head(table), stored_files(table)
    with monkeypatch.context() as patch:
        patch.setattr("rowdelta.ops.position_files.encode_vector", lambda found: rd_encode(found | BitMap64([7])))
        with pytest.raises(rd.FormatError, match="would not hold the vectors"):
            table.delete("id = 1").execute()
    with monkeypatch.context() as patch:
        patch.setattr("rowdelta.ops.key_files.bitmap_from_sorted", lambda found: bitmap(found[:1]))
        with pytest.raises(rd.FormatError, match="would hold 1 deletes instead of 2"):
            table.delete_keys(keys(spark, 1, 2), "id").execute()
    assert head(table) == before
    assert stored_files(table) == files
