"""A table's metadata as plain values: schemas, partition specs, properties, branches and tags."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from rowdelta.errors import InputError, TableError
from rowdelta.iceberg.partition_specs import PartitionSpec, read_partition_field
from rowdelta.iceberg.schema import Schema, read_fields
from rowdelta.iceberg.snapshots import History, Snapshot, Snapshots, read_snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Reference:
    """A branch or a tag."""

    name: str
    kind: str
    snapshot_id: int


@dataclass(frozen=True)
class TableMetadata:
    """The parts of `metadata.json` that rowdelta needs."""

    uuid: str | None
    location: str
    format_version: int
    last_sequence_number: int
    schemas: dict[int, Schema]
    current_schema_id: int
    specs: dict[int, PartitionSpec]
    default_spec_id: int
    properties: dict[str, str]
    snapshots: Mapping[int, Snapshot]
    current_snapshot_id: int | None
    references: dict[str, Reference]

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return self.schemas[self.current_schema_id]

    @property
    def spec(self) -> PartitionSpec:
        """The spec that new files are written with."""
        return self.specs[self.default_spec_id]

    @cached_property
    def partition_types(self) -> dict[int, tuple[str, ...]]:
        """The Iceberg type of each partition field, by spec; a dropped column has its last type."""
        newest_last = sorted(self.schemas.values(), key=lambda s: (s.id == self.current_schema_id, s.id))
        columns = {i: column.type_name for schema in newest_last for i, column in schema.by_id.items()}
        return {
            spec.id: tuple(part.result_type(columns.get(part.source_id, "string")) for part in spec.fields)
            for spec in self.specs.values()
        }

    @property
    def branches(self) -> dict[str, Reference]:
        """The branches by name."""
        return {name: ref for name, ref in self.references.items() if ref.kind == "branch"}

    @property
    def tags(self) -> dict[str, Reference]:
        """The tags by name."""
        return {name: ref for name, ref in self.references.items() if ref.kind == "tag"}

    def head(self, branch: str) -> Snapshot | None:
        """Returns the newest snapshot of a branch; None for a `main` without data."""
        if branch in self.branches:
            return self.snapshots[self.branches[branch].snapshot_id]
        if branch == "main":
            return None
        raise InputError(
            f"no branch {branch!r}",
            hint=f"the branches are {', '.join(['main', *sorted(set(self.branches) - {'main'})])}",
        )

    def descends(self, snapshot: Snapshot | None, ancestor_id: int) -> bool:
        """Whether a snapshot is another one or descends from it."""
        ancestor = self.snapshots.get(ancestor_id)
        if ancestor is None:
            return False
        younger = takewhile(lambda older: older.sequence_number >= ancestor.sequence_number, self.ancestors(snapshot))
        return any(older.id == ancestor_id for older in younger)

    def ancestors(self, snapshot: Snapshot | None) -> Iterator[Snapshot]:
        """Yields a snapshot and its ancestors, newest first, unless they have expired."""
        while snapshot is not None:
            yield snapshot
            snapshot = self.snapshots.get(snapshot.parent_id) if snapshot.parent_id is not None else None


def parse_metadata(document: dict[str, Any], history: History | None = None) -> TableMetadata:
    """Reads the JSON form of Iceberg's `TableMetadata`, any format version.

    Args:
        document: The JSON.
        history: Reads other snapshots, if the document has only those of branches and tags.
    """
    try:
        schemas = {s.get("schema-id", 0): s for s in document.get("schemas") or [document["schema"]]}
        specs = document.get("partition-specs") or [{"spec-id": 0, "fields": document["partition-spec"]}]
        current = document.get("current-snapshot-id")
        snapshots = read_snapshots(document)
        references = {
            name: Reference(name, ref["type"], ref["snapshot-id"]) for name, ref in document.get("refs", {}).items()
        }
        if "main" not in references and current is not None and current in snapshots:  # version 1 tables have no refs
            references["main"] = Reference("main", "branch", current)
        return TableMetadata(
            uuid=document.get("table-uuid"),
            location=document["location"],
            format_version=document["format-version"],
            last_sequence_number=document.get("last-sequence-number", 0),
            schemas={
                i: Schema(i, read_fields(s), tuple(s.get("identifier-field-ids", ()))) for i, s in schemas.items()
            },
            current_schema_id=document.get("current-schema-id", 0),
            specs={
                s["spec-id"]: PartitionSpec(s["spec-id"], tuple(map(read_partition_field, s["fields"]))) for s in specs
            },
            default_spec_id=document.get("default-spec-id", 0),
            properties=dict(document.get("properties", {})),
            snapshots=Snapshots(snapshots, history),
            current_snapshot_id=current if current in snapshots else None,
            references=references,
        )
    except KeyError as error:
        raise TableError(f"the table's metadata has no {error.args[0]!r}") from error
