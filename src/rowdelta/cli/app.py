"""How a run of `rowdelta` ends: exit code 1 for a failure, 2 for wrong usage."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markup import escape

# Importing them adds their commands.
from rowdelta.cli import changing, delta, health, looking, maintenance, pipeline, touring  # noqa: F401
from rowdelta.cli.options import app
from rowdelta.errors import RowDeltaError

__all__ = ["app", "main"]


def main() -> None:
    """Runs the command line; our own errors become one message and exit code 1."""
    try:
        app()
    except RowDeltaError as error:
        Console(stderr=True, highlight=False).print(f"[bold red]Error:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(1)
