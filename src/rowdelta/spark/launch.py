"""Starts a local Spark in a new JVM, without its startup output, and ends that JVM."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from rowdelta.errors import SessionError
from rowdelta.spark.versions import RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from py4j.java_gateway import JavaGateway

_END_SECONDS = 5.0
_launched: list[subprocess.Popen[bytes]] = []  # the JVM of this process, even if it is still starting


def find_running_context() -> SparkContext | None:
    """Returns the Spark that runs in this process; None if there is none, which `getOrCreate` would start."""
    return SparkContext._active_spark_context


def launch_spark(settings: dict[str, str]) -> SparkSession:
    """Starts a new JVM, and Spark in it.

    Raises:
        SessionError: Spark does not start.
    """
    # spark.log.level takes effect only after the startup; this silences the startup. A URI has no spaces to quote.
    log4j_file = Path(__file__).parent.with_name("log4j2.properties").as_uri()
    settings.setdefault("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log4j_file}")
    _end_stopped_jvm()
    conf = SparkConf(loadDefaults=True).setAll(list(settings.items()))
    if not conf.contains("spark.sql.warehouse.dir"):  # Spark creates it for its own tables; few sessions have any
        remove_at_exit_if_empty(Path("spark-warehouse").absolute())
    output = _StartupOutput()
    # In a separate process session, Ctrl-C does not reach the processes that start the JVM, and one signal ends them.
    options = {"stderr": output.write_end, "start_new_session": True}
    try:
        with _record_process():
            gateway: JavaGateway = launch_gateway(conf, options)  # type: ignore[no-untyped-call]
    except (PySparkException, OSError) as error:
        output.close_write_end()
        raise SessionError(
            f"Spark did not start: {error}\n{output.text()}".rstrip(),
            hint=f"Spark {RELEASE.name} needs a JDK {RELEASE.java} (JAVA_HOME), and network access the first time to "
            "load its packages",
        ) from error
    except BaseException:  # an interrupt
        end_jvm()
        raise
    output.close_write_end()
    try:
        spark = SparkSession(SparkContext(conf=_remove_jars(conf), gateway=gateway))
    except Py4JJavaError as error:
        raise SessionError(
            f"Spark did not start: {error.java_exception.getMessage()}", hint="is one of the settings in config wrong?"
        ) from error
    output.pass_on()
    return spark


def _remove_jars(conf: SparkConf) -> SparkConf:
    """Copies a configuration without `spark.jars`.

    The JVM has added the jars of `spark.jars.packages` to its own list. PySpark would replace this list with the
    setting, and executors of a cluster would not get the packages.
    """
    return SparkConf(loadDefaults=False).setAll([(key, value) for key, value in conf.getAll() if key != "spark.jars"])


def remove_at_exit_if_empty(folder: Path) -> None:
    """Removes a folder at the end of the process if it does not exist yet and is empty by then."""

    def remove() -> None:
        with suppress(OSError):  # it does not exist, or is not empty
            folder.rmdir()

    if not folder.exists():
        atexit.register(remove)


@contextmanager
def _record_process() -> Iterator[None]:
    """Records the process as soon as PySpark starts it: PySpark returns it only when the JVM is ready."""
    original: Any = vars(java_gateway)["Popen"]

    class RecordedPopen(original):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            _launched[:] = [self]
            super().__init__(*arguments, **options)

    vars(java_gateway)["Popen"] = RecordedPopen
    try:
        yield
    finally:
        vars(java_gateway)["Popen"] = original


def end_jvm() -> None:
    """Ends the JVM of this process, even if it is still starting; Spark cannot be used afterwards."""
    _end_processes(at_once=False)
    for process in _launched:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
    kill_jvm()


def kill_jvm() -> None:
    """Kills the JVM of this process without waiting."""
    _end_processes(at_once=True)


def _end_processes(*, at_once: bool) -> None:
    for process in _launched:
        with suppress(OSError, AttributeError):  # it has ended, or has not started
            if sys.platform == "win32":  # Windows has no process groups, and no signals that kill
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL if at_once else signal.SIGTERM)


def _end_stopped_jvm() -> None:
    """Ends the JVM of a stopped Spark: PySpark would reuse it, with its old packages and memory."""
    gateway: Any = SparkContext._gateway  # PySpark has no other way to release a JVM
    if gateway is None or "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has one JVM for the whole run
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    SparkContext._gateway = SparkContext._jvm = None


class _StartupOutput:
    """Holds back what the JVM prints while it starts, for an error message; passes on what it prints later."""

    def __init__(self) -> None:
        read_end, self.write_end = os.pipe()
        self._lines: list[str] = []
        self._starting = True
        self._thread = threading.Thread(
            target=self._read_lines, args=(os.fdopen(read_end, errors="replace"),), daemon=True
        )
        self._thread.start()

    def close_write_end(self) -> None:
        os.close(self.write_end)

    def pass_on(self) -> None:
        self._starting = False
        self._lines.clear()

    def text(self) -> str:
        """Returns the last lines of a JVM that has ended, without stack frames."""
        self._thread.join(timeout=5)
        return "".join([line for line in self._lines if not line.startswith("\tat ")][-20:])

    def _read_lines(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if self._starting:
                    self._lines.append(line)
                else:
                    sys.stderr.write(line)
