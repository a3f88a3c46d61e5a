"""Keeps PySpark and Spark from logging an error that rowdelta raises anyway.

While Spark's loggers are quiet, Iceberg's reader still reports here which files it could not read: its exceptions do
not always name them.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from rowdelta.spark.jvm_packages import get_packages
from rowdelta.spark.versions import SPARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from pyspark.sql import SparkSession

# These log a failing task. The exception that ends the job says the same.
_TASK_LOGGERS: Final = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.util.Utils",
    "org.apache.spark.sql.execution.datasources.v2.DataWritingSparkTask",
    "org.apache.spark.sql.execution.datasources.v2.AppendDataExec",
    "org.apache.spark.sql.execution.datasources.v2.OverwriteByExpressionExec",
    "org.apache.spark.storage.BlockManager",
)
_READER: Final = "org.apache.iceberg.spark.source.BaseReader"
_UNREAD: Final = "Error reading file(s): "


class _CalledByRowdelta(logging.Filter):
    """Drops what PySpark logs about an error in a call from rowdelta, which raises a shorter one."""

    def filter(self, record: logging.LogRecord) -> bool:
        del record
        return not any(_is_ours(frame) for frame, _ in traceback.walk_stack(sys._getframe(1)))


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("rowdelta.")


_FILTER: Final = _CalledByRowdelta()


def quiet_pyspark() -> None:
    """Keeps PySpark from logging SQL errors of calls from rowdelta: it logs 11 KB of JSON before it raises one."""
    for logger in SPARK.get_error_loggers():
        logger.addFilter(_FILTER)


@dataclass(frozen=True)
class _Loggers:
    """Java objects that configure Log4j.

    Attributes:
        context: Log4j's context.
        settings: Its configuration.
        quiet: The configurations of the loggers while they are quiet, by name.
        original: The configurations that some of these loggers had before.
        unread: Where Iceberg's reader writes while it is quiet: files that it could not read, each with the reason.
    """

    context: Any
    settings: Any
    quiet: dict[str, Any]
    original: dict[str, Any]
    unread: Any


_lock = threading.Lock()
_users: Counter[Any] = Counter()  # by JVM: how many operations want quiet loggers
_loggers: dict[Any, _Loggers | None] = {}  # by JVM; None if Spark does not log through Log4j


@contextmanager
def quiet_tasks(spark: SparkSession) -> Iterator[None]:
    """Keeps a local Spark from logging why its tasks fail: the error at the end says it.

    A local Spark ends a job at the first failure of a task. On a cluster a task is tried again, so the log may have
    failures that no error reports: there, the loggers stay as they are.
    """
    if spark._jvm is None or not (spark.sparkContext.master or "").startswith("local"):
        yield
        return
    jvm = get_packages(spark._jvm)
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
    """Makes the loggers quiet, or restores their original configurations; most had none."""
    try:
        if jvm not in _loggers:
            _loggers[jvm] = _find_loggers(jvm)
        loggers = _loggers[jvm]
        if loggers is None:
            return
        if quiet:  # not at the end: an error that is still being translated may be about a file in it
            loggers.unread.getBuffer().setLength(0)
        for name in loggers.quiet if not quiet else loggers.original:
            loggers.settings.removeLogger(name)
        for name, logger in (loggers.quiet if quiet else loggers.original).items():
            loggers.settings.addLogger(name, logger)
        loggers.context.updateLoggers()
    except (PySparkException, Py4JError, OSError):  # the session was stopped meanwhile
        return


def _find_loggers(jvm: Any) -> _Loggers | None:
    log4j = jvm.org.apache.logging.log4j
    quiet: dict[str, Any] = {}
    original: dict[str, Any] = {}
    try:
        context = log4j.LogManager.getContext(False)
        settings = context.getConfiguration()
        configured = settings.getLoggers()
        unread = jvm.java.io.StringWriter()
        pattern = log4j.core.layout.PatternLayout.newBuilder().withPattern("%m\t%ex{short.message}%n").build()
        appender = log4j.core.appender.WriterAppender.createAppender(pattern, None, unread, "rowdelta", False, True)
        appender.start()
        for name in (*_TASK_LOGGERS, _READER):
            level = log4j.Level.ERROR if name == _READER else log4j.Level.OFF
            logger = log4j.core.config.LoggerConfig(name, level, False)
            quiet[name] = logger
            if name == _READER:
                logger.addAppender(appender, level, None)
            if configured.containsKey(name):
                original[name] = configured.get(name)
    except (PySparkException, Py4JError, TypeError):  # Spark does not log through Log4j
        return None
    return _Loggers(context, settings, quiet, original, unread)


def find_unread_file(spark: SparkSession, reasons: Sequence[str]) -> str | None:
    """Finds the file that a task could not read for one of some reasons; None if the reader named none."""
    loggers = None if spark._jvm is None else _loggers.get(get_packages(spark._jvm))
    if loggers is None:
        return None
    for line in reversed(str(loggers.unread).splitlines()):
        file, _, reason = line.partition("\t")
        if file.startswith(_UNREAD) and reason and any(reason in text for text in reasons):
            return file.removeprefix(_UNREAD)
    return None
