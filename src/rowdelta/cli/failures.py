"""Errors of Spark and Java in a few lines: what went wrong, and why, without plans and stack traces."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from rowdelta.errors import RowDeltaError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINES: Final = 12
_WIDTH: Final = 600
# What follows one of these is for those who look for a bug in Spark.
_REST: Final = re.compile(
    r";\n(?=['\w+ ]).*|\n+(?:JVM stacktrace|Driver stacktrace):.*|\n+=== Streaming Query ===.*|\n+== DataFrame ==.*",
    re.DOTALL,
)
_TASK: Final = re.compile(r"Job aborted due to stage failure: .*?\(TID \d+\)\s*\([^)]*\): ", re.DOTALL)
_PACKAGE: Final = re.compile(r"\b(?:[a-z_][\w$]*\.)+(?=[A-Z][\w$]*(?:Exception|Error)\b)")
_CAUSE: Final = re.compile(r"^Caused by: (.*)$", re.MULTILINE)


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


def short_message(text: str, trace: str = "") -> str:
    r"""The message of an error, and the last of its causes in a Java stack trace.

    Examples:
        >>> print(short_message("An error occurred while calling o1.load.\n: java.io.IOException: no\n\tat a.B(B:1)"))
        IOException: no
    """
    text = re.sub(r"^An error occurred while calling [^\n]*\n:? ?", "", text.strip())
    kept = _TASK.sub("", _REST.sub("", text)).splitlines()
    lines = [line.rstrip() for line in kept if not re.match(r"\s+at |\s+\.\.\. \d+ |Caused by: |Trace:$", line)]
    causes = [cause for cause in _CAUSE.findall(trace) if not any(_words(cause) in line for line in lines)]
    message = [line for line in lines if line.strip()][:_LINES]
    if causes:
        message.append(f"because of {causes[-1]}")
    return "\n".join(_cut(_PACKAGE.sub("", line)) for line in message) or "Spark failed without a message"


def _words(cause: str) -> str:
    """What a cause says, without the name of its class."""
    return _TASK.sub("", cause).partition(": ")[2] or cause


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]} ..."
