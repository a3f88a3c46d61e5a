"""Tables with equality deletes give way to views of their live rows, in the text of a statement."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from rowdelta.spark import find_table, quote, read_name_rule
from rowdelta.sql.identifiers import same

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from rowdelta.spark import NamedTable, NameRule
    from rowdelta.sql.live_views import LiveViews
    from rowdelta.sql.references import ColumnName, Reference, Survey
    from rowdelta.sql.text_edits import EditedText


def substitute_tables(spark: SparkSession, found: Survey, edited: EditedText, views: LiveViews) -> None:
    """Puts views in place of tables, with an alias where there is none, so that columns are found under their names."""
    rule = read_name_rule(spark)
    clashing = _clashing(rule, found.references)
    aliases: dict[tuple[str, ...], str] = {}
    for reference in found.references:
        named = None if reference.common_table else find_reference(spark, reference)
        view = None if named is None else views.of_table(named)
        if named is None or view is None:
            continue
        edited.replace(reference.start, reference.end, view)
        if reference.alias_at is not None:
            last = named.qualifier[-1]
            alias = f"{view}_{last}" if (reference.from_clause, rule.fold(last)) in clashing else reference.parts[-1]
            edited.replace(reference.alias_at, reference.alias_at, f" AS {quote(alias)}")
            aliases[named.qualifier] = alias
    for qualifier, alias in aliases.items():
        shorten_columns(rule, found.columns, edited, qualifier, alias)


def find_reference(spark: SparkSession, reference: Reference) -> NamedTable | None:
    """The Iceberg table that a reference means; None where it is something else or Spark is to say what is wrong."""
    version: str | int | None = None
    if reference.version is not None or reference.timestamp is not None:
        asked = f"unix_micros(CAST({reference.timestamp} AS TIMESTAMP_LTZ))"
        try:
            value = spark.sql(f"SELECT {reference.version or asked}").collect()[0][0]
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
    """Columns that are qualified with a table's name of several parts get its alias: an alias has one part."""
    for column in columns:
        length = qualifier_length(rule, column, qualifier)
        if length >= shortest:
            edited.replace(column.starts[0], column.ends[length - 1], quote(alias))


def qualifier_length(rule: NameRule, column: ColumnName, qualifier: Sequence[str]) -> int:
    """How many parts of a column's name are the end of a table's name; 0 where none are."""
    if rule.fold(column.parts[0]) in column.lambda_names:
        return 0
    lengths = range(min(len(column.parts) - 1, len(qualifier)), 0, -1)
    return next((length for length in lengths if same(rule, column.parts[:length], qualifier[-length:])), 0)


def _clashing(rule: NameRule, references: Iterable[Reference]) -> set[tuple[int, str]]:
    """Last parts of names that stand for several tables in one FROM, where nothing has an alias."""
    names = defaultdict(set)
    for reference in references:
        if reference.alias_at is not None:
            key = (reference.from_clause, rule.fold(reference.parts[-1]))
            names[key].add(tuple(map(rule.fold, reference.parts)))
    return {key for key, parts in names.items() if len(parts) > 1}
