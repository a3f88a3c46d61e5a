"""The application that every command joins, and the options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
