"""The application that all commands belong to, and the options that they share."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from rowdelta import choices
from rowdelta._version import __version__
from rowdelta.cli.command import DEBUG, with_common_options
from rowdelta.cli.old_options import replace_old_options
from rowdelta.encoding import DeleteEncoding
from rowdelta.errors import RowDeltaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from typer.models import CommandFunctionType


class Command(TyperCommand):
    """A command whose help shows flags without a type, and that accepts the old names of its options."""

    new_names: ClassVar[Mapping[str, str | None]] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As in Typer."""
        options = {name for parameter in self.params for name in parameter.opts}
        return super().parse_args(ctx, replace_old_options(args, options, self.new_names))

    def get_params(self, ctx: Any) -> Any:
        """As in Typer."""
        return _hide_flag_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose help shows flags without a type."""

    def get_params(self, ctx: Any) -> Any:
        """As in Typer."""
        return _hide_flag_types(super().get_params(ctx))


def _hide_flag_types(parameters: Iterable[Any]) -> list[Any]:
    """Hides the type of flags, which take no value; Typer would show `<bool>`."""
    all_parameters = list(parameters)
    for parameter in all_parameters:
        if getattr(parameter, "is_flag", False):
            parameter.display_type_rich = lambda **_: None
    return all_parameters


class App(typer.Typer):
    """An application whose commands have `--debug`, and the catalog options if they have a parameter `place`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=Group, **settings)

    def command(
        self, *arguments: Any, new_names: Mapping[str, str | None] | None = None, **settings: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """As in Typer; `new_names` has the options that were renamed, see `replace_old_options`."""
        command_class = type("Command", (Command,), {"new_names": new_names or {}})
        add = super().command(*arguments, cls=command_class, **settings)

        def join(function: CommandFunctionType) -> CommandFunctionType:
            add(with_common_options(function))
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

# The files that `rowdelta.cli.input_files` reads.
ROW_FILES = "a .parquet, .orc, .csv (with a header) or .json (one object per line) file"
READERS = {".parquet": "parquet", ".orc": "orc", ".csv": "csv", ".json": "json", ".jsonl": "json"}


# The type that help shows for an option that takes one of some words.
WORD = "<str>"


def check_rows_file(path: Path) -> Path:
    """An option callback: refuses a file of rows whose suffix is unknown."""
    if path.suffix.lower() not in READERS:
        raise typer.BadParameter(f"{path.name}: unsupported file type; use one of {', '.join(READERS)}")
    return path


def parse_encoding(text: str) -> str:
    """Parses an option that names an encoding."""
    return str(check_with(DeleteEncoding.from_name)(text))


def check_with(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Makes an option callback that reports what the library would refuse as wrong usage, before Spark starts."""

    def callback(value: Any) -> Any:
        try:
            if value is not None:
                check(value)
        except RowDeltaError as error:
            raise typer.BadParameter(str(error).replace("\nHint: ", "; ")) from error
        return value

    return callback


def choice_option(choice: Any, help_text: str) -> Any:
    """Declares an option that takes the words of a `Literal`."""
    words = choices.list_words(choice)

    def parse_word(text: str) -> str:
        if text not in words:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(words)}")
        return text

    return typer.Option(help=help_text, metavar=WORD, parser=parse_word)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
Branch = Annotated[str, typer.Option(help="The branch to read or change.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Print what would be done, and change nothing.")]
TableName = Annotated[str, typer.Argument(metavar="TABLE", help="The table: `db.orders`, or `lake.db.orders`.")]
Snapshot = Annotated[int | None, typer.Option(help="The state after this snapshot.")]
Encoding = Annotated[
    choices.Encoding | None,
    typer.Option(
        help="equality-delete-vector, hash-map or full-row: use this encoding or fail.",
        metavar=WORD,
        parser=parse_encoding,
    ),
]
Scope = Annotated[
    choices.Scope, choice_option(choices.Scope, "Where old rows are: `partition` of the new one, `global`, or auto.")
]
ResolveLane = Annotated[
    bool | None,
    typer.Option(
        "--resolve/--no-resolve",
        help="Look up the old rows and delete them by position, or write their keys; by default the table decides.",
    ),
]
KeepNewer = Annotated[
    bool, typer.Option("--keep-newer", help="Ignore changes that are not newer than the row in the table.")
]
Tombstones = Annotated[
    choices.Tombstones | None,
    choice_option(choices.Tombstones, "With --keep-newer: `keep` a row for each deleted key, or `drop` it (default)."),
]
TombstoneColumn = Annotated[
    str | None, typer.Option(help="The boolean column that marks the rows of deleted keys; `is_deleted` by default.")
]
Mode = Annotated[
    choices.Mode | None,
    choice_option(choices.Mode, "merge-on-read or copy-on-write; by default the table's property decides."),
]
Isolation = Annotated[
    choices.Isolation | None,
    choice_option(choices.Isolation, "serializable or snapshot; by default the table's property decides."),
]


def split_names(text: str) -> list[str]:
    """Splits names that are separated by commas.

    Examples:
        >>> split_names("id, region")
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
