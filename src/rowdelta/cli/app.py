"""How a run of `rowdelta` ends: exit code 1 for a failure, 2 for wrong usage."""

from __future__ import annotations

import json
import sys

import typer
from rich.console import Console
from rich.markup import escape

# Importing them adds their commands, in the order in which `rowdelta --help` shows them.
# isort: off
from rowdelta.cli import (  # noqa: F401
    inspect_commands,
    merge_commands,
    change_commands,
    maintenance_commands,
    debt_commands,
    delta_commands,
    demo,
    cdc_commands,
)

# isort: on
from rowdelta.cli.interrupts import run_command
from rowdelta.cli.options import app
from rowdelta.errors import RowDeltaError

__all__ = ["app", "main"]


def main() -> None:
    """Runs the command line; an error becomes one message and exit code 1."""
    sys.exit(run_command(_run))


def _run() -> int:
    try:
        if _prints_json():
            done = app(standalone_mode=False)
            return done if isinstance(done, int) else 0
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except RowDeltaError as error:
        _tell(error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - a person who types a command should not be shown our source
        tell = getattr(error, "format_message", None)
        if tell is not None:  # a wrong call, which Typer would print in a frame
            _tell(tell(), None)
            return 2
        told = " ".join(str(error).split())
        _tell(f"{type(error).__name__}{': ' if told else ''}{told}", "--debug shows where it happened")
    return 1


def _prints_json() -> bool:
    return "--json" in sys.argv[1:]


def _tell(message: str, hint: str | None) -> None:
    """Prints an error to stderr: as text, or as one JSON document where the command prints JSON."""
    if _prints_json():
        typer.echo(json.dumps({"error": message, "hint": hint}, ensure_ascii=False), err=True)
        return
    text = message if hint is None else f"{message}\nHint: {hint}"
    Console(stderr=True, highlight=False).print(f"[bold red]Error:[/] {escape(text)}", soft_wrap=True)
