"""A table's metadata as plain values: schema, specs, properties, snapshots, branches and tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any, Final

from rowdelta.errors import InputError, TableError
from rowdelta.spark import ANY_CASE, NameRule, quote_path, split_name

_READ_ONE_BY_ONE: Final = 32
# Of the transforms whose values have a type of their own.
_RESULT_TYPES: Final = {"bucket": "int", "year": "int", "month": "int", "day": "date", "hour": "int"}


@dataclass(frozen=True)
class Field:
    """A column; `type` is an Iceberg type name (`long`, `decimal(10, 2)`), or the JSON of a nested type."""

    id: int
    name: str
    type: str | dict[str, Any]
    required: bool
    path: tuple[str, ...] = ()
    doc: str | None = field(default=None, compare=False)

    @property
    def sql(self) -> str:
        """The column in SQL, each part of its path quoted."""
        return quote_path(self.path or (self.name,))

    @property
    def type_name(self) -> str:
        """The type's name; a nested type gives `struct`, `list` or `map`."""
        return self.type if isinstance(self.type, str) else str(self.type["type"])


@dataclass(frozen=True)
class Schema:
    """One version of the columns."""

    id: int
    fields: tuple[Field, ...]

    @cached_property
    def by_id(self) -> dict[int, Field]:
        """Every column by its id; the fields of structs are there too, with dotted names."""
        found: dict[int, Field] = {}
        _collect(self.fields, (), found)
        return found

    @cached_property
    def top_level(self) -> dict[str, Field]:
        """The columns that are in no struct, by name."""
        return {column.name: self.by_id[column.id] for column in self.fields}

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """Every column by its name, nested ones by their dotted name; Iceberg sees to it that these differ."""
        return {column.name: column for column in self.by_id.values()}

    def find(self, name: str, rule: NameRule | None = None) -> Field:
        """The column of a name.

        Args:
            name: As in SQL, with dots before the fields of structs; a part that has dots itself is in backticks. Where
                nothing else is meant by it, a name with dots or spaces may also stand as it is.
            rule: How names are compared. `handle.name_rule` is the rule for what a user wrote; left out, case does not
                count, but the very name comes first.

        Raises:
            InputError: There is no such column, or the name fits several.
        """
        columns = self.by_id.values()
        if rule is None:
            parts, rule = split_name(name), ANY_CASE
            exact = [column for column in columns if column.path == parts]
            if exact:
                return exact[0]
        wanted = tuple(map(rule.fold, split_name(name)))
        alike = [column for column in columns if tuple(map(rule.fold, column.path)) == wanted]
        if len(alike) > 1:
            raise ambiguous_name(name, [column.sql for column in alike])
        alike = alike or [column for column in columns if rule.same(column.name, name)]
        if len(alike) > 1:
            raise InputError(
                f"{name!r} fits {' and '.join(column.sql for column in alike)}",
                hint="name one of these as it stands here, backticks included",
            )
        if alike:
            return alike[0]
        raise InputError(
            f"no column {name!r} in the table",
            hint=f"its columns are {', '.join(column.name for column in self.fields)}",
        )


def ambiguous_name(name: str, columns: Sequence[str]) -> InputError:
    """What is said of a name that fits columns which differ only in case."""
    return InputError(
        f"{name!r} fits {' and '.join(columns)}, which differ only in case",
        hint="spark.conf.set('spark.sql.caseSensitive', 'true') tells them apart",
    )


def _collect(fields: tuple[Field, ...], parents: tuple[str, ...], found: dict[int, Field]) -> None:
    for column in fields:
        path = (*parents, column.name)
        found[column.id] = Field(column.id, ".".join(path), column.type, column.required, path, column.doc)
        if isinstance(column.type, dict) and column.type["type"] == "struct":
            _collect(_fields(column.type), path, found)


def _fields(struct: dict[str, Any]) -> tuple[Field, ...]:
    return tuple(Field(f["id"], f["name"], f["type"], f["required"], doc=f.get("doc")) for f in struct["fields"])


@dataclass(frozen=True)
class PartitionField:
    """One field of a partition spec."""

    source_id: int
    field_id: int
    name: str
    transform: str

    def result_type(self, source: str) -> str:
        """The Iceberg type of its values, given that of its column."""
        return _RESULT_TYPES.get(self.transform.partition("[")[0], source)


@dataclass(frozen=True)
class PartitionSpec:
    """How data files are partitioned."""

    id: int
    fields: tuple[PartitionField, ...]

    @property
    def is_unpartitioned(self) -> bool:
        """Whether files of this spec belong to no partition; `void` transforms do not count."""
        return all(part.transform == "void" for part in self.fields)


@dataclass(frozen=True)
class Snapshot:
    """One state of the table."""

    id: int
    parent_id: int | None
    sequence_number: int
    timestamp_ms: int
    manifest_list: str | None
    schema_id: int | None
    summary: dict[str, str] = field(repr=False)

    @property
    def operation(self) -> str | None:
        """`append`, `overwrite`, `delete` or `replace`."""
        return self.summary.get("operation")


@dataclass(frozen=True)
class History:
    """Where snapshots are read that are not at hand: one, or the JSON with all of them."""

    one: Callable[[int], dict[str, Any] | None]
    whole: Callable[[], dict[str, Any]]


class Snapshots(Mapping[int, Snapshot]):
    """The snapshots of a table by id. A few that are not at hand are read one by one, then the whole history is."""

    def __init__(self, at_hand: dict[int, Snapshot], history: History | None = None) -> None:
        self._known = at_hand
        self._history = history
        self._one_by_one = _READ_ONE_BY_ONE

    def __getitem__(self, snapshot_id: int) -> Snapshot:
        history = self._history  # another thread may let go of it
        if snapshot_id not in self._known and history is not None:
            if self._one_by_one > 0:
                self._one_by_one -= 1
                document = history.one(snapshot_id)
                if document is None:
                    raise KeyError(snapshot_id)
                self._known[snapshot_id] = parse_snapshot(document)
            else:
                self._all()
        return self._known[snapshot_id]

    def __iter__(self) -> Iterator[int]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[int, Snapshot]:
        history = self._history
        if history is not None:
            self._known = _snapshots(history.whole())
            self._history = None
        return self._known


@dataclass(frozen=True)
class Reference:
    """A branch or a tag."""

    name: str
    kind: str
    snapshot_id: int


@dataclass(frozen=True)
class TableMetadata:
    """All that `metadata.json` says and rowdelta needs."""

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
        """The Iceberg type of each partition field, by spec; a column that is gone has the type that it had."""
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
        """The newest snapshot of a branch; None for a `main` without data."""
        if branch in self.branches:
            return self.snapshots[self.branches[branch].snapshot_id]
        if branch == "main":
            return None
        raise InputError(
            f"no branch {branch!r}",
            hint=f"the branches are {', '.join(['main', *sorted(set(self.branches) - {'main'})])}",
        )

    def descends(self, snapshot: Snapshot | None, ancestor_id: int) -> bool:
        """Whether a snapshot is another one or came from it."""
        ancestor = self.snapshots.get(ancestor_id)
        if ancestor is None:
            return False
        younger = takewhile(lambda known: known.sequence_number >= ancestor.sequence_number, self.ancestors(snapshot))
        return any(known.id == ancestor_id for known in younger)

    def ancestors(self, snapshot: Snapshot | None) -> Iterator[Snapshot]:
        """A snapshot and what it came from, newest first, as far as the table remembers."""
        while snapshot is not None:
            yield snapshot
            snapshot = self.snapshots.get(snapshot.parent_id) if snapshot.parent_id is not None else None


def parse_metadata(document: dict[str, Any], history: History | None = None) -> TableMetadata:
    """Reads the JSON form of Iceberg's `TableMetadata`, any format version.

    Args:
        document: The JSON.
        history: Where other snapshots are read, if the document has only those of branches and tags.
    """
    try:
        schemas = {s.get("schema-id", 0): s for s in document.get("schemas") or [document["schema"]]}
        specs = document.get("partition-specs") or [{"spec-id": 0, "fields": document["partition-spec"]}]
        current = document.get("current-snapshot-id")
        snapshots = _snapshots(document)
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
            schemas={i: Schema(i, _fields(s)) for i, s in schemas.items()},
            current_schema_id=document.get("current-schema-id", 0),
            specs={s["spec-id"]: PartitionSpec(s["spec-id"], tuple(map(_partition_field, s["fields"]))) for s in specs},
            default_spec_id=document.get("default-spec-id", 0),
            properties=dict(document.get("properties", {})),
            snapshots=Snapshots(snapshots, history),
            current_snapshot_id=current if current in snapshots else None,
            references=references,
        )
    except KeyError as error:
        raise TableError(f"the table's metadata has no {error.args[0]!r}") from error


def _partition_field(part: dict[str, Any]) -> PartitionField:
    return PartitionField(part["source-id"], part.get("field-id", 0), part["name"], part["transform"])


def _snapshots(document: dict[str, Any]) -> dict[int, Snapshot]:
    return {snapshot["snapshot-id"]: parse_snapshot(snapshot) for snapshot in document.get("snapshots", [])}


def parse_snapshot(document: dict[str, Any]) -> Snapshot:
    """One snapshot, of Iceberg's JSON."""
    return Snapshot(
        id=document["snapshot-id"],
        parent_id=document.get("parent-snapshot-id"),
        sequence_number=document.get("sequence-number", 0),
        timestamp_ms=document["timestamp-ms"],
        manifest_list=document.get("manifest-list"),
        schema_id=document.get("schema-id"),
        summary=dict(document.get("summary", {})),
    )
