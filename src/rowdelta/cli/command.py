"""What all commands share: the options for catalogs, short errors, and `--debug` for long ones."""

from __future__ import annotations

import functools
import inspect
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from rowdelta.cli.catalog_options import read_place

if TYPE_CHECKING:
    from collections.abc import Callable

DEBUG: Final = typer.Option("--debug", help="Show the whole traceback of an error.")
_PANEL: Final = "Catalog"
_PLACE: Final[dict[str, Any]] = {
    "warehouse": Annotated[
        Path | None,
        typer.Option(
            "--warehouse",
            rich_help_panel=_PANEL,
            help="The folder of a hadoop-type catalog, which is called `lake`.",
        ),
    ],
    "catalog_config": Annotated[
        Path | None,
        typer.Option(
            "--catalog-config",
            rich_help_panel=_PANEL,
            exists=True,
            dir_okay=False,
            readable=True,
            help="Spark settings of any catalog: lines of `key=value`, or a .yaml or .json file.",
        ),
    ],
    "conf": Annotated[
        list[str] | None,
        typer.Option(
            "--conf", metavar="KEY=VALUE", rich_help_panel=_PANEL, help="A Spark setting; repeat it for more."
        ),
    ],
}


def with_common_options(function: Callable[..., Any]) -> Callable[..., None]:
    """Adds `--debug` to a command, and the catalog options if it has a parameter `place`, to which they are passed."""
    signature = inspect.signature(function, eval_str=True)
    has_place = "place" in signature.parameters

    @functools.wraps(function)
    def command(context: typer.Context, **values: Any) -> None:
        debug = values.pop("debug") or context.find_root().params.get("debug", False)
        try:
            if has_place:
                warehouse, catalog_config, conf = (values.pop(name) for name in _PLACE)
                values["place"] = read_place(warehouse, catalog_config, conf or [])
            _run(function, values)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as error:
            if not debug:
                raise
            _show_origins(error)
            traceback.print_exc()
            raise typer.Exit(1) from None

    own = [parameter for name, parameter in signature.parameters.items() if name != "place"]
    added = {**(_PLACE if has_place else {}), "debug": Annotated[bool, DEBUG]}
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("context", keyword, annotation=typer.Context),
        *(parameter.replace(kind=keyword) for parameter in own),
        *(inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in added.items()),
    ]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _show_origins(error: BaseException | None) -> None:
    """Lets a traceback also show the errors of Spark and Java that ours were made from."""
    while error is not None:
        error.__suppress_context__ = False
        error = error.__cause__ or error.__context__


def _run(function: Callable[..., Any], values: dict[str, Any]) -> None:
    """Runs a command; what Spark and Java raise becomes a short error, with the original as its cause."""
    from pyspark.errors import PySparkException

    from rowdelta.spark import Py4JError, quiet_pyspark, translate_spark_error

    quiet_pyspark()
    try:
        function(**values)
    except (PySparkException, Py4JError) as error:
        raise translate_spark_error(error) from error
