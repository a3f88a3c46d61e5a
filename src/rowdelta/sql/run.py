"""`rd.sql()`: which statements are changed, which are run here, and which are Spark's alone."""

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
from rowdelta.sql.delete_update import delete_operation, update_operation
from rowdelta.sql.dml_statement import Change
from rowdelta.sql.errors import as_written
from rowdelta.sql.identifiers import reference_parts
from rowdelta.sql.live_tables import substitute_tables
from rowdelta.sql.live_views import LiveViews
from rowdelta.sql.merge import merge_operation
from rowdelta.sql.parameters import Dialect, bind
from rowdelta.sql.references import survey
from rowdelta.sql.statement import Statement, classify
from rowdelta.sql.text_edits import EditedText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rowdelta.change import Operation, Result
    from rowdelta.spark import NamedTable

_OPERATIONS = {"DELETE": delete_operation, "UPDATE": update_operation, "MERGE": merge_operation}


def sql(spark: SparkSession, text: str, args: Mapping[str, Any] | Sequence[Any] | None = None) -> DataFrame:
    """Runs one statement of Spark SQL, with rowdelta where rowdelta does better.

    DELETE, UPDATE and MERGE of an Iceberg table are run by `Table.delete()`, `Table.update()` and `Table.merge()`.
    Wherever else a statement reads an Iceberg table that has equality deletes, it sees the live rows; and where Iceberg
    would apply its filters wrongly, as in null partitions, Spark applies them. All other statements go to Spark as
    they are.

    Args:
        spark: The session; its current catalog and namespace count.
        text: One statement.
        args: Values for `:name` (a dictionary) or `?` (a list).

    Returns:
        What Spark returns. A change that rowdelta makes returns one row: `rows_deleted` (null where it is not known),
        `rows_inserted`, `rows_updated`, and `snapshot_id` (null when nothing changed). EXPLAIN of one returns its plan.

    Raises:
        ParseException: Spark's own, for a statement that is wrong, with the position in the text.
        AnalysisException: Spark's own as well, for names that are not there.
        InputError: A change that makes no sense for the table.

    Examples:
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
    """
    written = EditedText(substitute_variables(spark, text))
    statement = _statement(spark, written.text)
    if statement is not None and args:
        bind(written, statement.node, args, Dialect.of(spark))
        statement = _statement(spark, written.all())
    if statement is None:
        return spark.sql(text, args=_for_spark(args))
    bound = written.all()
    target = _target(spark, statement, bound)
    found, edited = survey(statement.node, bound, read_name_rule(spark)), EditedText(bound)
    as_stored = any(column.parts[-1].lower() in METADATA_COLUMNS for column in found.columns)
    with closing(LiveViews(spark, as_stored=as_stored)) as views, as_written(spark, written, edited):
        if target is None:
            substitute_tables(spark, found, edited, views)
            return spark.sql(edited.all())
        check_syntax(spark, bound)
        substitute_tables(spark, found, edited, views)
        named, opened = target
        change = Change(spark, statement, found, edited, named, opened)
        change.use_common_tables(views)
        operation: Operation[Any] = _OPERATIONS[statement.verb](change)
        if statement.explain:
            return _one_row(spark).select(F.lit(str(operation.plan())).alias("plan"))
        return _numbers(spark, operation.execute())


def _for_spark(args: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, Any] | list[Any] | None:
    if args is None:
        return None
    return dict(args) if isinstance(args, Mapping) else list(args)


def _statement(spark: SparkSession, text: str) -> Statement | None:
    root = parse_statement(spark, text)
    return None if root is None else classify(root)


def _target(spark: SparkSession, statement: Statement, text: str) -> tuple[NamedTable, Table] | None:
    """The Iceberg table that a statement changes; None where it is Spark's to change or to refuse."""
    name = None if statement.change is None else statement.change.child("identifierReference")
    parts = None if name is None else reference_parts(name, text)
    named = None if parts is None else find_table(spark, parts)
    if named is None or named.snapshot_id is not None:
        return None
    opened = table(spark, named.sql, named.branch)
    # Format version 1 has no delete files; Spark writes its files anew.
    return (named, opened) if opened.metadata.format_version > 1 else None


def _numbers(spark: SparkSession, result: Result) -> DataFrame:
    names = ("rows_deleted", "rows_inserted", "rows_updated", "snapshot_id")
    return _one_row(spark).select(*(F.lit(getattr(result, name)).cast("bigint").alias(name) for name in names))


def _one_row(spark: SparkSession) -> DataFrame:
    """A row that costs no job."""
    return spark.sql("SELECT 1")
