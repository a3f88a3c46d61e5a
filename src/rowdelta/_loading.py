"""Ctrl-C while the `rowdelta` command loads its libraries, for a second or two: it ends at once, in one line.

This module comes first of all. Importing it sets the handler, if this process is the command.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

INTERRUPTED = 130


def _end_on_ctrl_c() -> None:
    """Makes Ctrl-C end the process, if this process is the command: nothing has begun yet that could be left undone.

    A program that imports rowdelta keeps its own way of handling signals, and so does a process that ignores them.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if _is_command() and in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def interrupted_line() -> str:
    """What the command says when it is interrupted: JSON where it prints JSON."""
    return '{"error": "Interrupted", "hint": null}\n' if "--json" in sys.argv else "Interrupted\n"


def _is_command() -> bool:
    """Whether Python runs the script `rowdelta`, or `-m rowdelta`."""
    script = sys.argv[0] if sys.argv else ""
    if script == "-m":  # what Python calls a module while it looks for it
        return sys.orig_argv[-len(sys.argv)] == "rowdelta"
    return Path(script).stem == "rowdelta"


def _end(*_: Any) -> None:
    os.write(2, interrupted_line().encode())
    os._exit(INTERRUPTED)


_end_on_ctrl_c()
