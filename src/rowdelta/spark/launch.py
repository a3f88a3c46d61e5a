"""Starting the JVM of a local Spark quietly, and ending it."""

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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from py4j.java_gateway import JavaGateway

_END_SECONDS = 5.0
_launched: list[subprocess.Popen[bytes]] = []  # the JVM of this process, also one that is only starting


def launch_spark(settings: dict[str, str]) -> SparkSession:
    """Starts a JVM of its own, and Spark in it.

    Raises:
        SessionError: Spark does not start.
    """
    # spark.log.level takes effect after start-up only; this silences the start itself. An URI has no spaces to quote.
    quiet = Path(__file__).parent.with_name("log4j2.properties").as_uri()
    settings.setdefault("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet}")
    _end_stopped_jvm()
    conf = SparkConf(loadDefaults=True).setAll(list(settings.items()))
    if not conf.contains(
        "spark.sql.warehouse.dir"
    ):  # Spark makes a folder for tables of its own; few sessions have any
        remove_if_empty(Path("spark-warehouse").absolute())
    output = _StartupOutput()
    # A session of its own keeps Ctrl-C from all processes that start the JVM, and lets them be ended together.
    options = {"stderr": output.write_end, "start_new_session": True}
    try:
        with _noted_launch():
            gateway: JavaGateway = launch_gateway(conf, options)  # type: ignore[no-untyped-call]
    except (PySparkException, OSError) as error:
        output.close_write_end()
        raise SessionError(
            f"Spark did not start: {error}\n{output.text()}".rstrip(),
            hint="Spark 4.1 needs a JDK 17 or 21 (JAVA_HOME), and network access the first time to load its packages",
        ) from error
    except BaseException:  # an interrupt
        end_jvm()
        raise
    output.close_write_end()
    try:
        spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Py4JJavaError as error:
        raise SessionError(
            f"Spark did not start: {error.java_exception.getMessage()}", hint="is one of the settings in config wrong?"
        ) from error
    output.pass_on()
    return spark


def remove_if_empty(folder: Path) -> None:
    """Removes a folder at the end of the process, where it is not there yet and stays empty."""

    def remove() -> None:
        with suppress(OSError):  # it is not there, or not empty
            folder.rmdir()

    if not folder.exists():
        atexit.register(remove)


@contextmanager
def _noted_launch() -> Iterator[None]:
    """Notes down the process that PySpark starts, from its first moment on: PySpark itself tells when all is done."""
    plain: Any = vars(java_gateway)["Popen"]

    class Noted(plain):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            _launched[:] = [self]
            super().__init__(*arguments, **options)

    vars(java_gateway)["Popen"] = Noted
    try:
        yield
    finally:
        vars(java_gateway)["Popen"] = plain


def end_jvm() -> None:
    """Ends the JVM that was started here, with all that it may still be starting; Spark cannot be used after that."""
    _end_processes(at_once=False)
    for process in _launched:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
    kill_jvm()


def kill_jvm() -> None:
    """Ends it without waiting for anything."""
    _end_processes(at_once=True)


def _end_processes(*, at_once: bool) -> None:
    for process in _launched:
        with suppress(OSError, AttributeError):  # it has ended, or has not begun
            if sys.platform == "win32":  # it has no groups of processes, and no signals that kill
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL if at_once else signal.SIGTERM)


def _end_stopped_jvm() -> None:
    """Ends the JVM that a stopped Spark left behind: PySpark would use it again, with its old packages and memory."""
    gateway: Any = SparkContext._gateway  # PySpark has no other way to let go of a JVM
    if gateway is None or "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has one JVM for the whole run
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    SparkContext._gateway = SparkContext._jvm = None


class _StartupOutput:
    """What the JVM prints while it starts: kept for an error message instead of shown; passed on afterwards."""

    def __init__(self) -> None:
        read_end, self.write_end = os.pipe()
        self._lines: list[str] = []
        self._quiet = True
        self._thread = threading.Thread(target=self._pump, args=(os.fdopen(read_end, errors="replace"),), daemon=True)
        self._thread.start()

    def close_write_end(self) -> None:
        os.close(self.write_end)

    def pass_on(self) -> None:
        self._quiet = False
        self._lines.clear()

    def text(self) -> str:
        """The last lines, once the JVM has ended, without Java's stack frames."""
        self._thread.join(timeout=5)
        return "".join([line for line in self._lines if not line.startswith("\tat ")][-20:])

    def _pump(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if self._quiet:
                    self._lines.append(line)
                else:
                    sys.stderr.write(line)
