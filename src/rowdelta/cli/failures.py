"""Errors of Spark and Java in a few lines: what went wrong, and why, without plans and stack traces."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from rowdelta.errors import RowDeltaError
from rowdelta.iceberg.spark_errors import short_message

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["short_message", "spark_errors"]

# PySpark logs some errors to stderr as JSON before it raises them.
_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def spark_errors() -> Iterator[None]:
    """Errors of Spark and Java become ours, in few words; the whole of them stays behind as the cause."""
    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    except PySparkException as error:
        raise RowDeltaError(short_message(str(error), getattr(error, "_stackTrace", None) or "")) from error
    except Py4JError as error:
        raise RowDeltaError(short_message(str(error), str(error))) from error
    finally:
        for logger in loggers:
            logger.disabled = False
