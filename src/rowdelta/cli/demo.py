"""`rowdelta demo` and `rowdelta version`."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.cli.options import MORE, AsJson, app
from rowdelta.cli.output import print_json


@app.command(epilog="Example: `rowdelta demo --keep warehouse`", rich_help_panel=MORE)
def demo(
    keep: Annotated[
        Path | None, typer.Option(help="A folder for the warehouse, which is kept; by default a temporary one.")
    ] = None,
) -> None:
    """Stream changes into two small tables, once for each way to delete by key, with queries and a report."""
    from rowdelta.cli.demo_run import run

    run(keep)


@app.command(epilog="Example: `rowdelta version --json`", rich_help_panel=MORE)
def version(as_json: AsJson = False) -> None:
    """Show the versions of rowdelta and of the libraries that it uses."""
    from importlib.metadata import version as installed

    from rowdelta import __version__
    from rowdelta.spark import RELEASE

    packages = {name: installed(name) for name in ("pyspark", "pyarrow", "pyroaring")}
    versions = {
        "rowdelta": __version__,
        "python": sys.version.split()[0],
        **packages,
        "iceberg": RELEASE.iceberg,
        "delta": RELEASE.delta.rsplit(":", 1)[1],
    }
    if as_json:
        print_json(versions)
    else:
        for name, value in versions.items():
            typer.echo(f"{name} {value}")
