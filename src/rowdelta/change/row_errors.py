"""Refuses values in the middle of a Spark job: the job fails, and its error becomes an `InputError`."""

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
    """Refuses anything but a Spark DataFrame, such as a list or a pandas frame."""
    if not isinstance(value, DataFrame):
        given = type(value)
        library = given.__module__.partition(".")[0]
        name = given.__name__ if library == "builtins" else f"{library}.{given.__name__}"
        raise InputError(
            f"{what} must be a DataFrame of Spark, not {name}",
            hint=f"spark.createDataFrame(...) makes one of {_SOURCES.get(name, 'rows, of pandas or of Arrow')}",
        )


def make_row_error(*message: str | Column, hint: str | None = None) -> Column:
    """Makes an expression that fails with a message of texts and values, and with its own hint, if given."""
    end = _END if hint is None else f"{_HINT}{hint}{_END}"
    parts = [
        F.lit(part) if isinstance(part, str) else F.coalesce(part.cast("string"), F.lit("null"))
        for part in (f"{_MARK} ", *message, end)
    ]
    return F.raise_error(F.concat(*parts))


def refuse_null(value: Column, message: str, hint: str | None = None) -> Column:
    """Makes an expression that fails if a value is null."""
    return F.when(F.isnull(value), make_row_error(message, hint=hint)).otherwise(value)


@contextmanager
def translate_row_errors(hint: str) -> Iterator[None]:
    """Turns the error of a job that failed at a refused value into an `InputError`."""
    try:
        yield
    except Exception as error:
        match = re.search(rf"{_MARK} (.*?)(?:{_HINT}(.*?))?{_END}", str(error))
        if match is None or not (isinstance(error, PySparkException) or hasattr(error, "java_exception")):
            raise
        raise InputError(match[1], hint=match[2] or hint) from None  # the trace is Java's
