"""Kills the servers of a run that cannot stop them itself, because it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache


@cache
def _start() -> subprocess.Popen[str]:
    """Starts this module as a program, which ends when this process ends and closes the pipe, however that happens."""
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, text=True, start_new_session=True)


def watch(group: int) -> None:
    """Makes sure that a process group ends with this process."""
    _say(f"+{group}")


def release(group: int) -> None:
    """Forgets a process group, which has ended."""
    _say(f"-{group}")


def _say(line: str) -> None:
    pipe = _start().stdin
    assert pipe is not None
    pipe.write(f"{line}\n")
    pipe.flush()


def main() -> None:
    """Reads process groups until the pipe ends, and kills those that are left."""
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line.startswith("+"):
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
