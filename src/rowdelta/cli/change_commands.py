"""Commands that change rows, and SQL."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import (
    CHANGE,
    KINDS,
    AsJson,
    Branch,
    Encoding,
    Isolation,
    Mode,
    PlanOnly,
    Scope,
    TableName,
    app,
    names,
    rows_file,
)


@app.command(
    "delete-keys",
    epilog="Example: `rowdelta delete-keys db.orders --keys gone.parquet --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def delete_keys(
    table: TableName,
    place: Place,
    keys: Annotated[Path, typer.Option(exists=True, callback=rows_file, help=f"The keys: {KINDS}.")],
    key: Annotated[
        str | None, typer.Option(help="Key columns, separated by commas; all of the file's by default.")
    ] = None,
    scope: Scope = "auto",
    encoding: Encoding = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Delete the rows that have one of the keys in a file, without scanning the table."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.input_files import read_rows
    from rowdelta.cli.run_operation import key_counts, run_operation

    target = open_table(table, place, branch)
    frame = read_rows(keys, target)
    operation = target.delete_keys(frame, frame.columns if key is None else names(key), encoding=encoding, scope=scope)
    run_operation(operation, plan_only=plan, as_json=as_json, tell=key_counts, nothing="no keys")


@app.command(
    epilog="Example: `rowdelta sql 'SELECT region, count(*) FROM db.orders GROUP BY region' --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def sql(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One statement of Spark SQL.")],
    place: Place,
    limit: Annotated[int, typer.Option(min=1, help="Rows to show at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Run SQL: changes by rowdelta, queries with every delete applied, the rest by Spark."""
    from rowdelta.cli.run_operation import run_sql, show_frame

    show_frame(run_sql(text, place), limit, as_json=as_json)


@app.command(
    epilog="Example: `rowdelta delete db.orders --where \"status = 'void'\" --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def delete(
    table: TableName,
    place: Place,
    where: Annotated[str, typer.Option(help="Rows to delete, as a SQL predicate; `true` for all.")],
    mode: Mode = None,
    isolation: Isolation = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Delete the rows of a table that match a predicate."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import run_operation

    operation = open_table(table, place, branch).delete(where, mode=mode, isolation=isolation)
    run_operation(operation, plan_only=plan, as_json=as_json)


@app.command(
    epilog="Example: `rowdelta update db.orders --set 'amount=amount * 1.1' --where 'id = 7' --warehouse warehouse`",
    rich_help_panel=CHANGE,
)
def update(
    table: TableName,
    place: Place,
    values: Annotated[list[str], typer.Option("--set", help="A column and its new value: `column=expression`.")],
    where: Annotated[str, typer.Option(help="Rows to update, as a SQL predicate; `true` for all.")],
    mode: Mode = None,
    isolation: Isolation = None,
    branch: Branch = "main",
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Set columns of the rows of a table that match a predicate; repeat `--set` for more columns."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import assignments, run_operation

    new = assignments(values)  # a wrong one is found before Spark starts
    operation = open_table(table, place, branch).update(mode=mode, isolation=isolation).where(where)
    for column, value in new.items():
        operation = operation.set(column, value)
    run_operation(operation, plan_only=plan, as_json=as_json)
