"""Translates errors of Spark and Java into short errors of rowdelta."""

from __future__ import annotations

import difflib
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    ParseException,
    PySparkException,
    PySparkTypeError,
    PySparkValueError,
)

from rowdelta.errors import InputError, RowDeltaError, SessionError
from rowdelta.spark.java_errors import read_java_causes
from rowdelta.spark.metadata_columns import METADATA_COLUMNS
from rowdelta.spark.quiet_logs import find_unread_file
from rowdelta.spark.quoting import quote, split_name, unquote
from rowdelta.spark.versions import SPARK, SqlPlace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

_LINES: Final = 12
_WIDTH: Final = 600
# Internals of Spark, which follow the message.
_DETAILS: Final = re.compile(
    r";\n(?=['!\w+ ]).*|\n+(?:JVM stacktrace|Driver stacktrace):.*|\n+=== Streaming Query ===.*|\n+== DataFrame ==.*",
    re.DOTALL,
)
_TASK_PREFIX: Final = re.compile(r"Job aborted due to stage failure: .*?\(TID \d+\)\s*\([^)]*\): ", re.DOTALL)
_PACKAGE: Final = re.compile(r"\b(?:[a-z_][\w$]*\.)+(?=[A-Z][\w$]*(?:Exception|Error)\b)")
_CAUSE: Final = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
# Exceptions that only wrap another one.
_WRAPPER: Final = re.compile(
    r"Exception thrown in awaitResult|Job aborted|Writing job aborted|Task failed|Task \d+ in stage"
    r"|\[STREAM_FAILED\]|\[TASK_WRITE_FAILED\]|\[FAILED_EXECUTE_UDF\]|Multiple failures in stage"
)
_SPARK_EXCEPTION: Final = re.compile(r"Spark\w*Exception")
_SPARK_ERROR: Final = "_spark_error"
_SIMILARITY: Final = 0.75
_HIDDEN_PREFIX: Final = "__rd_"
_SUGGESTIONS: Final = re.compile(r" Did you mean one of the following\? \[(.*?)\]\.")
_WRONG_INPUT: Final = (
    AnalysisException,
    ParseException,
    IllegalArgumentException,
    PySparkTypeError,
    PySparkValueError,
)
_DATA_EXCEPTION: Final = "22"  # the class of SQL states for a value that an expression cannot take


@contextmanager
def translate_errors(spark: SparkSession) -> Iterator[None]:
    """Raises errors of Spark and Java as errors of rowdelta, which keep the original.

    Raises:
        SessionError: The session was stopped.
        InputError: Spark cannot resolve an expression, or an expression fails on a value.
        RowDeltaError: Any other error of Spark or Java.
    """
    check_running(spark)
    try:
        yield
    except RowDeltaError as error:
        if isinstance(error.__cause__, (PySparkException, Py4JError)):
            raise error from None  # the cause would show Java's stack trace
        raise
    except (PySparkException, Py4JError, AttributeError, AssertionError) as error:
        if _is_stopped(spark):
            raise _make_stopped_error() from None
        if isinstance(error, (AttributeError, AssertionError)):
            raise
        error = SPARK.unwrap_error(error)
        translated = translate_spark_error(error, spark)
        setattr(translated, _SPARK_ERROR, error)
        raise translated from None


def get_spark_error(error: RowDeltaError) -> PySparkException | None:
    """Returns the PySpark error that an error was translated from; None if there is none."""
    original = getattr(error, _SPARK_ERROR, None)
    return original if isinstance(original, PySparkException) else None


def get_condition(error: PySparkException) -> str | None:
    """Returns the name that Spark gives to an error, such as `UNRESOLVED_COLUMN.WITH_SUGGESTION`."""
    return SPARK.get_condition(error)


def list_sql_places(error: PySparkException) -> list[SqlPlace]:
    """Lists the places in statements that an error is about."""
    return SPARK.list_sql_places(error)


def read_message(error: PySparkException) -> str | None:
    """Returns the message of an error that came from Java; None for any other."""
    return getattr(error, SPARK.message_attribute, None)


def set_message(error: PySparkException, message: str) -> None:
    """Replaces the message of an error that came from Java."""
    setattr(error, SPARK.message_attribute, message)


def check_running(spark: SparkSession) -> None:
    """Refuses a session that this process has stopped."""
    if spark.sparkContext._jsc is None:
        raise _make_stopped_error()


def _is_stopped(spark: SparkSession) -> bool:
    """Whether the session was stopped, by this process or another, or its JVM has ended."""
    try:
        context: Any = spark.sparkContext._jsc
        return context is None or bool(context.sc().isStopped())
    except (Py4JError, OSError):
        return True


def _make_stopped_error() -> SessionError:
    return SessionError(
        "the Spark session was stopped", hint="start one with rd.session(), and open the table again with rd.table()"
    )


def translate_spark_error(error: Exception, spark: SparkSession | None = None) -> RowDeltaError:
    """Translates an error of Spark or Java; given the session, the message also names a file that cannot be read."""
    error = SPARK.unwrap_error(error)
    condition = SPARK.get_condition(error) if isinstance(error, PySparkException) else None
    if condition is not None and condition.startswith("UNRESOLVED_COLUMN"):
        return _explain_unknown_column(shorten_message(str(error)))
    if condition is not None and condition.startswith("MISSING_ATTRIBUTES"):
        return InputError(
            f"a Column belongs to another DataFrame: {shorten_message(str(error))}",
            hint="name the column instead: F.col('status'), or SQL text",
        )
    if condition == "AMBIGUOUS_REFERENCE":
        return InputError(shorten_message(str(error)), hint="put the alias before the name, as in t.id or s.id")
    if isinstance(error, _WRONG_INPUT):
        return InputError(shorten_message(str(error)))
    if isinstance(error, PySparkException) and (error.getSqlState() or "").startswith(_DATA_EXCEPTION):
        return InputError(shorten_message(str(error)))
    return RowDeltaError(_describe_failure(error, spark))


def _explain_unknown_column(message: str) -> InputError:
    """Turns Spark's suggestions into a hint, without the columns that rowdelta adds to a frame."""
    suggestions = _SUGGESTIONS.search(message)
    names = [] if suggestions is None else suggestions[1].split(", ")
    columns = [_remove_table(name) for name in names if not _is_hidden(name)]
    unresolved = re.search(r"with name (`.*`) cannot", message)
    name = "" if unresolved is None else unresolved[1]
    close = [column for column in columns if _are_similar(name, column)]
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    else:
        nearest = [f"the nearest columns are {', '.join(columns)}"] if columns else []
        quoted = [] if len(split_name(name)) > 1 else [f"text is SQL, where a value is quoted: '{unquote(name)}'"]
        hint = "; ".join([*nearest, *quoted])
    return InputError(_SUGGESTIONS.sub("", message), hint=hint or None)


def _remove_table(name: str) -> str:
    """Removes the table from a column of a table without an alias, which catalog and namespace qualify too."""
    parts = split_name(name)
    return name if len(parts) <= 2 else quote(parts[-1])  # noqa: PLR2004 - an alias and a column


def _are_similar(name: str, other: str) -> bool:
    first, second = (split_name(column)[-1].lower() for column in (name, other))
    return difflib.SequenceMatcher(None, first, second).ratio() > _SIMILARITY


def _is_hidden(name: str) -> bool:
    last = split_name(name)[-1].lower()
    return last.startswith(_HIDDEN_PREFIX) or last in METADATA_COLUMNS


def _describe_failure(error: Exception, spark: SparkSession | None) -> str:
    """Names the first exception that is more than a wrapper, and the root cause."""
    chain = list(read_java_causes(error))
    causes = [(name, text) for name, text in chain if text and not _WRAPPER.match(text)]
    if not causes:
        return shorten_message(str(error), getattr(error, SPARK.trace_attribute, None) or str(error))
    (name, text), (root, reason) = causes[0], causes[-1]
    message = f"a Spark job failed: {name}: {text}" if _is_from_job(chain) else f"{name}: {text}"
    file = None if spark is None else find_unread_file(spark, [text for _, text in causes])
    if file is not None and file not in message:
        message = f"cannot read {file}: {name}: {text}"
    return shorten_message(message if reason in text else f"{message}\nbecause of {root}: {reason}")


def _is_from_job(chain: Sequence[tuple[str, str]]) -> bool:
    """Whether exceptions come from a job; a catalog or a file system can fail without one."""
    return any(_SPARK_EXCEPTION.fullmatch(name) or "Job aborted" in text for name, text in chain)


def shorten_message(text: str, trace: str = "") -> str:
    r"""Shortens the message of an error, and adds the last cause of a Java stack trace.

    Examples:
        >>> print(shorten_message("An error occurred while calling o1.load.\n: java.io.IOException: no\n\tat a.B(B:1)"))
        IOException: no
    """
    text = re.sub(r"^An error occurred while calling [^\n]*\n:? ?", "", text.strip())
    message = _TASK_PREFIX.sub("", _DETAILS.sub("", text)).splitlines()
    lines = [line.rstrip() for line in message if not re.match(r"\s+at |\s+\.\.\. \d+ |Caused by: |Trace:$", line)]
    causes = [cause for cause in _CAUSE.findall(trace) if not any(_remove_class(cause) in line for line in lines)]
    shortened = [line for line in lines if line.strip()][:_LINES]
    if causes:
        shortened.append(f"because of {causes[-1]}")
    return "\n".join(_truncate(_PACKAGE.sub("", line)) for line in shortened) or "Spark failed without a message"


def _remove_class(cause: str) -> str:
    """Removes the class of an exception from its text."""
    return _TASK_PREFIX.sub("", cause).partition(": ")[2] or cause


def _truncate(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]} ..."
