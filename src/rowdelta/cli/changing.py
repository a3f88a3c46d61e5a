"""Commands that change rows, and SQL."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.cli.options import AsJson, Branch, DryRun, TableName, Warehouse, app


@app.command(
    "delete-keys", epilog="Example: `rowdelta delete-keys db.orders --keys gone.parquet --warehouse warehouse`"
)
def delete_keys(
    table: TableName,
    warehouse: Warehouse,
    keys: Annotated[Path, typer.Option(exists=True, help="The keys: a .parquet, .csv (with a header) or .json file.")],
    key: Annotated[
        str | None, typer.Option(help="Key columns, separated by commas; all of the file's by default.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="deletion-vector, hash-map or full-row: this one or fail.")
    ] = None,
    branch: Branch = "main",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete the rows that have one of the keys in a file, without scanning the table."""
    from rowdelta.cli.changes import key_counts, run_operation
    from rowdelta.cli.warehouse import open_table, read_keys

    target = open_table(table, warehouse, branch)
    frame = read_keys(keys, target)
    names = frame.columns if key is None else [name.strip() for name in key.split(",")]
    operation = target.delete_keys(frame, names, encoding=encoding)
    run_operation(operation, dry_run=dry_run, as_json=as_json, tell=key_counts, nothing="no keys")


@app.command(
    epilog="Example: `rowdelta sql 'SELECT region, count(*) FROM db.orders GROUP BY region' --warehouse warehouse`"
)
def sql(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One statement of Spark SQL.")],
    warehouse: Warehouse,
    limit: Annotated[int, typer.Option(min=1, help="Rows to show at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Run SQL: changes by rowdelta, queries with every delete applied, the rest by Spark."""
    from rowdelta.cli.changes import run_sql, show_frame, spark_errors

    with spark_errors():
        show_frame(run_sql(text, warehouse), limit, as_json=as_json)


@app.command(epilog="Example: `rowdelta delete db.orders --where \"status = 'void'\" --warehouse warehouse`")
def delete(
    table: TableName,
    warehouse: Warehouse,
    where: Annotated[str, typer.Option(help="Rows to delete, as a SQL predicate; `true` for all.")],
    branch: Branch = "main",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete the rows of a table that match a predicate."""
    from rowdelta.cli.changes import run_operation, spark_errors
    from rowdelta.cli.warehouse import open_table

    with spark_errors():
        run_operation(open_table(table, warehouse, branch).delete(where), dry_run=dry_run, as_json=as_json)


@app.command(
    epilog="Example: `rowdelta update db.orders --set 'amount=amount * 1.1' --where 'id = 7' --warehouse warehouse`"
)
def update(
    table: TableName,
    warehouse: Warehouse,
    values: Annotated[list[str], typer.Option("--set", help="A column and its new value: `column=expression`.")],
    where: Annotated[str, typer.Option(help="Rows to update, as a SQL predicate; `true` for all.")],
    branch: Branch = "main",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Set columns of the rows of a table that match a predicate; repeat `--set` for more columns."""
    from rowdelta.cli.changes import assignments, run_operation, spark_errors
    from rowdelta.cli.warehouse import open_table

    operation = open_table(table, warehouse, branch).update().where(where)
    for column, value in assignments(values).items():
        operation = operation.set(column, value)
    with spark_errors():
        run_operation(operation, dry_run=dry_run, as_json=as_json)
