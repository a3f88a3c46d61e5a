"""The columns of a Delta table as an Iceberg schema, with field ids that fit the data files.

With column mapping, Delta gives every column an id and writes it into the files; the Iceberg schema has the same ones.
Without, files know names alone: ids are given out here, in the order in which Delta would when column mapping is turned
on later, and Iceberg's name mapping tells which name is which id. A name never gets a second id, so older snapshots
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
# Elements, keys and values have no id of Delta's own: theirs start where no column of Delta's will ever be.
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
        ids: The id of every name that a data file may have, dropped ones too.
        leaves: Columns with statistics, by the names that the log gives them.
        partition: The partition columns in order, by the names that the log gives them.
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
        return _write_mapping(self.ids)


def convert_schema(
    metadata: Metadata, known: Mapping[Path, int] | None = None, taken: Mapping[int, str] | None = None
) -> ConvertedSchema:
    """Converts the schema of a Delta table.

    Args:
        metadata: The table's description.
        known: The ids that names have already, from `read_name_mapping`.
        taken: The types of columns that an Iceberg partition spec uses, by id: these cannot change.

    Raises:
        InputError: With every column that Iceberg cannot have.
    """
    builder = _Builder(metadata, dict(known or {}), dict(taken or {}))
    fields = [builder.field(column, (), ()) for column in metadata.schema["fields"]]
    if builder.refused:
        raise InputError(
            f"{len(builder.refused)} column(s) of the Delta table cannot be mirrored: {'; '.join(builder.refused)}",
            hint="drop or convert them in the Delta table first",
        )
    names = {column["name"].lower(): column for column in metadata.schema["fields"]}
    partition = {}
    for name in metadata.partition_columns:
        physical = builder.physical(names[name.lower()])
        leaf = builder.leaves.get((physical,))
        if leaf is None:
            raise InputError(f"partition column {name!r} of the Delta table is not of a plain type")
        partition[physical] = leaf
    return ConvertedSchema(fields, builder.ids, builder.leaves, partition, max(builder.used, default=0))


def read_name_mapping(text: str | None) -> dict[Path, int]:
    """The ids of a table's name mapping, by path.

    Examples:
        >>> read_name_mapping('[{"field-id": 1, "names": ["a"], "fields": [{"field-id": 2, "names": ["b"]}]}]')
        {('a',): 1, ('a', 'b'): 2}
    """
    return dict(_read_mapping(json.loads(text), ())) if text else {}


def _read_mapping(entries: list[dict[str, Any]], parents: Path) -> Iterator[tuple[Path, int]]:
    for entry in entries:
        for name in entry["names"]:
            yield (*parents, name), entry["field-id"]
            yield from _read_mapping(entry.get("fields") or [], (*parents, name))


def _write_mapping(ids: Mapping[Path, int]) -> str:
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


def promotes(old: str, new: str) -> bool:
    """Whether Iceberg reads values of one type as another.

    Examples:
        >>> promotes("int", "long"), promotes("decimal(5, 2)", "decimal(9, 2)"), promotes("int", "double")
        (True, True, False)
    """
    if old == new or (old, new) in _PROMOTIONS:
        return True
    narrow, wide = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    return bool(narrow and wide and narrow[2] == wide[2] and int(narrow[1]) <= int(wide[1]))


class _Builder:
    """Walks over the columns, gives ids and collects what cannot be had."""

    def __init__(self, metadata: Metadata, ids: dict[Path, int], taken: dict[int, str]) -> None:
        self.mapped = metadata.mapping_mode != "none"
        self.ids = ids
        self.used = set(ids.values())
        self.taken = taken
        self.refused: list[str] = []
        self.leaves: dict[Path, Leaf] = {}

    def physical(self, column: dict[str, Any]) -> str:
        """The name of a column in files and statistics."""
        return str(column["metadata"].get(_NAME, column["name"]) if self.mapped else column["name"])

    def field(self, column: dict[str, Any], parents: Path, logical: Path, *, inside: bool = False) -> dict[str, Any]:
        """One column with all that is in it."""
        path, shown = (*parents, self.physical(column)), (*logical, column["name"])
        plain = self._primitive(column["type"])
        number = self._column_id(column, path, shown, plain)
        self._check_changes(column, shown)
        converted = plain or self._nested(column["type"], column, path, shown, inside=inside)
        if plain and not inside:
            self.leaves[path] = Leaf(number, ".".join(shown), plain)
        made = {"id": number, "name": column["name"], "required": not column["nullable"], "type": converted}
        comment = column["metadata"].get("comment")
        return made | ({"doc": comment} if comment else {})

    def _primitive(self, kind: Any) -> str | None:
        if not isinstance(kind, str):
            return None
        decimal = _DECIMAL.fullmatch(kind)
        if decimal:
            return f"decimal({decimal[1]}, {decimal[2]})"
        return "string" if _TEXT.fullmatch(kind) else _PRIMITIVES.get(kind)

    def _nested(self, kind: Any, column: dict[str, Any], path: Path, shown: Path, *, inside: bool) -> Any:
        """The type of a column that is not plain; `column` is the nearest one that has metadata."""
        name = kind if isinstance(kind, str) else kind["type"]
        if name == "struct":
            children = [self.field(child, path, shown, inside=inside) for child in kind["fields"]]
            return {"type": "struct", "fields": children}
        if name == "array":
            number, element = self._item("element", kind["elementType"], column, path, shown)
            return {
                "type": "list",
                "element-id": number,
                "element": element,
                "element-required": not kind["containsNull"],
            }
        if name == "map":
            key_id, key = self._item("key", kind["keyType"], column, path, shown)
            value_id, value = self._item("value", kind["valueType"], column, path, shown)
            return {
                "type": "map",
                "key-id": key_id,
                "key": key,
                "value-id": value_id,
                "value": value,
                "value-required": not kind["valueContainsNull"],
            }
        self.refused.append(f"{'.'.join(shown)} is of type {name}")
        return "string"

    def _item(self, role: str, kind: Any, column: dict[str, Any], parents: Path, logical: Path) -> tuple[int, Any]:
        """An element, a key or a value: its id and its type."""
        path, shown = (*parents, role), (*logical, role)
        plain = self._primitive(kind)
        number = self._item_id(column, path)
        if number is None and self.mapped and not (isinstance(kind, dict) and kind["type"] == "struct"):
            self.refused.append(
                f"{'.'.join(shown)} has no field id in the files (column mapping without IcebergCompat gives none)"
            )
        if number is None:
            number = self.ids.get(path) or self._next(FIRST_NESTED_ID)
        self._keep(path, number)
        return number, plain or self._nested(kind, column, path, shown, inside=True)

    def _item_id(self, column: dict[str, Any], path: Path) -> int | None:
        if not self.mapped:
            return None
        found = column["metadata"].get(_NESTED_IDS) or {}
        # The keys of Delta's map start at the column: col-1.element, col-1.element.key.
        start = len(path) - 1 - path[::-1].index(self.physical(column))
        number = found.get(".".join(path[start:]))
        return None if number is None else int(number)

    def _column_id(self, column: dict[str, Any], path: Path, shown: Path, plain: str | None) -> int:
        known = self.ids.get(path)
        if self.mapped:
            number = int(column["metadata"][_ID])
            if known not in {None, number}:
                raise InputError(
                    f"column {'.'.join(shown)} had field id {known} and has {number} since the Delta table has "
                    "column mapping; the older snapshots of the Iceberg table could not be read any more",
                    hint="convert the Delta table into a new Iceberg table",
                )
        elif known is None or not promotes(self.taken.get(known, plain or ""), plain or ""):
            number = self._next(1)
        else:
            number = known
        self._keep(path, number)
        return number

    def _next(self, first: int) -> int:
        below = {number for number in self.used if (number >= FIRST_NESTED_ID) == (first >= FIRST_NESTED_ID)}
        return max(below, default=first - 1) + 1

    def _keep(self, path: Path, number: int) -> None:
        self.ids[path] = number
        self.used.add(number)

    def _check_changes(self, column: dict[str, Any], shown: Path) -> None:
        """Values of older files are read as the column's type of today."""
        for change in column["metadata"].get(_TYPE_CHANGES) or ():
            old, new = self._primitive(change["fromType"]), self._primitive(change["toType"])
            if old is None or new is None or not promotes(old, new):
                self.refused.append(
                    f"{'.'.join(shown)} was {change['fromType']} before it was {change['toType']}, which Iceberg "
                    "cannot read"
                )
