"""The ON condition of a merge: what it compares, and the range of keys that it can match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import InputError
from rowdelta.iceberg import make_ambiguous_name_error
from rowdelta.spark import check_expression, quote, quote_string, split_conjuncts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from rowdelta.iceberg import TableHandle
    from rowdelta.spark import NameRule

RANGED = {"long", "int", "date", "timestamp", "timestamptz", "string"}


@dataclass(frozen=True)
class OnCondition:
    """When a row of the source matches a row of the table.

    Attributes:
        condition: The condition.
        pairs: The columns that it compares for equality: target column to source column.
        is_complete: Whether it says nothing else.
    """

    condition: Column
    pairs: dict[str, str]
    is_complete: bool


def parse_on_condition(
    handle: TableHandle, on: str | Column | Sequence[str], source: DataFrame, aliases: tuple[str, str]
) -> OnCondition:
    """Reads what a merge matches by: a column, several columns, or a condition."""
    target_alias, source_alias = aliases
    if isinstance(on, Column):
        return OnCondition(on, {}, is_complete=False)
    rule, schema = handle.name_rule, handle.metadata.schema
    if isinstance(on, str) and not rule.find(on, [column.name for column in schema.fields]):
        check_expression(handle.gateway, on, "the condition of the merge")
        pairs, parts = _find_pairs(handle, on, source, aliases)
        return OnCondition(F.expr(on), pairs, is_complete=len(pairs) == parts)
    names = [on] if isinstance(on, str) else list(on)
    if not names:
        raise InputError("a merge needs a condition", hint="on='id', on=['id', 'region'] or on='t.id = s.id'")
    pairs = {}
    for name in names:
        column = schema.find(name, rule).name
        alike = rule.find(column, source.columns)
        if not alike:
            raise InputError(f"the source has no column {name!r}", hint=f"its columns are {', '.join(source.columns)}")
        if len(alike) > 1:
            raise make_ambiguous_name_error(name, alike)
        pairs[column] = alike[0]
    condition, target, origin = F.lit(True), quote(target_alias), quote(source_alias)
    for left, right in pairs.items():
        condition = condition & (F.col(f"{target}.{quote(left)}") == F.col(f"{origin}.{quote(right)}"))
    return OnCondition(condition, pairs, is_complete=True)


def _find_pairs(
    handle: TableHandle, on: str, source: DataFrame, aliases: tuple[str, str]
) -> tuple[dict[str, str], int]:
    """Finds the columns that a condition compares as `t.a = s.b`, and counts the parts that it joins by AND.

    Any other part only means that fewer files are skipped.
    """
    conjuncts = split_conjuncts(handle.gateway, on)
    rule = handle.name_rule
    target_names = _map_unique(rule, [column.name for column in handle.metadata.schema.fields])
    source_names = _map_unique(rule, source.columns)
    pairs = {}
    for one, other in conjuncts.equalities:
        for left, right in ((one, other), (other, one)):
            target = _find_column(rule, left, aliases[0], target_names)
            origin = _find_column(rule, right, aliases[1], source_names)
            if target is not None and origin is not None:
                pairs[target] = origin
    return pairs, len(conjuncts.equalities) + conjuncts.others


def _find_column(rule: NameRule, parts: tuple[str, ...], alias: str, names: dict[str, str]) -> str | None:
    """Finds the column of an alias and a name. In a name of more parts, the first may be a struct."""
    if len(parts) != 2 or not rule.same(parts[0], alias):  # noqa: PLR2004 - alias and name
        return None
    return names.get(rule.fold(parts[1]))


def _map_unique(rule: NameRule, names: Sequence[str]) -> dict[str, str]:
    """Maps folded names to names, without those that fold to the same."""
    return {folded: alike[0] for folded, alike in rule.by_name(names).items() if len(alike) == 1}


def find_key_range(handle: TableHandle, source: DataFrame, pairs: dict[str, str]) -> str | None:
    """Finds a predicate that all rows with a key of the source meet, from the smallest and largest keys."""
    columns, types = handle.metadata.schema.top_level, handle.column_types
    usable = {left: right for left, right in pairs.items() if columns[left].type_name in RANGED}
    # Different types may be compared after a cast, whose order can differ from that of the column.
    same = {left: right for left, right in usable.items() if types[left].dataType == source.schema[right].dataType}
    if not same:
        return None
    extremes = [
        _to_text(handle, left, extreme(F.col(quote(right)))).alias(f"{which}{index}")
        for index, (left, right) in enumerate(same.items())
        for which, extreme in (("low", F.min), ("high", F.max))
    ]
    counted = [F.count(F.col(quote(right))).alias(f"count{index}") for index, right in enumerate(same.values())]
    row = source.agg(*extremes, *counted).collect()[0]
    parts = []
    for index, left in enumerate(same):
        if row[f"count{index}"] == 0:
            return "false"
        data_type = types[left].dataType.simpleString()
        parts.append(write_range(left, data_type, row[f"low{index}"], row[f"high{index}"]))
    return " AND ".join(parts)


def write_range(column: str, data_type: str, low: str, high: str) -> str:
    """Writes a range of a column as a predicate that Iceberg can push down, from its bounds as text.

    Examples:
        >>> write_range("id", "bigint", "3", "9")
        '`id` >= 3L AND `id` <= 9L'
    """
    return (
        f"{quote(column)} >= {_write_literal(low, data_type)} AND {quote(column)} <= {_write_literal(high, data_type)}"
    )


def _to_text(handle: TableHandle, column: str, value: Column) -> Column:
    """Writes a key as text. Times in the session's zone would be ambiguous when clocks are set back."""
    if handle.metadata.schema.top_level[column].type_name == "timestamptz":
        value = F.unix_micros(value)
    return F.coalesce(value.cast("string"), F.lit(""))


def _write_literal(text: str, data_type: str) -> str:
    if data_type == "timestamp":
        return f"timestamp_micros({text}L)"
    if data_type in {"bigint", "int"}:
        return text + ("L" if data_type == "bigint" else "")
    quoted = quote_string(text)
    return quoted if data_type == "string" else f"CAST({quoted} AS {data_type})"
