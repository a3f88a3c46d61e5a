"""`rowdelta cdc run`: a stream of changes that a file describes."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.cli.catalog_options import Place  # noqa: TC001 - typer reads it
from rowdelta.cli.options import CHANGE, App, AsJson, KeepNewer, ResolveLane, TombstoneColumn, Tombstones, app

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
