"""Runs the `rowdelta` command. The exit code is 1 for a failure and 2 for wrong usage."""

from __future__ import annotations

import json
import sys

import typer
from rich.console import Console
from rich.markup import escape

from rowdelta._loading import ignore_late_interrupts

# The imports register the commands, in the order in which `rowdelta --help` lists them.
# isort: off
from rowdelta.cli import (  # noqa: F401
    inspect_commands,
    change_commands,
    maintenance_commands,
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
    """Runs the command line. An error becomes one message and exit code 1."""
    exit_code = run_command(_run)
    ignore_late_interrupts()
    sys.exit(exit_code)


def _run() -> int:
    try:
        if _prints_json():
            exit_code = app(standalone_mode=False)
            return exit_code if isinstance(exit_code, int) else 0
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except RowDeltaError as error:
        _print_error(error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - a user of the command line should not see our source
        format_message = getattr(error, "format_message", None)
        if format_message is not None:  # wrong usage, which Typer would print in a frame
            _print_error(format_message(), None)
            return 2
        message = " ".join(str(error).split())
        _print_error(f"{type(error).__name__}{': ' if message else ''}{message}", "--debug shows where it happened")
    return 1


def _prints_json() -> bool:
    return "--json" in sys.argv[1:]


def _print_error(message: str, hint: str | None) -> None:
    """Prints an error to stderr: as text, or as one JSON document if the command prints JSON."""
    if _prints_json():
        typer.echo(json.dumps({"error": message, "hint": hint}, ensure_ascii=False), err=True)
        return
    text = message if hint is None else f"{message}\nHint: {hint}"
    Console(stderr=True, highlight=False).print(f"[bold red]Error:[/] {escape(text)}", soft_wrap=True)
