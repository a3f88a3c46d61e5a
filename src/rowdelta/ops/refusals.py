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
_END: Final = " :rowdelta"
REQUIRED_HINT: Final = "give it a value: coalesce(..., ...)"


def not_null(value: Column, message: str) -> Column:
    """The value, or a refusal where it is null."""
    refusal = F.raise_error(F.lit(f"{_MARK} {message}{_END}"))
    return F.when(value.isNull(), refusal).otherwise(value)


@contextmanager
def refusals(hint: str) -> Iterator[None]:
    """Turns the error of a task that met a refused value into an `InputError`."""
    try:
        yield
    except Exception as error:
        found = re.search(rf"{_MARK} (.*?){_END}", str(error))
        if found is None or not (isinstance(error, PySparkException) or hasattr(error, "java_exception")):
            raise
        raise InputError(found[1], hint=hint) from error
