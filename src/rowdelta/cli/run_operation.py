"""Runs operations and SQL for the commands, and prints their plans and results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import typer
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.cli.connect import open_spark
from rowdelta.cli.interrupts import finish_before_interrupt
from rowdelta.cli.output import print_json, print_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import DataFrame

    from rowdelta.change import Operation, Result, ResultT
    from rowdelta.cli.catalog_options import Place
    from rowdelta.verbs import DeleteKeysResult, UpsertResult


# A CREATE statement after comments. Each text before it matches in one way only: otherwise, the time for a long text
# that does not match would explode.
_CREATES: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*(?:(?!\*/).)*\*/)*CREATE\b", re.IGNORECASE | re.DOTALL)


def run_sql(text: str, place: Place) -> DataFrame:
    """Runs a statement; names without a catalog belong to the default catalog of the place."""
    from rowdelta import spark as jvm
    from rowdelta.sql import sql

    spark = open_spark(place, make=_CREATES.match(text) is not None)
    if place.default_catalog is not None:
        jvm.run_sql(spark, f"USE {jvm.quote(place.default_catalog)}")
    with finish_before_interrupt():  # a change is made here; the rows of a query are fetched later
        return sql(spark, text)


def show_frame(frame: DataFrame, limit: int, *, as_json: bool) -> None:
    """Prints the first rows of a frame, or `done` for a statement without columns."""
    from rowdelta.spark import collect_arrow, convert_to_display_rows, quiet_tasks, translate_errors

    with translate_errors(frame.sparkSession), quiet_tasks(frame.sparkSession):
        rows = convert_to_display_rows(collect_arrow(frame.limit(limit))) if frame.columns else []
    if as_json:
        print_json(rows)
    elif rows:
        print_rows(rows, frame.columns)
    else:
        typer.echo("no rows" if frame.columns else "done")


def print_lines(frame: DataFrame) -> None:
    """Prints every row of a frame as a line of JSON. The rows are fetched in portions."""
    from rowdelta.spark import quiet_tasks, translate_errors

    with translate_errors(frame.sparkSession), quiet_tasks(frame.sparkSession):
        lines = frame.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}))
        for (line,) in lines.toLocalIterator(prefetchPartitions=True):
            typer.echo(line)


def show_plan(operation: Operation[Any], *, as_json: bool) -> None:
    """Prints what an operation would do."""
    plan = operation.plan()
    print_json(plan.to_dict()) if as_json else typer.echo(str(plan))


def plan_or_execute(operation: Operation[ResultT], *, plan_only: bool, as_json: bool) -> ResultT | None:
    """Prints the plan of an operation, or runs it. Prints the result as JSON, or returns it to be described."""
    if plan_only:
        show_plan(operation, as_json=as_json)
        return None
    with finish_before_interrupt():
        result = operation.execute()
    if as_json:
        print_json(result.to_dict())
        return None
    return result


def run_operation(
    operation: Operation[ResultT],
    *,
    plan_only: bool,
    as_json: bool,
    describe: Callable[[ResultT], Iterable[str]] | None = None,
    nothing: str | Callable[[ResultT], str] = "no rows",
) -> None:
    """Prints the plan of an operation, or runs it and describes the result.

    Args:
        operation: What to run.
        plan_only: Print only its plan.
        as_json: One JSON document instead of text.
        describe: Describes the result in lines; by default by its numbers of rows.
        nothing: Why nothing changed, such as `no rows`, or what finds the reason.
    """
    result = plan_or_execute(operation, plan_only=plan_only, as_json=as_json)
    if result is None:
        return
    if result.snapshot_id is None:
        typer.echo(f"{nothing if isinstance(nothing, str) else nothing(result)}: nothing changed")
    else:
        for line in _describe_rows(result) if describe is None else describe(result):
            typer.echo(line)


def _describe_rows(result: Result) -> list[str]:
    counts = {"deleted": result.rows_deleted, "updated": result.rows_updated, "inserted": result.rows_inserted}
    parts = [f"{count:,} rows {name}" for name, count in counts.items() if count]
    return [f"{', '.join(parts) or 'rows deleted with whole files'}, snapshot {result.snapshot_id}"]


def describe_key_deletes(result: DeleteKeysResult) -> list[str]:
    """Describes a delete by key: its keys, their encodings and the reasons; or the rows, if they were looked up."""
    if result.resolved:
        return [f"{result.keys:,} keys: {_describe_rows(result)[0]}", _describe_lane(result)]
    line = f"{_describe_keys(result)} ({result.bytes_added:,} bytes), snapshot {result.snapshot_id}"
    return [line, *(f"  {reason}" for reason in result.reasons)]


def describe_upsert(result: UpsertResult) -> list[str]:
    """Describes an upsert: its keys and rows, their encodings and the reasons."""
    if result.resolved:
        ignored = f", {result.changes_ignored:,} changes ignored" if result.changes_ignored else ""
        return [f"{result.keys:,} keys{ignored}: {_describe_rows(result)[0]}", _describe_lane(result)]
    line = (
        f"{_describe_keys(result)}, of which {result.keys_deleted:,} are deleted; {result.rows_written:,} "
        f"rows written ({result.bytes_added:,} bytes), snapshot {result.snapshot_id}"
    )
    return [line, *(f"  {reason}" for reason in result.reasons)]


def describe_ignored(result: UpsertResult) -> str:
    """Describes an upsert that changed nothing."""
    if result.changes_ignored:
        return f"{result.changes_ignored:,} changes are not newer than the rows in the table"
    return f"{result.keys:,} keys to delete, and no row has one" if result.keys else "no changes"


def describe_no_keys(result: DeleteKeysResult) -> str:
    """Describes a delete by key that changed nothing."""
    return f"{result.keys:,} keys, and no row has one" if result.keys else "no keys"


def _describe_lane(result: DeleteKeysResult | UpsertResult) -> str:
    return f"  the rows were looked up: {', '.join(result.reasons)}"


def _describe_keys(result: DeleteKeysResult | UpsertResult) -> str:
    return f"{result.keys:,} keys in {', '.join(f'{count} {name}' for name, count in result.encodings.items())}"


def parse_assignments(texts: Sequence[str]) -> dict[str, str]:
    """Parses assignments of the form `column=expression`.

    Examples:
        >>> parse_assignments(["a=b = 1", "s.x=2"])
        {'a': 'b = 1', 's.x': '2'}
    """
    values: dict[str, str] = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if not (column.strip() and equals and value.strip()):
            raise typer.BadParameter(f"{text!r} sets nothing; write 'column=expression'", param_hint="--set")
        if column.strip() in values:
            raise typer.BadParameter(f"column {column.strip()!r} is set twice", param_hint="--set")
        values[column.strip()] = value.strip()
    return values
