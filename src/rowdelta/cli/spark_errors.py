"""Errors of Spark and Java in a few lines: what went wrong, and why, without plans and stack traces."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from rowdelta.spark import Py4JError, our_error

if TYPE_CHECKING:
    from collections.abc import Iterator

# PySpark logs some errors to stderr as JSON before it raises them.
_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def in_our_words() -> Iterator[None]:
    """What Spark and Java raise becomes an error of ours, in few words; the whole of it stays behind as the cause."""
    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    except (PySparkException, Py4JError) as error:
        raise our_error(error) from error
    finally:
        for logger in loggers:
            logger.disabled = False
