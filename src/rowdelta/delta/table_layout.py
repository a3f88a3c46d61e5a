"""Maps the files of a Delta table into the Iceberg table: to its schema, and to a partition spec."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowdelta.delta.log_values import convert_partition_value
from rowdelta.delta.schema import NAME_MAPPING, ConvertedSchema, Leaf, convert_schema, read_name_mapping
from rowdelta.delta.statistics import COUNTS, METRICS_MODE, build_metrics_modes
from rowdelta.errors import InputError
from rowdelta.iceberg import TableUpdate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rowdelta.delta.actions import Metadata
    from rowdelta.delta.schema import Path
    from rowdelta.iceberg import Field, TableHandle


@dataclass(frozen=True)
class Layout:
    """The form of the data files of one state of the Delta table, to Iceberg.

    Attributes:
        schema: The columns.
        spec_id: The partition spec of the files.
        partition: The fields of that spec in Iceberg's JSON form.
        zone: The time zone of partition values that carry none.
        changed: Whether the Iceberg table does not have this layout yet.
    """

    schema: ConvertedSchema
    spec_id: int
    partition: Sequence[Mapping[str, Any]]
    zone: str
    changed: bool = field(default=False)

    def partition_values(self, values: Mapping[str, str | None]) -> list[Any]:
        """Returns a file's partition values in Iceberg's JSON form."""
        return [
            convert_partition_value(values.get(name), leaf.type, self.zone)
            for name, leaf in self.schema.partition.items()
        ]

    def build_update(self, handle: TableHandle, properties: Mapping[str, str], *, exact: bool) -> TableUpdate:
        """Builds the update of the table's description, with further properties.

        Args:
            handle: The table.
            properties: Further properties.
            exact: Whether the bounds of all columns of new files are their minimum and maximum.
        """
        items = handle.metadata.properties.items()
        old = {name for name, value in items if name.startswith(METRICS_MODE) and value == COUNTS}
        # Files with inexact bounds stay in the table, so a column keeps this mode.
        modes = {} if exact and not old else build_metrics_modes(self.schema.leaves)
        if not self.changed:
            return TableUpdate(properties={**{name: modes[name] for name in modes.keys() - old}, **properties})
        return TableUpdate(
            fields=self.schema.fields,
            last_column_id=max(self.schema.last_column_id, handle.document["last-column-id"]),
            partition=self.partition,
            properties={NAME_MAPPING: self.schema.name_mapping, **modes, **properties},
            removed_properties=sorted(old - modes.keys()),
        )


def read_layout(handle: TableHandle, zone: str) -> Layout:
    """Reads the layout that the Iceberg table has now."""
    ids = read_name_mapping(handle.metadata.properties.get(NAME_MAPPING))
    paths = {number: path for path, number in ids.items()}
    leaves: dict[Path, Leaf] = {}
    for column in handle.metadata.schema.by_id.values():
        if isinstance(column.type, str) and column.id in paths:
            leaves[paths[column.id]] = Leaf(column.id, column.name, column.type)
    by_id = {leaf.id: (path, leaf) for path, leaf in leaves.items()}
    spec = handle.metadata.spec
    parts = [by_id[part.source_id] for part in spec.fields if part.transform == "identity"]
    document = _read_current_schema(handle)
    last: int = handle.document["last-column-id"]
    schema = ConvertedSchema(document["fields"], ids, leaves, {path[-1]: leaf for path, leaf in parts}, last)
    return Layout(schema, spec.id, _read_spec(handle, spec.id), zone)


def plan_layout(handle: TableHandle, metadata: Metadata, zone: str) -> Layout:
    """Plans the layout that the Iceberg table must have for a state of the Delta table."""
    ids = read_name_mapping(handle.metadata.properties.get(NAME_MAPPING))
    sources = {part.source_id for spec in handle.metadata.specs.values() for part in spec.fields}
    columns: dict[int, Field] = {}
    for old in handle.metadata.schemas.values():
        columns.update(old.by_id)
    taken = {number: columns[number].type_name for number in sources if number in columns}
    schema = convert_schema(metadata, ids, taken)
    _check_sources(schema, {number: columns[number].name for number in taken})
    spec_id, partition = _plan_spec(handle, schema)
    current = _read_current_schema(handle)
    same = (
        _normalize_fields(current["fields"]) == _normalize_fields(schema.fields)
        and spec_id == handle.metadata.default_spec_id
    )
    return Layout(schema, spec_id, partition, zone, changed=not (same and schema.ids == ids))


def _check_sources(schema: ConvertedSchema, sources: Mapping[int, str]) -> None:
    """Refuses to drop a partition column: Iceberg needs it to read the manifests of older snapshots."""
    remaining = {leaf.id for leaf in schema.leaves.values()}
    dropped = sorted(name for number, name in sources.items() if number not in remaining)
    if dropped:
        raise InputError(
            "the Delta table has dropped a column that it was partitioned by, or changed its type: "
            f"{', '.join(dropped)}; Iceberg needs it to read older snapshots",
            hint="convert the Delta table into a new Iceberg table",
        )


def _normalize_fields(fields: Sequence[Mapping[str, Any]]) -> Any:
    """Normalizes fields, so that Iceberg's form and ours compare equal."""
    return [{key: _normalize_type(value) if key == "type" else value for key, value in f.items()} for f in fields]


def _normalize_type(column_type: Any) -> Any:
    if not isinstance(column_type, dict):
        return column_type.replace(" ", "")
    return {
        key: _normalize_fields(value)
        if key == "fields"
        else _normalize_type(value)
        if key in {"element", "key", "value"}
        else value
        for key, value in column_type.items()
    }


def _plan_spec(handle: TableHandle, schema: ConvertedSchema) -> tuple[int, list[dict[str, Any]]]:
    """Finds a spec of the table for the partition columns, or plans a new one."""
    columns = [leaf.id for leaf in schema.partition.values()]
    ids: dict[int, int] = {}
    for spec in sorted(handle.metadata.specs.values(), key=lambda spec: spec.id != handle.metadata.default_spec_id):
        if [part.source_id for part in spec.fields] == columns and all(p.transform == "identity" for p in spec.fields):
            return spec.id, _read_spec(handle, spec.id)
        ids |= {part.source_id: part.field_id for part in spec.fields if part.transform == "identity"}
    last = handle.document.get("last-partition-id", 999)
    fields = []
    for leaf in schema.partition.values():
        if leaf.id not in ids:
            last += 1
            ids[leaf.id] = last
        fields.append({"name": leaf.name, "transform": "identity", "source-id": leaf.id, "field-id": ids[leaf.id]})
    return max(handle.metadata.specs) + 1, fields


def _read_spec(handle: TableHandle, spec_id: int) -> list[dict[str, Any]]:
    spec = next(s for s in handle.document["partition-specs"] if s["spec-id"] == spec_id)
    return list(spec["fields"])


def _read_current_schema(handle: TableHandle) -> dict[str, Any]:
    schema_id = handle.metadata.current_schema_id
    schema: dict[str, Any] = next(s for s in handle.document["schemas"] if s["schema-id"] == schema_id)
    return schema
