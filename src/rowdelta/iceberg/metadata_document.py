"""Builds table metadata in Iceberg's JSON form: for tables that exist only in memory, and for commits.

Iceberg's own metadata builder applies the rules of commits: it assigns schema ids, keeps old schemas and refuses
snapshots that it has not seen. A table in memory must break these rules, so its metadata is built as JSON.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rowdelta.iceberg.schema import Field

ROW_LINEAGE_VERSION: Final = 3
_ROW_LINEAGE_OF_SNAPSHOT: Final = {"first-row-id", "added-rows"}
_NO_HISTORY: Final[dict[str, Any]] = {
    "snapshot-log": [],
    "metadata-log": [],
    "statistics": [],
    "partition-statistics": [],
}


class MetadataDocument:
    """A table's metadata as JSON. Every method returns a changed copy.

    Examples:
        >>> document = MetadataDocument({"format-version": 2, "partition-specs": [], "properties": {"a": "1"}})
        >>> document.set_properties({"b": "2"}).content["properties"]
        {'a': '1', 'b': '2'}
        >>> document.content["properties"]
        {'a': '1'}
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content

    def to_json(self) -> str:
        """Returns the text that Iceberg's `TableMetadataParser` reads."""
        return json.dumps(self.content)

    @property
    def current_snapshot_id(self) -> int:
        """The snapshot that the table reads."""
        return int(self.content["current-snapshot-id"])

    def set_format_version(self, version: int) -> MetadataDocument:
        """Sets the format version."""
        return self._change({"format-version": version})

    def add_row_lineage(self) -> MetadataDocument:
        """Raises the format version to one with row lineage, if it has none."""
        version = max(self.content["format-version"], ROW_LINEAGE_VERSION)
        return self._change({"format-version": version, "next-row-id": self.content.get("next-row-id", 0)})

    def add_schema(self, schema_id: int, extra_fields: Sequence[Field] = ()) -> MetadataDocument:
        """Adds a copy of a schema with more optional columns, under a new id, and makes it the current schema."""
        schemas = self.content["schemas"]
        schema = copy.deepcopy(next(schema for schema in schemas if schema["schema-id"] == schema_id))
        schema["schema-id"] = max(schema["schema-id"] for schema in schemas) + 1
        schema["fields"] += [{"id": f.id, "name": f.name, "required": False, "type": f.type} for f in extra_fields]
        schema.pop("identifier-field-ids", None)
        return self._change({"schemas": [*schemas, schema], "current-schema-id": schema["schema-id"]})

    def replace_schemas(self, fields: Sequence[Mapping[str, Any]]) -> MetadataDocument:
        """Makes a schema of these fields the only one."""
        return self._change({"schemas": [make_schema(fields)], "current-schema-id": 0})

    def keep_columns(self, field_ids: Sequence[int]) -> MetadataDocument:
        """Makes some top-level columns of the current schema the only schema."""
        current = self.content["current-schema-id"]
        schema = next(schema for schema in self.content["schemas"] if schema["schema-id"] == current)
        return self.replace_schemas([field for field in schema["fields"] if field["id"] in field_ids])

    def keep_spec(self, spec_id: int) -> MetadataDocument:
        """Makes a partition spec of the table the only one, without a sort order."""
        return self._replace_specs(next(s for s in self.content["partition-specs"] if s["spec-id"] == spec_id))

    def remove_partitioning(self) -> MetadataDocument:
        """Makes a spec without partitions the only one, without a sort order."""
        return self._replace_specs(make_spec([]))

    def add_unpartitioned_spec(self) -> MetadataDocument:
        """Adds a spec without partitions if there is none; the default spec stays as it is."""
        specs = self.content["partition-specs"]
        if not all(spec["fields"] for spec in specs):
            return self
        added = make_spec([], max(spec["spec-id"] for spec in specs) + 1)
        return self._change({"partition-specs": [*specs, added]})

    def set_properties(self, properties: Mapping[str, str]) -> MetadataDocument:
        """Sets table properties, besides those that the table has."""
        return self._change({"properties": {**self.content.get("properties", {}), **properties}})

    def keep_snapshot(self, snapshot: Mapping[str, Any]) -> MetadataDocument:
        """Makes a snapshot the only one, and the head of the main branch; removes logs and statistics.

        The format version and the schemas of the document must be final: the snapshot loses references to others.
        """
        unusable = set() if self.content["format-version"] >= ROW_LINEAGE_VERSION else set(_ROW_LINEAGE_OF_SNAPSHOT)
        if snapshot.get("schema-id") not in {schema["schema-id"] for schema in self.content["schemas"]}:
            unusable.add("schema-id")
        snapshot_id = snapshot["snapshot-id"]
        return self._change(
            {
                "snapshots": [{key: value for key, value in snapshot.items() if key not in unusable}],
                "current-snapshot-id": snapshot_id,
                "refs": {"main": {"type": "branch", "snapshot-id": snapshot_id}},
                **_NO_HISTORY,
            }
        )

    def remove_snapshots(self) -> MetadataDocument:
        """Makes the table empty; removes logs and statistics, too."""
        return self._change({"snapshots": [], "current-snapshot-id": -1, "refs": {}, **_NO_HISTORY})

    def replace_manifest_list(self, snapshot_id: int, location: str) -> MetadataDocument:
        """Gives a snapshot another manifest list."""
        snapshots = [
            {**snapshot, "manifest-list": location} if snapshot["snapshot-id"] == snapshot_id else snapshot
            for snapshot in self.content["snapshots"]
        ]
        return self._change({"snapshots": snapshots})

    def _replace_specs(self, spec: Mapping[str, Any]) -> MetadataDocument:
        return self._change(
            {
                "partition-specs": [spec],
                "default-spec-id": spec["spec-id"],
                "sort-orders": [{"order-id": 0, "fields": []}],
                "default-sort-order-id": 0,
            }
        )

    def _change(self, changes: Mapping[str, Any]) -> MetadataDocument:
        return MetadataDocument({**self.content, **changes})


def make_schema(fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Makes a schema with the id 0, in Iceberg's JSON form."""
    return {"type": "struct", "schema-id": 0, "fields": list(fields)}


def make_spec(fields: Sequence[Mapping[str, Any]], spec_id: int = 0) -> dict[str, Any]:
    """Makes a partition spec, in Iceberg's JSON form."""
    return {"spec-id": spec_id, "fields": list(fields)}
