"""What Spark and Java say when something fails, in a few words of our own."""

from __future__ import annotations

import difflib
import logging
import re
import sys
import threading
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
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
from pyspark.logger import PySparkLogger

from rowdelta.errors import InputError, RowDeltaError, SessionError
from rowdelta.spark.java_errors import java_causes
from rowdelta.spark.jvm_packages import known_packages
from rowdelta.spark.metadata_columns import METADATA_COLUMNS
from rowdelta.spark.quoting import quote, split_name, unquote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from pyspark.sql import SparkSession

_LINES: Final = 12
_WIDTH: Final = 600
# What follows one of these is for those who look for a bug in Spark.
_REST: Final = re.compile(
    r";\n(?=['!\w+ ]).*|\n+(?:JVM stacktrace|Driver stacktrace):.*|\n+=== Streaming Query ===.*|\n+== DataFrame ==.*",
    re.DOTALL,
)
_TASK: Final = re.compile(r"Job aborted due to stage failure: .*?\(TID \d+\)\s*\([^)]*\): ", re.DOTALL)
_PACKAGE: Final = re.compile(r"\b(?:[a-z_][\w$]*\.)+(?=[A-Z][\w$]*(?:Exception|Error)\b)")
_CAUSE: Final = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
# Exceptions that only say that there was another one.
_WRAPPER: Final = re.compile(
    r"Exception thrown in awaitResult|Job aborted|Writing job aborted|Task failed|Task \d+ in stage"
    r"|\[STREAM_FAILED\]|\[TASK_WRITE_FAILED\]|\[FAILED_EXECUTE_UDF\]|Multiple failures in stage"
)
_OF_SPARK: Final = re.compile(r"Spark\w*Exception")
_ORIGINAL: Final = "_spark_error"
_ALIKE: Final = 0.75
_OURS: Final = "__rd_"
_SUGGESTIONS: Final = re.compile(r" Did you mean one of the following\? \[(.*?)\]\.")
_WRONG_INPUT: Final = (
    AnalysisException,
    ParseException,
    IllegalArgumentException,
    PySparkTypeError,
    PySparkValueError,
)
_BAD_VALUE: Final = "22"  # the class of SQL states for data that an expression cannot take
# What a failing task makes Spark and Iceberg print. The exception at its end says the same.
_LOGGERS_OF_TASKS: Final = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.util.Utils",
    "org.apache.spark.sql.execution.datasources.v2.DataWritingSparkTask",
    "org.apache.spark.sql.execution.datasources.v2.AppendDataExec",
    "org.apache.spark.sql.execution.datasources.v2.OverwriteByExpressionExec",
    "org.apache.spark.storage.BlockManager",
)
# Iceberg logs which file it could not read, and does not always say so in its exception.
_READER: Final = "org.apache.iceberg.spark.source.BaseReader"
_UNREAD: Final = "Error reading file(s): "


@contextmanager
def translate_errors(spark: SparkSession) -> Iterator[None]:
    """Errors of Spark and Java become ours; the whole of them stays behind as the context of ours.

    Raises:
        SessionError: The session was stopped.
        InputError: An expression that Spark cannot understand, or a value that it fails on.
        RowDeltaError: Anything else that Spark says.
    """
    check_running(spark)
    try:
        yield
    except RowDeltaError as error:
        if isinstance(error.__cause__, (PySparkException, Py4JError)):
            raise error from None  # its trace is Java's
        raise
    except (PySparkException, Py4JError, AttributeError, AssertionError) as error:
        if _is_stopped(spark):
            raise _stopped() from None
        if isinstance(error, (AttributeError, AssertionError)):
            raise
        ours = our_error(error, spark)
        setattr(ours, _ORIGINAL, error)
        raise ours from None


def spark_error_of(error: RowDeltaError) -> PySparkException | None:
    """What Spark said, where an error of ours says the same in fewer words."""
    found = getattr(error, _ORIGINAL, None)
    return found if isinstance(found, PySparkException) else None


def check_running(spark: SparkSession) -> None:
    """Refuses a session that was stopped in this process."""
    if spark.sparkContext._jsc is None:
        raise _stopped()


def _is_stopped(spark: SparkSession) -> bool:
    """Whether the session has ended, also where somebody else has ended it, or its JVM."""
    try:
        context: Any = spark.sparkContext._jsc
        return context is None or bool(context.sc().isStopped())
    except (Py4JError, OSError):
        return True


def _stopped() -> SessionError:
    return SessionError(
        "the Spark session was stopped", hint="start one with rd.session(), and open the table again with rd.table()"
    )


def our_error(error: Exception, spark: SparkSession | None = None) -> RowDeltaError:
    """An error of Spark or Java in our words; with the session, also the file that could not be read."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if condition is not None and condition.startswith("UNRESOLVED_COLUMN"):
        return _unknown_column(short_message(str(error)))
    if condition is not None and condition.startswith("MISSING_ATTRIBUTES"):
        return InputError(
            f"a Column belongs to another DataFrame: {short_message(str(error))}",
            hint="name the column instead: F.col('status'), or SQL text",
        )
    if condition == "AMBIGUOUS_REFERENCE":
        return InputError(short_message(str(error)), hint="put the alias before the name, as in t.id or s.id")
    if isinstance(error, _WRONG_INPUT):
        return InputError(short_message(str(error)))
    if isinstance(error, PySparkException) and (error.getSqlState() or "").startswith(_BAD_VALUE):
        return InputError(short_message(str(error)))
    return RowDeltaError(_job_message(error, spark))


def _unknown_column(message: str) -> InputError:
    """Spark suggests what it finds in the frame, which has columns that no one knows of."""
    found = _SUGGESTIONS.search(message)
    offered = [] if found is None else [_without_table(name) for name in found[1].split(", ") if not _is_hidden(name)]
    wanted = re.search(r"with name (`.*`) cannot", message)
    name = "" if wanted is None else wanted[1]
    close = [other for other in offered if _are_alike(name, other)]
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    else:
        nearest = [f"the nearest columns are {', '.join(offered)}"] if offered else []
        quoted = [] if len(split_name(name)) > 1 else [f"text is SQL, where a value is quoted: '{unquote(name)}'"]
        hint = "; ".join([*nearest, *quoted])
    return InputError(_SUGGESTIONS.sub("", message), hint=hint or None)


def _without_table(name: str) -> str:
    """The column alone, if catalog, namespace and table qualify it: the table has no alias."""
    parts = split_name(name)
    return name if len(parts) <= 2 else quote(parts[-1])  # noqa: PLR2004 - an alias and a column


def _are_alike(name: str, other: str) -> bool:
    first, second = (split_name(column)[-1].lower() for column in (name, other))
    return difflib.SequenceMatcher(None, first, second).ratio() > _ALIKE


def _is_hidden(name: str) -> bool:
    last = split_name(name)[-1].lower()
    return last.startswith(_OURS) or last in METADATA_COLUMNS


def _job_message(error: Exception, spark: SparkSession | None) -> str:
    """What a job failed on: the first exception that says more than that there was another, and the one below all."""
    chain = list(java_causes(error))
    causes = [(kind, text) for kind, text in chain if text and not _WRAPPER.match(text)]
    if not causes:
        return short_message(str(error), getattr(error, "_stackTrace", None) or str(error))
    (kind, text), (root, reason) = causes[0], causes[-1]
    told = f"a Spark job failed: {kind}: {text}" if _is_of_job(chain) else f"{kind}: {text}"
    file = _unread_file(spark, [text for _, text in causes])
    if file is not None and file not in told:
        told = f"cannot read {file}: {kind}: {text}"
    return short_message(told if reason in text else f"{told}\nbecause of {root}: {reason}")


def _is_of_job(chain: Sequence[tuple[str, str]]) -> bool:
    """Whether exceptions come from a job; a catalog or a file system fails without one."""
    return any(_OF_SPARK.fullmatch(kind) or "Job aborted" in text for kind, text in chain)


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


class _NotOurs(logging.Filter):
    """Keeps quiet what PySpark logs of an error that comes to us: it is raised again, in fewer words."""

    def filter(self, record: logging.LogRecord) -> bool:
        del record
        return not any(_is_ours(frame) for frame, _ in traceback.walk_stack(sys._getframe(1)))


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("rowdelta.")


_FILTER: Final = _NotOurs()


def quiet_pyspark() -> None:
    """PySpark logs an error of SQL, 11 KB of JSON, before it raises it; not where it is raised to rowdelta."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).addFilter(_FILTER)


@dataclass(frozen=True)
class _Loggers:
    """What Log4j is told, as Java has it.

    Attributes:
        context: Log4j itself.
        settings: Its settings.
        quiet: Loggers by name that say nothing, and the one of Iceberg's reader, which is heard here alone.
        before: The loggers of these names that had settings of their own.
        unread: What the reader has said since somebody first wanted it quiet: the files that could not be read, each
            with the reason.
    """

    context: Any
    settings: Any
    quiet: dict[str, Any]
    before: dict[str, Any]
    unread: Any


_lock = threading.Lock()
_users: Counter[Any] = Counter()  # by JVM: how many operations want it quiet
_loggers: dict[Any, _Loggers | None] = {}  # by JVM; None where another library than Log4j does the logging


@contextmanager
def quiet_tasks(spark: SparkSession) -> Iterator[None]:
    """Keeps Spark from logging what a task of ours fails on, since the error at the end says it.

    That is for a local Spark, where the first failure of a task ends its job. On a cluster the log has failures that no
    error tells of.
    """
    if spark._jvm is None or not (spark.sparkContext.master or "").startswith("local"):
        yield
        return
    jvm = known_packages(spark._jvm)
    with _lock:
        _users[jvm] += 1
        if _users[jvm] == 1:
            _set_quiet(jvm, quiet=True)
    try:
        yield
    finally:
        with _lock:
            _users[jvm] -= 1
            if not _users[jvm]:
                _set_quiet(jvm, quiet=False)


def _set_quiet(jvm: Any, *, quiet: bool) -> None:
    """Quiets the loggers, or gives them back the settings of before the first time: most had none."""
    try:
        if jvm not in _loggers:
            _loggers[jvm] = _find_loggers(jvm)
        found = _loggers[jvm]
        if found is None:
            return
        if quiet:  # not at the end: an error that is being told may be about a file in it
            found.unread.getBuffer().setLength(0)
        for name in found.quiet if not quiet else found.before:
            found.settings.removeLogger(name)
        for name, logger in (found.quiet if quiet else found.before).items():
            found.settings.addLogger(name, logger)
        found.context.updateLoggers()
    except (PySparkException, Py4JError, OSError):  # the session was stopped meanwhile
        return


def _find_loggers(jvm: Any) -> _Loggers | None:
    log4j = jvm.org.apache.logging.log4j
    quiet: dict[str, Any] = {}
    before: dict[str, Any] = {}
    try:
        context = log4j.LogManager.getContext(False)
        settings = context.getConfiguration()
        configured = settings.getLoggers()
        unread = jvm.java.io.StringWriter()
        pattern = log4j.core.layout.PatternLayout.newBuilder().withPattern("%m\t%ex{short.message}%n").build()
        notes = log4j.core.appender.WriterAppender.createAppender(pattern, None, unread, "rowdelta", False, True)
        notes.start()
        for name in (*_LOGGERS_OF_TASKS, _READER):
            level = log4j.Level.ERROR if name == _READER else log4j.Level.OFF
            logger = log4j.core.config.LoggerConfig(name, level, False)
            quiet[name] = logger
            if name == _READER:
                logger.addAppender(notes, level, None)
            if configured.containsKey(name):
                before[name] = configured.get(name)
    except (PySparkException, Py4JError, TypeError):  # another library than Log4j does the logging
        return None
    return _Loggers(context, settings, quiet, before, unread)


def _unread_file(spark: SparkSession | None, reasons: Sequence[str]) -> str | None:
    """The file that a task could not read for one of some reasons, where that is known."""
    found = None if spark is None or spark._jvm is None else _loggers.get(known_packages(spark._jvm))
    if found is None:
        return None
    for line in reversed(str(found.unread).splitlines()):
        file, _, reason = line.partition("\t")
        if file.startswith(_UNREAD) and reason and any(reason in text for text in reasons):
            return file.removeprefix(_UNREAD)
    return None
