"""Commands that look at tables and files and change nothing."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.cli import puffin as puffin_report
from rowdelta.cli.options import AsJson, Branch, TableName, Warehouse, app
from rowdelta.cli.output import print_json, print_rows


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
