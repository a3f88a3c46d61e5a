"""The commands that README and docs show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import typer

from rowdelta.cli.app import app

ROOT = Path(__file__).parents[2]


def shown() -> list[tuple[str, list[str]]]:
    """Every call of `rowdelta` in the shell blocks of README and docs, with the name of its page."""
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```(?:sh|console)[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            joined = block.replace("\\\n", " ")
            calls = re.findall(r"^(?:\$ )?rowdelta (.*)$", joined, re.MULTILINE)
            found += [(page.name, shlex.split(call, comments=True)) for call in calls]
    return found


def test_every_command_of_the_docs_exists_with_its_options() -> None:
    calls = shown()
    assert len(calls) >= 20
    for page, words in calls:
        command: Any = typer.main.get_command(app)
        rest = list(words)
        while rest and rest[0] in getattr(command, "commands", {}):
            command = command.commands[rest.pop(0)]
        assert not hasattr(command, "commands") or not rest or rest[0].startswith("-"), (page, words)
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        options = {word.partition("=")[0] for word in rest if word.startswith("--")} - {"--help"}
        assert options <= known, (page, words, options - known)


def test_every_command_is_on_the_page_of_the_command_line() -> None:
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z-]+)(?: run)?`", page))
    assert {name for name, command in commands.items() if not command.hidden} <= named
