"""Converts the columns of a Delta table to an Iceberg schema, with field ids that fit the data files.

With column mapping, Delta gives every column an id and writes it into the files; the Iceberg schema has the same ids.
Without it, files have only names. Then this module assigns ids, in the order in which Delta would if column mapping
were turned on later, and Iceberg's name mapping maps names to ids. A name never gets a second id, so older snapshots
stay readable.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rowdelta.delta.actions import Metadata

Path = tuple[str, ...]

NAME_MAPPING: Final = "schema.name-mapping.default"
# Delta gives no ids to elements, keys and values: theirs start above every id that Delta gives to columns.
FIRST_NESTED_ID: Final = 1_000_000_000

_PRIMITIVES: Final = {
    "string": "string",
    "long": "long",
    "integer": "int",
    "short": "int",
    "byte": "int",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_TEXT: Final = re.compile(r"(var)?char\(\d+\)")
_PROMOTIONS: Final = frozenset({("int", "long"), ("float", "double")})
_ID, _NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"
_NESTED_IDS, _TYPE_CHANGES = "delta.columnMapping.nested.ids", "delta.typeChanges"


@dataclass(frozen=True)
class Leaf:
    """A column with plain values that is not inside a list or a map."""

    id: int
    name: str
    type: str


@dataclass(frozen=True)
class ConvertedSchema:
    """An Iceberg schema and how it relates to the Delta log.

    Attributes:
        fields: The fields in Iceberg's JSON form.
        ids: The id of every name that a data file may have, including those of dropped columns.
        leaves: Columns with statistics, by their names in the log.
        partition: The partition columns in order, by their names in the log.
        last_column_id: The highest id in use.
    """

    fields: list[dict[str, Any]]
    ids: dict[Path, int] = field(repr=False)
    leaves: dict[Path, Leaf] = field(repr=False)
    partition: dict[str, Leaf]
    last_column_id: int

    @property
    def name_mapping(self) -> str:
        """The value of Iceberg's name mapping property."""
        return _write_name_mapping(self.ids)


def convert_schema(
    metadata: Metadata, ids: Mapping[Path, int] | None = None, taken: Mapping[int, str] | None = None
) -> ConvertedSchema:
    """Converts the schema of a Delta table.

    Args:
        metadata: The table's description.
        ids: The ids that names already have, from `read_name_mapping`.
        taken: The types of columns that an Iceberg partition spec uses, by id: these cannot change.

    Raises:
        InputError: Names every column that Iceberg cannot have.
    """
    builder = _Builder(metadata, dict(ids or {}), dict(taken or {}))
    fields = [builder.convert_field(column, (), ()) for column in metadata.schema["fields"]]
    if builder.refused:
        raise InputError(
            f"{len(builder.refused)} column(s) of the Delta table cannot be mirrored: {'; '.join(builder.refused)}",
            hint="drop or convert them in the Delta table first",
        )
    names = {column["name"].lower(): column for column in metadata.schema["fields"]}
    partition = {}
    for name in metadata.partition_columns:
        physical = builder.find_physical_name(names[name.lower()])
        leaf = builder.leaves.get((physical,))
        if leaf is None:
            raise InputError(f"partition column {name!r} of the Delta table is not of a plain type")
        partition[physical] = leaf
    return ConvertedSchema(fields, builder.ids, builder.leaves, partition, max(builder.used, default=0))


def read_name_mapping(text: str | None) -> dict[Path, int]:
    """Reads the ids of a table's name mapping, by path.

    Examples:
        >>> read_name_mapping('[{"field-id": 1, "names": ["a"], "fields": [{"field-id": 2, "names": ["b"]}]}]')
        {('a',): 1, ('a', 'b'): 2}
    """
    return dict(_walk_name_mapping(json.loads(text), ())) if text else {}


def _walk_name_mapping(entries: list[dict[str, Any]], parents: Path) -> Iterator[tuple[Path, int]]:
    for entry in entries:
        for name in entry["names"]:
            yield (*parents, name), entry["field-id"]
            yield from _walk_name_mapping(entry.get("fields") or [], (*parents, name))


def _write_name_mapping(ids: Mapping[Path, int]) -> str:
    top: list[dict[str, Any]] = []
    children: dict[Path, list[dict[str, Any]]] = {(): top}
    for path, number in sorted(ids.items(), key=lambda item: len(item[0])):
        entry: dict[str, Any] = {"field-id": number, "names": [path[-1]], "fields": []}
        children[path] = entry["fields"]
        children[path[:-1]].append(entry)
    for entries in children.values():
        for entry in entries:
            if not entry["fields"]:
                del entry["fields"]
    return json.dumps(top)


def can_promote(old: str, new: str) -> bool:
    """Whether Iceberg reads values of one type as another.

    Examples:
        >>> can_promote("int", "long"), can_promote("decimal(5, 2)", "decimal(9, 2)"), can_promote("int", "double")
        (True, True, False)
    """
    if old == new or (old, new) in _PROMOTIONS:
        return True
    narrow, wide = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    return bool(narrow and wide and narrow[2] == wide[2] and int(narrow[1]) <= int(wide[1]))


class _Builder:
    """Converts columns, assigns ids and collects the columns that Iceberg cannot have."""

    def __init__(self, metadata: Metadata, ids: dict[Path, int], taken: dict[int, str]) -> None:
        self.mapped = metadata.mapping_mode != "none"
        self.ids = ids
        self.used = set(ids.values())
        self.taken = taken
        self.refused: list[str] = []
        self.leaves: dict[Path, Leaf] = {}

    def find_physical_name(self, column: dict[str, Any]) -> str:
        """Finds the name of a column in files and statistics."""
        return str(column["metadata"].get(_NAME, column["name"]) if self.mapped else column["name"])

    def convert_field(
        self, column: dict[str, Any], parents: Path, logical: Path, *, inside: bool = False
    ) -> dict[str, Any]:
        """Converts a column with everything inside it."""
        path, full_name = (*parents, self.find_physical_name(column)), (*logical, column["name"])
        plain = self._convert_primitive(column["type"])
        number = self._find_column_id(column, path, full_name, plain)
        self._check_changes(column, full_name)
        converted = plain or self._convert_nested(column["type"], column, path, full_name, inside=inside)
        if plain and not inside:
            self.leaves[path] = Leaf(number, ".".join(full_name), plain)
        converted_field = {"id": number, "name": column["name"], "required": not column["nullable"], "type": converted}
        comment = column["metadata"].get("comment")
        return converted_field | ({"doc": comment} if comment else {})

    def _convert_primitive(self, delta_type: Any) -> str | None:
        if not isinstance(delta_type, str):
            return None
        decimal = _DECIMAL.fullmatch(delta_type)
        if decimal:
            return f"decimal({decimal[1]}, {decimal[2]})"
        return "string" if _TEXT.fullmatch(delta_type) else _PRIMITIVES.get(delta_type)

    def _convert_nested(
        self, delta_type: Any, column: dict[str, Any], path: Path, full_name: Path, *, inside: bool
    ) -> Any:
        """Converts a nested type; `column` is the nearest column that has metadata."""
        name = delta_type if isinstance(delta_type, str) else delta_type["type"]
        if name == "struct":
            children = [self.convert_field(child, path, full_name, inside=inside) for child in delta_type["fields"]]
            return {"type": "struct", "fields": children}
        if name == "array":
            number, element = self._convert_item("element", delta_type["elementType"], column, path, full_name)
            return {
                "type": "list",
                "element-id": number,
                "element": element,
                "element-required": not delta_type["containsNull"],
            }
        if name == "map":
            key_id, key = self._convert_item("key", delta_type["keyType"], column, path, full_name)
            value_id, value = self._convert_item("value", delta_type["valueType"], column, path, full_name)
            return {
                "type": "map",
                "key-id": key_id,
                "key": key,
                "value-id": value_id,
                "value": value,
                "value-required": not delta_type["valueContainsNull"],
            }
        self.refused.append(f"{'.'.join(full_name)} is of type {name}")
        return "string"

    def _convert_item(
        self, role: str, delta_type: Any, column: dict[str, Any], parents: Path, logical: Path
    ) -> tuple[int, Any]:
        """Converts an element, a key or a value; returns its id and its type."""
        path, full_name = (*parents, role), (*logical, role)
        plain = self._convert_primitive(delta_type)
        number = self._find_item_id(column, path)
        if number is None and self.mapped and not (isinstance(delta_type, dict) and delta_type["type"] == "struct"):
            self.refused.append(
                f"{'.'.join(full_name)} has no field id in the files (column mapping without IcebergCompat gives none)"
            )
        if number is None:
            number = self.ids.get(path) or self._next_id(FIRST_NESTED_ID)
        self._record_id(path, number)
        return number, plain or self._convert_nested(delta_type, column, path, full_name, inside=True)

    def _find_item_id(self, column: dict[str, Any], path: Path) -> int | None:
        if not self.mapped:
            return None
        ids = column["metadata"].get(_NESTED_IDS) or {}
        # Keys of Delta's map start at the column: col-1.element, col-1.element.key.
        start = len(path) - 1 - path[::-1].index(self.find_physical_name(column))
        number = ids.get(".".join(path[start:]))
        return None if number is None else int(number)

    def _find_column_id(self, column: dict[str, Any], path: Path, full_name: Path, plain: str | None) -> int:
        existing = self.ids.get(path)
        if self.mapped:
            number = int(column["metadata"][_ID])
            if existing not in {None, number}:
                raise InputError(
                    f"column {'.'.join(full_name)} had field id {existing} and has {number} since the Delta table has "
                    "column mapping; the older snapshots of the Iceberg table could not be read any more",
                    hint="convert the Delta table into a new Iceberg table",
                )
        elif existing is None or not can_promote(self.taken.get(existing, plain or ""), plain or ""):
            number = self._next_id(1)
        else:
            number = existing
        self._record_id(path, number)
        return number

    def _next_id(self, first: int) -> int:
        below = {number for number in self.used if (number >= FIRST_NESTED_ID) == (first >= FIRST_NESTED_ID)}
        return max(below, default=first - 1) + 1

    def _record_id(self, path: Path, number: int) -> None:
        self.ids[path] = number
        self.used.add(number)

    def _check_changes(self, column: dict[str, Any], full_name: Path) -> None:
        """Refuses type changes that Iceberg cannot read: it reads values of older files as the current type."""
        for change in column["metadata"].get(_TYPE_CHANGES) or ():
            old, new = self._convert_primitive(change["fromType"]), self._convert_primitive(change["toType"])
            if old is None or new is None or not can_promote(old, new):
                self.refused.append(
                    f"{'.'.join(full_name)} was {change['fromType']} before it was {change['toType']}, which Iceberg "
                    "cannot read"
                )
