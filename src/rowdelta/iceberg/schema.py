"""The columns of a table: their ids, types and names."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rowdelta.errors import InputError
from rowdelta.spark import ANY_CASE, NameRule, quote_path, quote_string, split_name

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    """One version of the columns. `identifier_ids` are the ids of the columns that identify a row, if declared."""

    id: int
    fields: tuple[Field, ...]
    identifier_ids: tuple[int, ...] = ()

    @cached_property
    def by_id(self) -> dict[int, Field]:
        """Every column by its id; the fields of structs are there too, with dotted names."""
        columns: dict[int, Field] = {}
        _collect_fields(self.fields, (), columns)
        return columns

    @cached_property
    def top_level(self) -> dict[str, Field]:
        """The columns that are in no struct, by name."""
        return {column.name: self.by_id[column.id] for column in self.fields}

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """Every column by its name, nested ones by their dotted name; Iceberg ensures that these are unique."""
        return {column.name: column for column in self.by_id.values()}

    def find(self, name: str, rule: NameRule | None = None) -> Field:
        """Finds the column of a name.

        Args:
            name: As in SQL: dots separate the fields of structs, and a part with dots is in backticks. A name with dots
                or spaces may also be unquoted if it has no other meaning.
            rule: How names are compared. `handle.name_rule` is the rule for a user's names. By default, case does not
                matter, but an exact match comes first.

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
            raise make_ambiguous_name_error(name, [column.sql for column in alike])
        alike = alike or [column for column in columns if rule.same(column.name, name)]
        if len(alike) > 1:
            raise InputError(
                f"{name!r} fits {' and '.join(column.sql for column in alike)}",
                hint="use one of these names exactly as shown, with its backticks",
            )
        if alike:
            return alike[0]
        raise InputError(
            f"no column {name!r} in the table",
            hint=f"its columns are {', '.join(column.name for column in self.fields)}",
        )


def write_default_sql(column: dict[str, Any]) -> str | None:
    """Writes what a column gets in a new row in SQL, from the JSON of the column; None if it has no default.

    Examples:
        >>> write_default_sql({"name": "n", "type": "int", "write-default": 5})
        "'5'"
        >>> write_default_sql({"name": "n", "type": "int"})
    """
    value, kind = column.get("write-default"), column["type"]
    if value is None or not isinstance(kind, str):
        return None
    if kind == "binary" or kind.startswith("fixed"):
        return f"unhex({quote_string(value)})"
    return quote_string(str(value).lower() if isinstance(value, bool) else str(value))


def make_ambiguous_name_error(name: str, columns: Sequence[str]) -> InputError:
    """Makes the error for a name that matches columns which differ only in case."""
    return InputError(
        f"{name!r} fits {' and '.join(columns)}, which differ only in case",
        hint="spark.conf.set('spark.sql.caseSensitive', 'true') distinguishes them",
    )


def _collect_fields(fields: tuple[Field, ...], parents: tuple[str, ...], columns: dict[int, Field]) -> None:
    for column in fields:
        path = (*parents, column.name)
        columns[column.id] = Field(column.id, ".".join(path), column.type, column.required, path, column.doc)
        if isinstance(column.type, dict) and column.type["type"] == "struct":
            _collect_fields(read_fields(column.type), path, columns)


def read_fields(struct: dict[str, Any]) -> tuple[Field, ...]:
    """Reads the fields of a struct or a schema, from Iceberg's JSON."""
    return tuple(Field(f["id"], f["name"], f["type"], f["required"], doc=f.get("doc")) for f in struct["fields"])
