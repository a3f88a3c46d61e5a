"""Replaces tables with equality deletes by views of their live rows, in the text of a statement."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from rowdelta.spark import find_table, quote, read_name_rule
from rowdelta.sql.identifiers import are_same_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from rowdelta.spark import NamedTable, NameRule
    from rowdelta.sql.live_views import LiveViews
    from rowdelta.sql.references import ColumnName, Reference, References
    from rowdelta.sql.text_edits import EditedText


def substitute_tables(spark: SparkSession, references: References, edited: EditedText, views: LiveViews) -> None:
    """Replaces tables by views; each view gets an alias if it has none, so that qualified columns still resolve."""
    rule = read_name_rule(spark)
    ambiguous = _find_ambiguous_names(rule, references.tables)
    aliases: dict[tuple[str, ...], str] = {}
    for reference in references.tables:
        named = None if reference.common_table else find_referenced_table(spark, reference)
        view = None if named is None else views.make_table_view(named)
        if named is None or view is None:
            continue
        edited.replace(reference.start, reference.end, view)
        if reference.alias_at is not None:
            last = named.qualifier[-1]
            alias = f"{view}_{last}" if (reference.from_clause, rule.fold(last)) in ambiguous else reference.parts[-1]
            edited.replace(reference.alias_at, reference.alias_at, f" AS {quote(alias)}")
            aliases[named.qualifier] = alias
    for qualifier, alias in aliases.items():
        shorten_columns(rule, references.columns, edited, qualifier, alias)


def find_referenced_table(spark: SparkSession, reference: Reference) -> NamedTable | None:
    """Finds the Iceberg table of a reference; None if it is something else, or Spark is to report an error."""
    version: str | int | None = None
    if reference.version is not None or reference.timestamp is not None:
        micros = f"unix_micros(CAST({reference.timestamp} AS TIMESTAMP_LTZ))"
        try:
            value = spark.sql(f"SELECT {reference.version or micros}").collect()[0][0]
        except PySparkException:
            return None
        if value is None:
            return None
        version = str(value) if reference.version is not None else value
    return find_table(spark, reference.parts, version)


def shorten_columns(
    rule: NameRule,
    columns: Iterable[ColumnName],
    edited: EditedText,
    qualifier: Sequence[str],
    alias: str,
    *,
    shortest: int = 2,
) -> None:
    """Replaces qualifiers of several parts by the table's alias, which has one part."""
    for column in columns:
        length = count_qualifier_parts(rule, column, qualifier)
        if length >= shortest:
            edited.replace(column.starts[0], column.ends[length - 1], quote(alias))


def count_qualifier_parts(rule: NameRule, column: ColumnName, qualifier: Sequence[str]) -> int:
    """Counts the parts of a column's name that are the end of a table's name."""
    if rule.fold(column.parts[0]) in column.lambda_names:
        return 0
    lengths = range(min(len(column.parts) - 1, len(qualifier)), 0, -1)
    return next((length for length in lengths if are_same_names(rule, column.parts[:length], qualifier[-length:])), 0)


def _find_ambiguous_names(rule: NameRule, references: Iterable[Reference]) -> set[tuple[int, str]]:
    """Finds last parts of names that several tables without an alias share in one FROM."""
    names = defaultdict(set)
    for reference in references:
        if reference.alias_at is not None:
            key = (reference.from_clause, rule.fold(reference.parts[-1]))
            names[key].add(tuple(map(rule.fold, reference.parts)))
    return {key for key, parts in names.items() if len(parts) > 1}
