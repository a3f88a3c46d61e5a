"""Commands that look at tables and files and change nothing."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.cli import puffin_report
from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import LOOK, AsJson, Branch, Snapshot, TableName, app, names
from rowdelta.cli.output import print_json, print_rows


@app.command(epilog="Example: `rowdelta puffin data/00000-deletes.puffin`", rich_help_panel=LOOK)
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


@app.command(
    "delete-files", epilog="Example: `rowdelta delete-files db.orders --warehouse warehouse`", rich_help_panel=LOOK
)
def delete_files(
    table: TableName,
    place: Place,
    snapshot: Snapshot = None,
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """List the live delete files of a table, and how many data files each can still apply to."""
    from rowdelta.cli.connect import open_table

    rows = open_table(table, place, branch).delete_files(snapshot).toArrow().to_pylist()
    if as_json:
        print_json(rows)
    elif rows:
        shown = ("path", "content", "encoding", "records", "bytes", "sequence", "partition", "applies_to", "dangling")
        print_rows(rows, shown)
    else:
        typer.echo("no delete files")


@app.command(
    epilog="Example: `rowdelta read db.orders --warehouse warehouse --where 'amount > 10' --limit 5`",
    rich_help_panel=LOOK,
)
def read(
    table: TableName,
    place: Place,
    where: Annotated[str | None, typer.Option(help="Rows to show, as a SQL predicate.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns to show, separated by commas.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows to show at most.")] = 20,
    snapshot: Snapshot = None,
    timestamp: Annotated[str | None, typer.Option(help="The state at this time, `2024-01-31 12:00`, in UTC.")] = None,
    tag: Annotated[str | None, typer.Option(help="The state of this tag.")] = None,
    check_deletes: Annotated[
        bool, typer.Option("--check-deletes", help="Read every deletion vector first, and refuse a damaged one.")
    ] = False,
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """Show live rows of a table, every kind of delete applied."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import show_frame

    wanted = None if columns is None else names(columns)
    opened = open_table(table, place, branch)
    frame = opened.read(where, wanted, snapshot_id=snapshot, timestamp=timestamp, tag=tag, check_deletes=check_deletes)
    show_frame(frame, limit, as_json=as_json)
