"""Runs a follower that applies the changes of one table to another."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from rowdelta.cdc import follow
from rowdelta.cli.interrupts import finish_before_interrupt
from rowdelta.cli.output import print_json

if TYPE_CHECKING:
    from rowdelta._table import Table
    from rowdelta.cdc import FollowProgress


def run_follower(source: Table, target: Table, *, as_json: bool, **options: Any) -> None:
    """Follows a table until all changes are applied, or until an interrupt.

    Args:
        source: The table to follow.
        target: The table that gets the changes.
        as_json: Print batches as JSON, one per line.
        options: As for `rd.cdc.follow()`.
    """
    lines = None if sys.stderr.isatty() else _print_line  # in a terminal, the follower prints its own lines
    follower = follow(source, into=target, progress=_print_json_line if as_json else lines, **options)
    with finish_before_interrupt(follower.stop):  # the current batch is finished
        follower.await_termination()


def _print_line(progress: FollowProgress) -> None:
    typer.echo(str(progress))


def _print_json_line(progress: FollowProgress) -> None:
    print_json(progress.to_dict(), indent=None)
