"""The metadata documents of tables in memory: what they keep and replace; the original does not change."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from rowdelta.iceberg.metadata import parse_metadata
from rowdelta.iceberg.metadata_document import MetadataDocument
from rowdelta.iceberg.schema import Field

ID = {"id": 1, "name": "id", "required": True, "type": "long"}
REGION = {"id": 2, "name": "region", "required": False, "type": "string"}
BY_REGION = {"spec-id": 1, "fields": [{"source-id": 2, "field-id": 1000, "name": "region", "transform": "identity"}]}
SNAPSHOT = {
    "snapshot-id": 7,
    "sequence-number": 4,
    "timestamp-ms": 1,
    "manifest-list": "file:/t/snap-7.avro",
    "schema-id": 3,
    "first-row-id": 10,
    "added-rows": 5,
}
TABLE: dict[str, Any] = {
    "format-version": 3,
    "location": "file:/t",
    "next-row-id": 15,
    "current-schema-id": 3,
    "schemas": [
        {"type": "struct", "schema-id": 3, "fields": [ID, REGION], "identifier-field-ids": [1]},
        {"type": "struct", "schema-id": 1, "fields": [ID]},
    ],
    "default-spec-id": 1,
    "partition-specs": [BY_REGION],
    "default-sort-order-id": 1,
    "sort-orders": [{"order-id": 1, "fields": [{"source-id": 1}]}],
    "properties": {"a": "1", "b": "2"},
    "current-snapshot-id": 7,
    "snapshots": [{"snapshot-id": 6, "timestamp-ms": 0, "manifest-list": "file:/t/snap-6.avro"}, SNAPSHOT],
    "refs": {"main": {"type": "branch", "snapshot-id": 7}, "old": {"type": "tag", "snapshot-id": 6}},
    "snapshot-log": [{"snapshot-id": 6}],
    "metadata-log": [{"metadata-file": "x"}],
    "statistics": [{"snapshot-id": 6}],
    "partition-statistics": [{"snapshot-id": 6}],
}
EXTRA = Field(9, "dropped", "date", required=True)


@pytest.fixture
def document() -> MetadataDocument:
    return MetadataDocument(copy.deepcopy(TABLE))


@pytest.fixture(autouse=True)
def _the_table_stays(document: MetadataDocument) -> Any:
    yield
    assert document.content == TABLE


def test_a_schema_is_added_under_a_new_id_with_optional_columns(document: MetadataDocument) -> None:
    made = document.add_schema(1, [EXTRA]).content
    assert made["current-schema-id"] == 4
    assert made["schemas"][:2] == TABLE["schemas"]
    added = {"id": 9, "name": "dropped", "required": False, "type": "date"}
    assert made["schemas"][2] == {"type": "struct", "schema-id": 4, "fields": [ID, added]}


def test_a_copy_of_a_schema_has_no_identifier_fields(document: MetadataDocument) -> None:
    assert "identifier-field-ids" not in document.add_schema(3).content["schemas"][-1]


def test_some_columns_of_the_current_schema_become_the_only_schema(document: MetadataDocument) -> None:
    made = document.keep_columns([2]).content
    assert made["schemas"] == [{"type": "struct", "schema-id": 0, "fields": [REGION]}]
    assert made["current-schema-id"] == 0


@pytest.mark.parametrize(("version", "expected"), [(1, 3), (2, 3), (3, 3), (4, 4)])
def test_row_lineage_needs_format_version_3(version: int, expected: int) -> None:
    made = MetadataDocument({"format-version": version}).add_row_lineage().content
    assert made == {"format-version": expected, "next-row-id": 0}


def test_row_lineage_continues_with_the_next_row_id_of_the_table(document: MetadataDocument) -> None:
    assert document.add_row_lineage().content["next-row-id"] == 15


def test_one_spec_stays_and_no_sort_order(document: MetadataDocument) -> None:
    made = document.keep_spec(1).content
    assert (made["partition-specs"], made["default-spec-id"]) == ([BY_REGION], 1)
    assert (made["sort-orders"], made["default-sort-order-id"]) == ([{"order-id": 0, "fields": []}], 0)


def test_partitioning_is_removed(document: MetadataDocument) -> None:
    made = document.remove_partitioning().content
    assert (made["partition-specs"], made["default-spec-id"]) == ([{"spec-id": 0, "fields": []}], 0)


def test_an_unpartitioned_spec_is_added_once_and_is_not_the_default(document: MetadataDocument) -> None:
    once = document.add_unpartitioned_spec()
    assert once.content["partition-specs"] == [BY_REGION, {"spec-id": 2, "fields": []}]
    assert once.content["default-spec-id"] == 1
    assert once.add_unpartitioned_spec().content == once.content


def test_properties_are_set_besides_those_of_the_table(document: MetadataDocument) -> None:
    assert document.set_properties({"b": "3", "c": "4"}).content["properties"] == {"a": "1", "b": "3", "c": "4"}


def test_one_snapshot_stays_without_history(document: MetadataDocument) -> None:
    made = document.keep_snapshot(SNAPSHOT).content
    assert made["snapshots"] == [SNAPSHOT]
    assert made["current-snapshot-id"] == 7
    assert made["refs"] == {"main": {"type": "branch", "snapshot-id": 7}}
    assert [made[name] for name in ("snapshot-log", "metadata-log", "statistics", "partition-statistics")] == [[]] * 4


def test_a_snapshot_loses_what_the_document_does_not_have(document: MetadataDocument) -> None:
    (snapshot,) = document.set_format_version(2).replace_schemas([ID]).keep_snapshot(SNAPSHOT).content["snapshots"]
    assert snapshot.keys() == SNAPSHOT.keys() - {"schema-id", "first-row-id", "added-rows"}


def test_a_table_without_snapshots_is_empty(document: MetadataDocument) -> None:
    made = document.remove_snapshots().content
    assert (made["snapshots"], made["current-snapshot-id"], made["refs"]) == ([], -1, {})
    assert parse_metadata(dict(made)).head("main") is None


def test_one_snapshot_gets_another_manifest_list(document: MetadataDocument) -> None:
    made = document.replace_manifest_list(document.current_snapshot_id, "file:/t/new.avro").content
    lists = [snapshot["manifest-list"] for snapshot in made["snapshots"]]
    assert lists == ["file:/t/snap-6.avro", "file:/t/new.avro"]
    assert made["refs"] == TABLE["refs"]


def test_the_text_is_the_whole_document(document: MetadataDocument) -> None:
    assert json.loads(document.to_json()) == TABLE
