"""`rowdelta demo`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from rowdelta.cli.options import MORE, app


@app.command(epilog="Example: `rowdelta demo --keep warehouse`", rich_help_panel=MORE)
def demo(
    keep: Annotated[
        Path | None, typer.Option(help="A folder for the warehouse, which then stays; a temporary one by default.")
    ] = None,
) -> None:
    """Run the main job on a small warehouse of its own: a stream of changes, queries, resolve, and a report."""
    from rowdelta.cli.demo import run

    run(keep)
