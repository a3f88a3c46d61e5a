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
    branch: Annotated[str, typer.Option(help="The branch to look at.")] = "main",
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


@app.command(epilog="Example: `rowdelta demo`")
def demo() -> None:
    """Run the tour: a small warehouse of its own, deletes, and what they look like."""
    from rowdelta.cli.demo import run

    run()


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
