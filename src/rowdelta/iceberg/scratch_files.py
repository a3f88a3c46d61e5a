"""Writes short-lived metadata files, and removes them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rowdelta.iceberg.shared_files import is_local

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowdelta.iceberg.file_io import FileIO
    from rowdelta.iceberg.table_handle import TableHandle

SETTING = "spark.rowdelta.scratch.path"
_local_folder: str | None = None
# Scratch files of every handle of this process that are still needed.
in_use: set[str] = set()


def find_scratch_folder(handle: TableHandle) -> str:
    """Finds a folder that the FileIO can read: the configured one, a temporary one, or the table's metadata folder.

    A temporary folder works if driver and executors are one process and the table is on its file system.
    """
    configured = handle.spark.conf.get(SETTING, None) or handle.spark.conf.get(SETTING.removeprefix("spark."), None)
    if configured:
        return configured.rstrip("/")
    location = handle.metadata.location
    if is_local(location) and str(handle.spark.sparkContext.master).startswith("local"):
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
        self._written: set[str] = set()
        self._action_files: set[str] = set()
        self._actions = 0
        self._registered = False
        self._lock = threading.Lock()
        self._keeps = threading.local()

    def write(self, location: str, data: bytes, *, for_action: bool = False) -> None:
        """Writes a file once. It is removed when the process ends or, with `for_action`, when the action ends."""
        for_action = for_action and not getattr(self._keeps, "all", False)
        with self._lock:
            if not for_action:
                self._action_files.discard(location)
            if location not in self._written:
                self._files.write(location, data)
                if not self._registered:
                    atexit.register(self.remove)
                    self._registered = True
                self._written.add(location)
                in_use.add(location)
                if for_action:
                    self._action_files.add(location)

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Keeps every file that this thread writes in the block: for a frame that a user gets."""
        before = getattr(self._keeps, "all", False)
        self._keeps.all = True
        try:
            yield
        finally:
            self._keeps.all = before

    @contextmanager
    def action(self) -> Iterator[None]:
        """Removes the files that were written for the action, unless another action is still running."""
        with self._lock:
            self._actions += 1
        try:
            yield
        finally:
            with self._lock:
                self._actions -= 1
                unneeded = set() if self._actions else self._action_files
                if unneeded:
                    self._action_files = set()
                    self._written -= unneeded
                    in_use.difference_update(unneeded)
            self._files.discard(unneeded)

    def remove(self) -> None:
        """Removes the files. Spark may already have stopped and removed its local folder."""
        paths, self._written = self._written, set()
        in_use.difference_update(paths)
        with suppress(Exception):
            self._files.delete(paths)
