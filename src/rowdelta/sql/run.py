"""`rd.sql()`: decides which statements rowdelta runs, which read live rows, and which Spark runs as they are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from rowdelta._table import Table, table
from rowdelta.spark import (
    METADATA_COLUMNS,
    check_syntax,
    find_table,
    parse_statement,
    read_name_rule,
    substitute_variables,
)
from rowdelta.sql.change_tables import substitute_changes
from rowdelta.sql.dml_statement import DmlStatement
from rowdelta.sql.errors import locate_errors
from rowdelta.sql.identifiers import read_reference
from rowdelta.sql.live_tables import substitute_tables
from rowdelta.sql.live_views import LiveViews
from rowdelta.sql.parameters import Dialect, bind_parameters
from rowdelta.sql.references import find_references
from rowdelta.sql.statement import Statement, classify
from rowdelta.sql.text_edits import EditedText
from rowdelta.sql.to_operation import to_operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.change import Result
    from rowdelta.spark import NamedTable


def sql(spark: SparkSession, text: str, args: Mapping[str, Any] | Sequence[Any] | None = None) -> DataFrame:
    """Runs one statement of Spark SQL; rowdelta changes Iceberg tables and reads their live rows.

    `Table.delete()`, `Table.update()` and `Table.merge()` run DELETE, UPDATE and MERGE of an Iceberg table. Any other
    statement that reads an Iceberg table with equality deletes sees the live rows. Where Iceberg would apply filters
    wrongly, as in null partitions, Spark applies them. `changes('lake.db.t', start, end)` in a FROM is the change feed,
    as `Table.changes()` reads it. All other statements go to Spark as they are.

    Args:
        spark: The session; its current catalog and namespace apply.
        text: One statement.
        args: Values for `:name` (a dictionary) or `?` (a list).

    Returns:
        What Spark returns. A change by rowdelta returns one row: `rows_deleted` (null if rows were not counted),
        `rows_inserted`, `rows_updated`, and `snapshot_id` (null if nothing changed). EXPLAIN of it returns its plan.

    Raises:
        ParseException: Spark's own, for a syntax error, with the position in the text.
        AnalysisException: Spark's own, for names that do not exist.
        InputError: The change is not possible for the table.

    Examples:
        >>> before = t.metadata.current_snapshot_id
        >>> rd.sql(spark, "UPDATE lake.db.orders SET amount = 0 WHERE id = 4").select("rows_updated").show()
        +------------+
        |rows_updated|
        +------------+
        |           1|
        +------------+
        >>> rd.sql(spark, "SELECT * FROM lake.db.orders WHERE id = :id", {"id": 4}).show()
        +---+------+------+
        | id|status|amount|
        +---+------+------+
        |  4|  paid|   0.0|
        +---+------+------+
        >>> feed = "SELECT _change_type, id, amount FROM changes('lake.db.orders', :before, images => 'after')"
        >>> rd.sql(spark, feed, {"before": before}).show()
        +----------------+---+------+
        |    _change_type| id|amount|
        +----------------+---+------+
        |update_postimage|  4|   0.0|
        +----------------+---+------+
    """
    written = EditedText(substitute_variables(spark, text))
    statement = _parse(spark, written.text)
    if statement is not None and args:
        bind_parameters(written, statement.node, args, Dialect.read(spark))
        statement = _parse(spark, written.apply())
    if statement is None:
        return spark.sql(text, args=_copy_args(args))
    bound = written.apply()
    target = _open_target(spark, statement, bound)
    references, edited = find_references(statement.node, bound, read_name_rule(spark)), EditedText(bound)
    as_stored = any(column.parts[-1].lower() in METADATA_COLUMNS for column in references.columns)
    with closing(LiveViews(spark, as_stored=as_stored)) as views, locate_errors(spark, written, edited):
        if target is None:
            substitute_tables(spark, references, edited, views)
            substitute_changes(spark, statement.node, edited, views)
            return spark.sql(edited.apply())
        check_syntax(spark, bound)
        substitute_tables(spark, references, edited, views)
        substitute_changes(spark, statement.node, edited, views)
        named, opened = target
        change = DmlStatement(spark, statement, references, edited, named, opened)
        change.use_common_tables(views)
        operation = to_operation(change)
        if statement.explain:
            return _make_row(spark).select(F.lit(str(operation.plan())).alias("plan"))
        return _make_result_row(spark, operation.execute())


def _copy_args(args: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, Any] | list[Any] | None:
    if args is None:
        return None
    return dict(args) if isinstance(args, Mapping) else list(args)


def _parse(spark: SparkSession, text: str) -> Statement | None:
    root = parse_statement(spark, text)
    return None if root is None else classify(root)


def _open_target(spark: SparkSession, statement: Statement, text: str) -> tuple[NamedTable, Table] | None:
    """Opens the Iceberg table that a statement changes; None if Spark is to change or refuse it."""
    name = None if statement.change is None else statement.change.child("identifierReference")
    parts = None if name is None else read_reference(name, text)
    named = None if parts is None else find_table(spark, parts)
    if named is None or named.snapshot_id is not None:
        return None
    opened = table(spark, named.sql, named.branch)
    # Format version 1 has no delete files; Spark rewrites its files.
    return (named, opened) if opened.metadata.format_version > 1 else None


def _make_result_row(spark: SparkSession, result: Result) -> DataFrame:
    names = ("rows_deleted", "rows_inserted", "rows_updated", "snapshot_id")
    return _make_row(spark).select(*(F.lit(getattr(result, name)).cast("bigint").alias(name) for name in names))


def _make_row(spark: SparkSession) -> DataFrame:
    """Makes one row without a Spark job."""
    return spark.sql("SELECT 1")
