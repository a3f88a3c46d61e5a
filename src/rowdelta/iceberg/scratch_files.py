"""Writes short-lived metadata files, and removes them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowdelta.iceberg.file_io import FileIO
    from rowdelta.iceberg.table_handle import TableHandle

SETTING = "spark.rowdelta.scratch.path"
_local_folder: str | None = None
# Scratch files of every handle of this process that are still needed.
in_use: set[str] = set()


def scratch_folder(handle: TableHandle) -> str:
    """A folder that the table's FileIO can read: the configured one, a temporary one, or the table's metadata folder.

    A temporary folder works if driver and executors are one process and the table is on its file system.
    """
    configured = handle.spark.conf.get(SETTING, None) or handle.spark.conf.get(SETTING.removeprefix("spark."), None)
    if configured:
        return configured.rstrip("/")
    location = handle.metadata.location
    if urlparse(location).scheme in {"", "file"} and str(handle.spark.sparkContext.master).startswith("local"):
        return _get_local_folder()
    return f"{location}/metadata"


def _get_local_folder() -> str:
    global _local_folder  # noqa: PLW0603 - one folder for the process, removed with it
    if _local_folder is None:
        _local_folder = tempfile.mkdtemp(prefix="rowdelta-")
        atexit.register(shutil.rmtree, _local_folder, ignore_errors=True)
    return _local_folder


class ScratchFiles:
    """Scratch files. Those that a user's frames may need live as long as the process, others as long as an action.

    Attributes:
        namespace: Part of the file names. So another handle or process never removes a file of this one.
    """

    def __init__(self, files: FileIO) -> None:
        self.namespace = uuid.uuid4()
        self._files = files
        self._kept: set[str] = set()
        self._passing: set[str] = set()
        self._actions = 0
        self._registered = False
        self._lock = threading.Lock()

    def keep(self, location: str, data: bytes, *, passing: bool = False) -> None:
        """Writes a file once. It is removed when the process ends; if `passing`, when the action ends."""
        with self._lock:
            if location not in self._kept:
                self._files.write(location, data)
                if not self._registered:
                    atexit.register(self.remove)
                    self._registered = True
                self._kept.add(location)
                in_use.add(location)
                if passing:
                    self._passing.add(location)

    @contextmanager
    def action(self) -> Iterator[None]:
        """Removes the passing files that the action wrote, unless another action is still running."""
        with self._lock:
            self._actions += 1
        try:
            yield
        finally:
            with self._lock:
                self._actions -= 1
                gone = set() if self._actions else self._passing
                if gone:
                    self._passing = set()
                    self._kept -= gone
                    in_use.difference_update(gone)
            self._files.discard(gone)

    def remove(self) -> None:
        """Removes the files. Spark may already have stopped and removed its local folder."""
        paths, self._kept = self._kept, set()
        in_use.difference_update(paths)
        with suppress(Exception):
            self._files.delete(paths)
