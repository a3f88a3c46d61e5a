"""Old names of options: they work for one more release, with a warning on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer

from rowdelta._deprecated import REMOVED_IN

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# Every command that has the new option accepts the old one.
EVERYWHERE: Final = {"--dry-run": "--plan"}


def replace_old_options(
    arguments: Sequence[str], options: Collection[str], new_names: Mapping[str, str | None]
) -> list[str]:
    """Replaces old options in the arguments of a command.

    Args:
        arguments: The arguments as typed.
        options: The options that the command has.
        new_names: New options by their old names; None for an option that has no effect any more.
    """
    renamed = {old: new for old, new in (EVERYWHERE | dict(new_names)).items() if new is None or new in options}
    replaced: list[str] = []
    for index, argument in enumerate(arguments):
        if argument == "--":
            return [*replaced, *arguments[index:]]
        old, equals, value = argument.partition("=")
        if old not in renamed or old in options:
            replaced.append(argument)
            continue
        new = renamed[old]
        _warn(f"{old} is now {new}" if new is not None else f"{old} is the default now, and has no effect")
        if new is not None:
            replaced.append(f"{new}{equals}{value}")
    return replaced


def _warn(message: str) -> None:
    typer.echo(f"Warning: {message}; rowdelta {REMOVED_IN} will refuse the old name", err=True)
