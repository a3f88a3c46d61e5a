"""Refusing a value in the middle of a Spark job, with an error of ours at the end of it."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from rowdelta.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

_MARK: Final = "rowdelta:"
_HINT: Final = " :hint "
_END: Final = " :rowdelta"
REQUIRED_HINT: Final = "give it a value: coalesce(..., ...)"


def refusal(*message: str | Column, hint: str | None = None) -> Column:
    """An expression that fails with a message, put together from text and values; it may have a hint of its own."""
    parts = [F.lit(part) if isinstance(part, str) else part.cast("string") for part in message]
    known = [F.coalesce(part, F.lit("null")) for part in parts]
    end = _END if hint is None else f"{_HINT}{hint}{_END}"
    return F.raise_error(F.concat(F.lit(f"{_MARK} "), *known, F.lit(end)))


def not_null(value: Column, message: str, hint: str | None = None) -> Column:
    """The value, or a refusal where it is null."""
    return F.when(value.isNull(), refusal(message, hint=hint)).otherwise(value)


@contextmanager
def refusals(hint: str) -> Iterator[None]:
    """Turns the error of a task that met a refused value into an `InputError`."""
    try:
        yield
    except Exception as error:
        found = re.search(rf"{_MARK} (.*?)(?:{_HINT}(.*?))?{_END}", str(error))
        if found is None or not (isinstance(error, PySparkException) or hasattr(error, "java_exception")):
            raise
        raise InputError(found[1], hint=found[2] or hint) from error
