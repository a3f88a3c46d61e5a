"""The application that every command joins, and the options that commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rowdelta._version import __version__
from rowdelta.cli.command import DEBUG, prepared

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.models import CommandFunctionType


class App(typer.Typer):
    """An application whose commands all have `--debug`, and those with a `place` the options that name catalogs."""

    def command(self, *arguments: Any, **settings: Any) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """As in Typer."""
        add = super().command(*arguments, **settings)

        def join(function: CommandFunctionType) -> CommandFunctionType:
            add(prepared(function))
            return function

        return join


app = App(
    help="Row-level changes for Apache Iceberg tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog="Example: `rowdelta delete-files db.orders --warehouse warehouse`",
)

# The groups of commands that `rowdelta --help` shows.
LOOK, CHANGE, MAINTAIN, MORE = "Read and inspect", "Change rows", "Maintain", "More"

# The files that `rowdelta.cli.files` reads.
KINDS = "a .parquet, .orc, .csv (with a header) or .json (one object a line) file"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
Branch = Annotated[str, typer.Option(help="The branch to read or change.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")]
TableName = Annotated[str, typer.Argument(metavar="TABLE", help="The table: `db.orders`, or `lake.db.orders`.")]
Snapshot = Annotated[int | None, typer.Option(help="The state after this snapshot.")]
Encoding = Annotated[str | None, typer.Option(help="deletion-vector, hash-map or full-row: this one or fail.")]
Scope = Annotated[str, typer.Option(help="Where old rows are: `partition` of the new one, `global`, or auto.")]
Mode = Annotated[str | None, typer.Option(help="merge-on-read or copy-on-write; by default as the table says.")]
Isolation = Annotated[str | None, typer.Option(help="serializable or snapshot; by default as the table says.")]


def names(text: str) -> list[str]:
    """Reads names that are separated by commas.

    Examples:
        >>> names("id, region")
        ['id', 'region']
    """
    return [name.strip() for name in text.split(",")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rowdelta {__version__}")
        raise typer.Exit


@app.callback()
def _everywhere(
    debug: Annotated[bool, DEBUG] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show rowdelta's version.")
    ] = False,
) -> None:
    """Row-level changes for Apache Iceberg tables."""
