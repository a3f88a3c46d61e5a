"""`rowdelta cdc`: streams of changes that a file describes, and tables that follow other tables."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta import choices
from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import (
    CHANGE,
    App,
    AsJson,
    Branch,
    KeepNewer,
    ResolveLane,
    TableName,
    TombstoneColumn,
    Tombstones,
    app,
    choice_option,
    split_names,
)

cdc = App(help="Streams of changes into tables.", no_args_is_help=True, rich_markup_mode="markdown")
app.add_typer(cdc, name="cdc", rich_help_panel=CHANGE)


@cdc.command(epilog="Example: `rowdelta cdc run --config pipeline.yaml`")
def run(
    place: Place,
    config: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="The pipeline, as YAML.")],
    kafka: Annotated[bool, typer.Option("--kafka", help="Load Spark's Kafka package.")] = False,
    resolve: ResolveLane = None,
    keep_newer: KeepNewer = False,
    tombstones: Tombstones = None,
    tombstone_column: TombstoneColumn = None,
    as_json: AsJson = False,
) -> None:
    """Apply changes from a folder of files or a Kafka topic to a table, until all are applied or you stop it.

    Options override the entries of the file with the same names.
    """
    from rowdelta.cli.pipeline_config import read_config
    from rowdelta.cli.pipeline_run import run_pipeline

    given = {
        "resolve": resolve,
        "keep_newer": keep_newer or None,
        "tombstones": tombstones,
        "tombstone_column": tombstone_column,
    }
    pipeline = read_config(config).override({name: value for name, value in given.items() if value is not None})
    run_pipeline(pipeline, place, kafka=kafka, as_json=as_json)


@cdc.command(
    epilog="Example: `rowdelta cdc follow db.orders --into db.copy --key id --checkpoint state --warehouse warehouse`"
)
def follow(
    table: TableName,
    place: Place,
    into: Annotated[str, typer.Option(metavar="TABLE", help="The table that gets the changes.")],
    checkpoint: Annotated[str, typer.Option(help="The folder that remembers what was applied.")],
    key: Annotated[
        str | None,
        typer.Option(help="Columns that identify a row, separated by commas. Default: the table's identifier fields."),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Start after this snapshot, tag or time. Default: with all rows.")
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(help="Time between two looks, as in `10 seconds`. Default: stop when all is applied."),
    ] = None,
    max_snapshots: Annotated[int, typer.Option(min=1, help="The most snapshots of a batch.")] = 100,
    on_gap: Annotated[
        choices.OnGap, choice_option(choices.OnGap, "If snapshots have expired unread: error, or reload all rows.")
    ] = "error",
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """Apply the changes of one table to another, each exactly once."""
    from rowdelta.cli.connect import open_table
    from rowdelta.cli.follow_run import run_follower

    source = open_table(table, place, branch)
    run_follower(
        source,
        open_table(into, place),
        as_json=as_json,
        checkpoint=checkpoint,
        key=None if key is None else split_names(key),
        start=start,
        every=every or "10 seconds",
        available_now=every is None,
        max_snapshots=max_snapshots,
        on_gap=on_gap,
    )
