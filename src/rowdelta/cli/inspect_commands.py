"""Commands that inspect tables and files and change nothing."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta import choices
from rowdelta.cli import puffin_report
from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import LOOK, AsJson, Branch, Snapshot, TableName, app, choice_option, split_names
from rowdelta.cli.output import print_json, print_rows


@app.command(epilog="Example: `rowdelta puffin data/00000-deletes.puffin`", rich_help_panel=LOOK)
def puffin(
    file: Annotated[Path, typer.Argument(help="A local Puffin file.", exists=True, dir_okay=False, readable=True)],
    as_json: AsJson = False,
) -> None:
    """Show the blobs of a Puffin file, their properties, and the bitmaps of deletes in them."""
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
    from rowdelta.spark import collect_arrow

    rows = collect_arrow(open_table(table, place, branch).delete_files(snapshot)).to_pylist()
    if as_json:
        print_json(rows)
    elif rows:
        columns = ("path", "content", "encoding", "records", "bytes", "sequence", "partition", "applies_to", "dangling")
        print_rows(rows, columns)
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

    wanted = None if columns is None else split_names(columns)
    opened = open_table(table, place, branch)
    frame = opened.read(where, wanted, snapshot_id=snapshot, timestamp=timestamp, tag=tag, check_deletes=check_deletes)
    show_frame(frame, limit, as_json=as_json)


@app.command(
    epilog="Example: `rowdelta changes db.orders --warehouse warehouse --from audit --key id --format jsonl`",
    rich_help_panel=LOOK,
)
def changes(
    table: TableName,
    place: Place,
    start: Annotated[
        str | None, typer.Option("--from", help="The older state: a snapshot, tag or time. Default: the empty table.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="The newer state: a snapshot, tag or time. Default: the newest.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="Columns to show, separated by commas.")] = None,
    where: Annotated[str | None, typer.Option(help="Rows to compare, as a SQL predicate.")] = None,
    key: Annotated[str | None, typer.Option(help="Columns that identify a row, separated by commas.")] = None,
    images: Annotated[
        choices.Images, choice_option(choices.Images, "The rows of an update to show: all, or the one after it.")
    ] = "all",
    net: Annotated[bool, typer.Option("--net", help="Combine all commits: at most one change of each row.")] = False,
    format: Annotated[  # noqa: A002 - the name of the option
        choices.OutputFormat,
        choice_option(choices.OutputFormat, "table, json (one document), or jsonl (all rows, one in a line)."),
    ] = "table",
    limit: Annotated[int, typer.Option(min=1, help="Rows to show at most; jsonl has no limit.")] = 20,
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """Show which rows changed between two states of a table, over every kind of delete."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import print_lines, show_frame

    frame = open_table(table, place, branch).changes(
        start,
        end,
        columns=None if columns is None else split_names(columns),
        where=where,
        key=None if key is None else split_names(key),
        images=images,
        net=net,
    )
    if format == "jsonl" and not as_json:
        print_lines(frame)
    else:
        show_frame(frame, limit, as_json=as_json or format == "json")


@app.command(
    epilog="Example: `rowdelta debt db.orders --warehouse warehouse --html debt.html`",
    rich_help_panel=LOOK,
    new_names={"--verify": "--check-deletes"},
)
def debt(
    table: TableName,
    place: Place,
    plot: Annotated[Path | None, typer.Option(help="Also draw it: a .png, .svg or .pdf file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write the report as one HTML page.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Partitions and data files to list.")] = 10,
    snapshot: Snapshot = None,
    check_deletes: Annotated[
        bool, typer.Option("--check-deletes", help="Also read every deletion vector, and refuse a damaged one.")
    ] = False,
    branch: Branch = "main",
    plan: Annotated[bool, typer.Option("--plan", help="Has no effect: `debt` changes nothing.")] = False,  # noqa: ARG001 - see its help
    as_json: AsJson = False,
) -> None:
    """Show what the deletes of a table cost its readers, who can read it, and what to do about it."""
    from rowdelta.cli.connect import open_table

    measured = open_table(table, place, branch).debt(snapshot, check_deletes=check_deletes)
    if as_json:
        typer.echo(measured.to_json())
    else:
        measured.show(top=top)
    for path in (None if plot is None else measured.plot(plot), None if html is None else measured.to_html(html)):
        if path is not None:
            typer.echo(f"wrote {path}", err=as_json)


@app.command(epilog="Example: `rowdelta advise db.orders --warehouse warehouse`", rich_help_panel=LOOK)
def advise(table: TableName, place: Place, branch: Branch = "main", as_json: AsJson = False) -> None:
    """Recommend encoding, mode and a maintenance schedule, by the debt and the recent commits."""
    from rich.console import Console

    from rowdelta.cli.connect import open_table
    from rowdelta.debt import format_advice, list_commands

    advice = open_table(table, place, branch).advise()
    if as_json:
        lines = [list_commands(advice.table, item, place.words) for item in advice.recommendations]
        document = advice.to_dict()
        for item, shell in zip(document["recommendations"], lines, strict=True):
            item["shell"] = shell
        print_json(document)
    else:
        Console(highlight=False).print(format_advice(advice, place.words), soft_wrap=True)
