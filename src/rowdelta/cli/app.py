"""How a run of `rowdelta` ends: exit code 1 for a failure, 2 for wrong usage."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markup import escape

# Importing them adds their commands, in the order in which `rowdelta --help` shows them.
# isort: off
from rowdelta.cli import looking, merging, changing, maintenance, health, delta, touring, pipeline  # noqa: F401

# isort: on
from rowdelta.cli.options import app
from rowdelta.errors import RowDeltaError

__all__ = ["app", "main"]


def main() -> None:
    """Runs the command line; an error becomes one message and exit code 1."""
    try:
        app()
    except RowDeltaError as error:
        _fail(str(error))
    except Exception as error:  # noqa: BLE001 - a person who types a command should not be shown our source
        told = " ".join(str(error).split())
        _fail(f"{type(error).__name__}{': ' if told else ''}{told}\nHint: --debug shows where it happened")


def _fail(message: str) -> None:
    Console(stderr=True, highlight=False).print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True)
    sys.exit(1)
