"""The commands of `rowdelta`, and how an error ends one: exit code 1 for a failure, 2 for wrong usage."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rowdelta.cli import puffin as puffin_report
from rowdelta.cli.output import print_json, print_rows
from rowdelta.errors import RowDeltaError

app = typer.Typer(
    help="Row-level changes for Apache Iceberg tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog="Example: `rowdelta delete-files db.orders --warehouse warehouse`",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
Warehouse = Annotated[Path, typer.Option("--warehouse", help="The folder of a hadoop-type catalog.")]
Branch = Annotated[str, typer.Option(help="The branch to read or change.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")]
TableName = Annotated[str, typer.Argument(metavar="TABLE", help="The table: `db.orders`, or `lake.db.orders`.")]


def main() -> None:
    """Runs the command line; our own errors become one message and exit code 1."""
    try:
        app()
    except RowDeltaError as error:
        Console(stderr=True, highlight=False).print(f"[bold red]Error:[/] {_escape(str(error))}", soft_wrap=True)
        sys.exit(1)


@app.command(epilog="Example: `rowdelta version --json`")
def version(as_json: AsJson = False) -> None:
    """Show the versions of rowdelta and of what it runs on."""
    from importlib.metadata import version as installed

    from rowdelta import __version__
    from rowdelta.iceberg import DELTA_PACKAGE, ICEBERG_PACKAGE

    packages = {name: installed(name) for name in ("pyspark", "pyarrow", "pyroaring")}
    versions = {
        "rowdelta": __version__,
        "python": sys.version.split()[0],
        **packages,
        "iceberg": ICEBERG_PACKAGE.rsplit(":", 1)[1],
        "delta": DELTA_PACKAGE.rsplit(":", 1)[1],
    }
    if as_json:
        print_json(versions)
    else:
        for name, value in versions.items():
            typer.echo(f"{name} {value}")


@app.command(epilog="Example: `rowdelta puffin data/00000-deletes.puffin`")
def puffin(
    file: Annotated[Path, typer.Argument(help="A local Puffin file.", exists=True, dir_okay=False, readable=True)],
    as_json: AsJson = False,
) -> None:
    """Show what a Puffin file holds: its blobs, their properties, and the bitmaps of deletes inside."""
    report = puffin_report.describe(file)
    if as_json:
        print_json(report)
    else:
        puffin_report.show(report)


@app.command("delete-files", epilog="Example: `rowdelta delete-files db.orders --warehouse warehouse`")
def delete_files(
    table: TableName,
    warehouse: Warehouse,
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """List the live delete files of a table, and how many data files each can still apply to."""
    from rowdelta.cli.warehouse import open_table

    rows = open_table(table, warehouse, branch).delete_files().toArrow().to_pylist()
    if as_json:
        print_json(rows)
    elif rows:
        shown = ("path", "content", "encoding", "records", "bytes", "sequence", "partition", "applies_to", "dangling")
        print_rows(rows, shown)
    else:
        typer.echo("no delete files")


@app.command(epilog="Example: `rowdelta read db.orders --warehouse warehouse --where 'amount > 10' --limit 5`")
def read(
    table: TableName,
    warehouse: Warehouse,
    where: Annotated[str | None, typer.Option(help="Rows to show, as a SQL predicate.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns to show, separated by commas.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows to show at most.")] = 20,
    snapshot: Annotated[int | None, typer.Option(help="The state after this snapshot.")] = None,
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """Show live rows of a table, every kind of delete applied."""
    from rowdelta.cli.warehouse import open_table

    names = None if columns is None else [name.strip() for name in columns.split(",")]
    frame = open_table(table, warehouse, branch).read(where, names, snapshot_id=snapshot).limit(limit)
    rows = frame.toArrow().to_pylist()
    if as_json:
        print_json(rows)
    elif rows:
        print_rows(rows, frame.columns)
    else:
        typer.echo("no rows")


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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete the rows that have one of the keys in a file, without scanning the table."""
    from rowdelta.cli.warehouse import open_table, read_keys

    target = open_table(table, warehouse, branch)
    frame = read_keys(keys, target)
    names = frame.columns if key is None else [name.strip() for name in key.split(",")]
    operation = target.delete_keys(frame, names, encoding=encoding)
    if dry_run:
        plan = operation.plan()
        print_json(plan.to_dict()) if as_json else typer.echo(str(plan))
        return
    result = operation.execute()
    if as_json:
        print_json(result.to_dict())
    elif result.snapshot_id is None:
        typer.echo("no keys: nothing changed")
    else:
        files = ", ".join(f"{count} {name}" for name, count in result.encodings.items())
        typer.echo(f"{result.keys:,} keys in {files} ({result.bytes_added:,} bytes), snapshot {result.snapshot_id}")
        for reason in result.reasons:
            typer.echo(f"  {reason}")


@app.command(epilog="Example: `rowdelta demo`")
def demo() -> None:
    """Run the tour: a small warehouse of its own, deletes, and what they look like."""
    from rowdelta.cli.demo import run

    run()


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


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
