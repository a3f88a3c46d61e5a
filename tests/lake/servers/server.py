"""A server in a process of its own, on a free port of this machine only."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from tests.lake.servers import watchdog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

HOST: Final = "127.0.0.1"
_START_SECONDS: Final = 90.0
_STOP_SECONDS: Final = 10.0
_LOG_CHARACTERS: Final = 4000


class MissingError(Exception):
    """A component that this machine does not have; the tests that need it are skipped.

    Attributes:
        reason: What is missing.
        command: The command that gets it.
    """

    def __init__(self, reason: str, command: str) -> None:
        super().__init__(f"{reason}; to get it: {command}")
        self.reason = reason
        self.command = command


def find_free_port() -> int:
    """Finds a port that no process uses."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """A server that is started and stopped once. It leads a process group, which ends with it.

    Attributes:
        name: The name of its log.
        command: The program and its arguments.
        folder: Where its log is.
        port: The port that it listens on; 0 if it listens on none that a test knows.
        options: Options of `subprocess.Popen`, such as `user`.
        ending: The signal that ends it.
    """

    name: str
    command: Sequence[str]
    folder: Path
    port: int = 0
    env: Mapping[str, str] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    ending: signal.Signals = signal.SIGTERM
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The file with everything that the server prints."""
        return self.folder / f"{self.name}.log"

    def start(self) -> None:
        """Starts the process, and does not wait for the server."""
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=None if self.env is None else dict(self.env),
                start_new_session=True,
                **self.options,
            )
        watchdog.watch(self.process.pid)

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Waits until the server answers.

        Raises:
            RuntimeError: It has ended, or does not answer in time.
        """
        assert self.process is not None
        end = time.monotonic() + _START_SECONDS
        while not is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.name} did not start:\n{self.log.read_text()[-_LOG_CHARACTERS:]}")
            time.sleep(0.1)

    def wait_for_port(self) -> None:
        """Waits until the server listens on its port."""
        self.wait_until(self._is_listening)

    def wait_for_log(self, text: str) -> None:
        """Waits until the server has printed a text."""
        self.wait_until(lambda: text in self.log.read_text(errors="replace"))

    def _is_listening(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((HOST, self.port)) == 0

    def stop(self) -> None:
        """Ends the processes of the group, and kills those that do not end."""
        if self.process is None:
            return
        for number in (self.ending, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_STOP_SECONDS)
        watchdog.release(self.process.pid)


class Service(Protocol):
    """Something that a server offers, such as a catalog."""

    server: Server

    def wait(self) -> None:
        """Waits until it can be used."""
