"""Commands that look after a table: its delete debt, advice, and what to remove."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import LOOK, MAINTAIN, AsJson, Branch, PlanOnly, Snapshot, TableName, accepted_by, app
from rowdelta.cli.output import print_json
from rowdelta.maintenance import cutoff_ms

OlderThan = Annotated[
    str | None,
    typer.Option(
        "--older-than", help="A time (`2024-01-31`, UTC) or an age (`5d`, `36h`).", callback=accepted_by(cutoff_ms)
    ),
]


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

    found = open_table(table, place, branch).debt(snapshot, check_deletes=check_deletes)
    if as_json:
        typer.echo(found.to_json())
    else:
        found.show(top=top)
    for path in (None if plot is None else found.plot(plot), None if html is None else found.to_html(html)):
        if path is not None:
            typer.echo(f"wrote {path}", err=as_json)


@app.command(epilog="Example: `rowdelta advise db.orders --warehouse warehouse`", rich_help_panel=LOOK)
def advise(table: TableName, place: Place, branch: Branch = "main", as_json: AsJson = False) -> None:
    """Recommend encoding, mode and a maintenance schedule, by the debt and the recent commits."""
    from rich.console import Console

    from rowdelta.cli.connect import open_table
    from rowdelta.debt import advice_text, commands

    found = open_table(table, place, branch).advise()
    if as_json:
        lines = [commands(found.table, item, place.words) for item in found.recommendations]
        document = found.to_dict()
        for item, shell in zip(document["recommendations"], lines, strict=True):
            item["shell"] = shell
        print_json(document)
    else:
        Console(highlight=False).print(advice_text(found, place.words), soft_wrap=True)


@app.command(
    "remove-dangling",
    epilog="Example: `rowdelta remove-dangling db.orders --warehouse warehouse --plan`",
    rich_help_panel=MAINTAIN,
)
def remove_dangling(
    table: TableName, place: Place, branch: Branch = "main", plan: PlanOnly = False, as_json: AsJson = False
) -> None:
    """Remove delete files that apply to no data file any more."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import executed

    result = executed(open_table(table, place, branch).remove_dangling(), plan_only=plan, as_json=as_json)
    if result is None:
        return
    if result.snapshot_id is not None:
        typer.echo(f"{result.delete_files_removed:,} delete files removed, snapshot {result.snapshot_id}")
    if result.left:
        typer.echo(f"{result.left:,} dangling deletes cannot be removed: the column of their partition was dropped")
    elif result.snapshot_id is None:
        typer.echo("no dangling delete files: nothing changed")


@app.command(
    epilog="Example: `rowdelta expire db.orders --warehouse warehouse --older-than 5d --retain-last 10`",
    rich_help_panel=MAINTAIN,
)
def expire(
    table: TableName,
    place: Place,
    older_than: OlderThan = None,
    retain_last: Annotated[int | None, typer.Option(min=1, help="Snapshots of each branch to keep anyway.")] = None,
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Remove old snapshots, and the files that no other snapshot needs."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import executed

    operation = open_table(table, place).expire(older_than, retain_last)
    result = executed(operation, plan_only=plan, as_json=as_json)
    if result is not None:
        metadata = result.manifests_removed + result.manifest_lists_removed
        typer.echo(
            f"{result.snapshots_expired:,} snapshots expired; {result.data_files_removed:,} data files, "
            f"{result.delete_files_removed:,} delete files and {metadata:,} metadata files removed"
        )


@app.command("orphans", hidden=True, new_names={"--delete": None})
@app.command(
    "remove-orphans",
    epilog="Example: `rowdelta remove-orphans db.orders --warehouse warehouse --older-than 7d --plan`",
    rich_help_panel=MAINTAIN,
    new_names={"--delete": None},
)
def remove_orphans(
    table: TableName,
    place: Place,
    older_than: OlderThan = None,
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Remove files in a table's folder that no snapshot refers to, older than 3 days; `--plan` lists them."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.run_operation import executed

    result = executed(open_table(table, place).remove_orphans(older_than), plan_only=plan, as_json=as_json)
    if result is None:
        return
    for path in result.orphan_files:
        typer.echo(path)
    if not result.orphan_files:
        typer.echo("no orphan files")
        return
    left = len(result.orphan_files) - result.files_removed
    typer.echo(f"{result.files_removed:,} orphan files removed" + (f", {left:,} cannot be removed" if left else ""))
