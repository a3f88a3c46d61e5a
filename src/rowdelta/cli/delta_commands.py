"""The command that converts Delta tables to Iceberg tables."""

from __future__ import annotations

from typing import Annotated

import typer

from rowdelta.choices import MetricsSource, SnapshotGranularity, SyncMode
from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import MORE, AsJson, PlanOnly, TableName, app, choice_option


@app.command(
    "from-delta",
    epilog="Example: `rowdelta from-delta data/orders db.orders --warehouse warehouse`",
    rich_help_panel=MORE,
)
def from_delta(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The Delta table: its folder, or its name.")],
    table: TableName,
    place: Place,
    mode: Annotated[SyncMode, choice_option(SyncMode, "auto, full or incremental.")] = "auto",
    version: Annotated[int | None, typer.Option(min=0, help="The Delta version; the newest by default.")] = None,
    stats: Annotated[
        MetricsSource, choice_option(MetricsSource, "Metrics of data files from the `log` or from the `footer`.")
    ] = "log",
    format_version: Annotated[
        int | None, typer.Option(min=2, max=3, help="Of a new table: 3 (deletion vectors) or 2 (position deletes).")
    ] = None,
    snapshots: Annotated[
        SnapshotGranularity,
        choice_option(SnapshotGranularity, "One snapshot for each `commit`, or for the `range`."),
    ] = "commit",
    location: Annotated[str | None, typer.Option(help="The folder of a new table; by default the catalog's.")] = None,
    delete_folder: Annotated[
        str | None, typer.Option(help="Where delete files of a new table go; by default its folder `deletion-vectors`.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Compare the rows of both tables afterwards.")] = False,
    verify_files: Annotated[
        bool, typer.Option("--verify-files", help="Read the footer of every new data file.")
    ] = False,
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Create an Iceberg table over the files of a Delta table, with its deletes, or bring it up to date."""
    from pathlib import Path

    from rowdelta.cli.connect import full_name, open_spark
    from rowdelta.cli.run_operation import plan_or_execute
    from rowdelta.delta import from_delta as convert

    spark = open_spark(place, delta=True, make=True)
    target = full_name(spark, table, place)
    operation = convert(
        spark,
        str(Path(source).absolute()) if Path(source).is_dir() else source,
        target,
        mode,
        version,
        stats=stats,
        format_version=format_version,
        snapshots=snapshots,
        location=location,
        delete_folder=delete_folder,
        verify=verify,
        verify_files=verify_files,
    )
    result = plan_or_execute(operation, plan_only=plan, as_json=as_json)
    if result is None:
        return
    if result.mode == "none":
        typer.echo(f"{target} is at Delta version {result.version} already")
    else:
        typer.echo(
            f"{target} is at Delta version {result.version} ({result.mode}): {result.data_files_added:,} data files "
            f"added, {result.data_files_removed:,} removed, {result.deletion_vectors:,} deletion vectors "
            f"({result.inline_deletion_vectors:,} inline) of {result.deleted_rows:,} rows ({result.bytes_copied:,} "
            f"bytes), {len(result.snapshot_ids):,} snapshots"
        )
    if result.verified_rows is not None:
        typer.echo(f"{result.verified_rows:,} rows compared, all equal")
