"""Ends the `rowdelta` command at once, with one line, on Ctrl-C while it loads its libraries for a second or two.

The package imports this module before any other. The import sets the handler if this process is the command.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

INTERRUPTED_EXIT_CODE = 130


def _end_on_ctrl_c() -> None:
    """Makes Ctrl-C end the process if it is the command, which has not begun any work yet.

    A program that imports rowdelta keeps its own signal handler, and a process that ignores signals still does.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if _is_command() and in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def format_interrupted_line() -> str:
    """Returns what the command prints when it is interrupted: JSON if it prints JSON."""
    return '{"error": "Interrupted", "hint": null}\n' if "--json" in sys.argv else "Interrupted\n"


def _is_command() -> bool:
    """Whether Python runs the script `rowdelta`, or `-m rowdelta`."""
    script = sys.argv[0] if sys.argv else ""
    if script == "-m":  # Python's name for a module while it looks for it
        return sys.orig_argv[-len(sys.argv)] == "rowdelta"
    return Path(script).stem == "rowdelta"


def ignore_late_interrupts() -> None:
    """Ignores Ctrl-C after the command has done its work. Otherwise Python would die of it while it ends.

    A program that called the command keeps its own handler.
    """
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(*_: Any) -> None:
    os.write(2, format_interrupted_line().encode())
    os._exit(INTERRUPTED_EXIT_CODE)


_end_on_ctrl_c()
