"""The command that makes Iceberg tables of Delta tables."""

from __future__ import annotations

from typing import Annotated

import typer

from rowdelta.cli.options import AsJson, DryRun, TableName, Warehouse, app
from rowdelta.cli.output import print_json


@app.command("from-delta", epilog="Example: `rowdelta from-delta data/orders db.orders --warehouse warehouse`")
def from_delta(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The Delta table: its folder, or its name.")],
    table: TableName,
    warehouse: Warehouse,
    mode: Annotated[str, typer.Option(help="auto, full or incremental.")] = "auto",
    version: Annotated[int | None, typer.Option(min=0, help="The Delta version; the newest by default.")] = None,
    stats: Annotated[str, typer.Option(help="Metrics of data files from the `log` or from the `footer`.")] = "log",
    format_version: Annotated[
        int | None, typer.Option(min=2, max=3, help="Of a new table: 3 (deletion vectors) or 2 (position deletes).")
    ] = None,
    snapshots: Annotated[str, typer.Option(help="One snapshot for each `commit`, or for the `range`.")] = "commit",
    verify: Annotated[bool, typer.Option("--verify", help="Compare the rows of both tables afterwards.")] = False,
    verify_files: Annotated[bool, typer.Option("--verify-files", help="Look at every new data file.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Make an Iceberg table over the files of a Delta table, deletes included, or bring it up to date."""
    from pathlib import Path

    from rowdelta.cli.changes import spark_errors
    from rowdelta.cli.warehouse import CATALOG
    from rowdelta.delta import from_delta as convert
    from rowdelta.session import session

    target = table if table.startswith(f"{CATALOG}.") else f"{CATALOG}.{table}"
    place = str(Path(source).absolute()) if Path(source).is_dir() else source
    with spark_errors():
        operation = convert(
            session(warehouse, CATALOG, delta=True),
            place,
            target,
            mode,
            version,
            stats=stats,
            format_version=format_version,
            snapshots=snapshots,
            verify=verify,
            verify_files=verify_files,
        )
        if dry_run:
            plan = operation.plan()
            print_json(plan.to_dict()) if as_json else typer.echo(str(plan))
            return
        result = operation.execute()
    if as_json:
        print_json(result.to_dict())
        return
    if result.mode == "none":
        typer.echo(f"{target} is at Delta version {result.version} already")
    else:
        typer.echo(
            f"{target} is at Delta version {result.version} ({result.mode}): {result.data_files_added:,} data files "
            f"added, {result.data_files_removed:,} removed, {result.deletion_vectors:,} deletion vectors of "
            f"{result.deleted_rows:,} rows ({result.bytes_copied:,} bytes), {len(result.snapshot_ids):,} snapshots"
        )
    if result.verified_rows is not None:
        typer.echo(f"{result.verified_rows:,} rows compared, all equal")
