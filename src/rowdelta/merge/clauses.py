"""The WHEN clauses of a merge: which one applies to a row, and what it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.change import compute_assignments, find_default, name_new_value, to_column
from rowdelta.errors import InputError
from rowdelta.iceberg import make_ambiguous_name_error
from rowdelta.spark import parse_column, parse_columns, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle

MATCHED: Final = "matched"
NOT_MATCHED: Final = "not matched"
BY_SOURCE: Final = "not matched by source"
ACTION: Final = "__rd_action"
NO_ACTION: Final = -1


@dataclass(frozen=True)
class Clause:
    """One WHEN clause.

    Attributes:
        when: `MATCHED`, `NOT_MATCHED` or `BY_SOURCE`.
        action: `update`, `delete` or `insert`.
        condition: A further condition, as SQL text or a Column.
        values: New values by column; None means all columns of the source, by name.
    """

    when: str
    action: str
    condition: str | Column | None = None
    values: Mapping[str, str | Column] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the clause always applies, and sets every column from the source."""
        return self.condition is None and self.values is None

    def __str__(self) -> str:
        condition = "" if self.condition is None else f" and {self.condition}"
        what = (
            self.action
            if self.action == "delete"
            else f"{self.action} {'all' if self.values is None else ', '.join(self.values)}"
        )
        return f"{self.when}{condition}: {what}"


def select_clauses(clauses: Sequence[Clause], *kinds: str) -> list[tuple[int, Clause]]:
    """Selects the clauses for some kinds of rows, with their numbers."""
    return [(number, clause) for number, clause in enumerate(clauses) if clause.when in kinds]


def choose_action(clauses: Sequence[tuple[int, Clause]]) -> Column:
    """Computes the number of the first clause whose condition holds."""
    chosen = F.lit(NO_ACTION)
    for number, clause in reversed(clauses):
        condition = F.lit(True) if clause.condition is None else to_column(clause.condition)
        chosen = F.when(condition, F.lit(number)).otherwise(chosen)
    return chosen


def compute_updates(
    handle: TableHandle,
    rows: DataFrame,
    clauses: Sequence[tuple[int, Clause]],
    aliases: tuple[str, str],
    source: Sequence[str],
) -> list[Column]:
    """Computes every column of the table after an update, by the clause in `ACTION`; `name_new_value` names them.

    A column that all clauses set is not read, unless it is required: then rows without an update keep their value.
    """
    target_alias, source_alias = aliases
    wanted = [c.values if c.values is not None else _map_all_columns(handle, source, source_alias) for _, c in clauses]
    new = [compute_assignments(handle, rows, values, target_alias) for values in wanted]
    applies = {number: parse_column(f"{ACTION} = {number}") for number, _ in clauses}
    columns = handle.metadata.schema.fields
    old = {column.name: f"{quote(target_alias)}.{quote(column.name)}" for column in columns}
    untouched = [name for name in old if not any(name in some for some in new)]
    old_values = parse_columns([f"{old[name]} AS {quote(name_new_value(name))}" for name in untouched])
    unchanged = dict(zip(untouched, old_values, strict=True))
    values = []
    for column in columns:
        by_clause = {number: some.get(column.name) for (number, _), some in zip(clauses, new, strict=True)}
        setting = {number: value for number, value in by_clause.items() if value is not None}
        if not setting:
            values.append(unchanged[column.name])
            continue
        value = F.lit(None) if len(setting) == len(clauses) and not column.required else parse_column(old[column.name])
        for number, some in setting.items():
            value = F.when(applies[number], some).otherwise(value)
        values.append(value.alias(name_new_value(column.name)))
    return values


def compute_insert(
    handle: TableHandle, source: DataFrame, clause: Clause, source_alias: str, source_columns: Sequence[str]
) -> dict[str, Column]:
    """Computes every column of a new row; a column that is not named gets the table's default, or null."""
    wanted = clause.values if clause.values is not None else _map_all_columns(handle, source_columns, source_alias)
    schema, rule = handle.metadata.schema, handle.name_rule
    columns = {name: schema.find(name, rule) for name in wanted}
    nested = [column.sql for column in columns.values() if len(column.path) > 1]
    if nested:
        raise InputError(f"an insert cannot set the field {nested[0]} alone", hint="set the whole struct")
    given = {columns[name].name: value for name, value in wanted.items()}
    types = handle.column_types
    missing = {
        column.name: find_default(types[column.name])
        for column in handle.metadata.schema.fields
        if column.name not in given
    }
    return compute_assignments(handle, source, {quote(name): value for name, value in {**given, **missing}.items()})


def _map_all_columns(handle: TableHandle, source: Sequence[str], alias: str) -> dict[str, str | Column]:
    """Maps every column of the table to the source's column of the same name."""
    rule = handle.name_rule
    by_name = rule.by_name(source)
    columns = [column.name for column in handle.metadata.schema.fields]
    missing = [name for name in columns if rule.fold(name) not in by_name]
    if missing:
        raise InputError(
            f"the source has no column {', '.join(missing)}", hint="add it, or set the columns that it has one by one"
        )
    for name in columns:
        if len(by_name[rule.fold(name)]) > 1:
            raise make_ambiguous_name_error(name, by_name[rule.fold(name)])
    return {quote(name): F.col(f"{quote(alias)}.{quote(by_name[rule.fold(name)][0])}") for name in columns}
