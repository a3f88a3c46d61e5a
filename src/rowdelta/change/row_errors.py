"""Refusing what is no DataFrame, or a value in the middle of a Spark job, with an error of ours at the end of it."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

_MARK: Final = "rowdelta:"
_HINT: Final = " :hint "
_END: Final = " :rowdelta"
_SOURCES: Final = {"polars.DataFrame": "its .to_arrow()", "pandas.DataFrame": "it", "pyarrow.Table": "it"}
REQUIRED_HINT: Final = "give it a value: coalesce(..., ...)"


def check_frame(value: object, what: str) -> None:
    """Refuses what is no DataFrame of Spark, such as a list or a frame of pandas."""
    if not isinstance(value, DataFrame):
        kind = type(value)
        library = kind.__module__.partition(".")[0]
        name = kind.__name__ if library == "builtins" else f"{library}.{kind.__name__}"
        raise InputError(
            f"{what} must be a DataFrame of Spark, not {name}",
            hint=f"spark.createDataFrame(...) makes one of {_SOURCES.get(name, 'rows, of pandas or of Arrow')}",
        )


def make_row_error(*message: str | Column, hint: str | None = None) -> Column:
    """An expression that fails with a message, put together from text and values; it may have a hint of its own."""
    end = _END if hint is None else f"{_HINT}{hint}{_END}"
    parts = [
        F.lit(part) if isinstance(part, str) else F.coalesce(part.cast("string"), F.lit("null"))
        for part in (f"{_MARK} ", *message, end)
    ]
    return F.raise_error(F.concat(*parts))


def refuse_null(value: Column, message: str, hint: str | None = None) -> Column:
    """The value, or a refusal where it is null."""
    return F.when(F.isnull(value), make_row_error(message, hint=hint)).otherwise(value)


@contextmanager
def translate_row_errors(hint: str) -> Iterator[None]:
    """Turns the error of a task that met a refused value into an `InputError`."""
    try:
        yield
    except Exception as error:
        found = re.search(rf"{_MARK} (.*?)(?:{_HINT}(.*?))?{_END}", str(error))
        if found is None or not (isinstance(error, PySparkException) or hasattr(error, "java_exception")):
            raise
        raise InputError(found[1], hint=found[2] or hint) from None  # its trace is Java's
