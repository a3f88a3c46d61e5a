"""Decides whether a commit that failed is tried again, and otherwise explains the failure."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from rowdelta.errors import CommitConflictError, CommitStateUnknownError, RowDeltaError, TableError
from rowdelta.spark import read_java_message, read_java_name

if TYPE_CHECKING:
    from collections.abc import Mapping


class LostRaceError(Exception):
    """Another writer changed the table while the snapshot was made."""


class CommitRetries:
    """How often and how long a commit is tried, by Iceberg's table properties."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._left = int(properties.get("commit.retry.num-retries", 4))
        self._wait_ms = int(properties.get("commit.retry.min-wait-ms", 100))
        self._max_wait_ms = int(properties.get("commit.retry.max-wait-ms", 60_000))
        self._deadline = time.monotonic() + int(properties.get("commit.retry.total-timeout-ms", 1_800_000)) / 1000

    def wait_or_fail(self, error: Exception, *, in_doubt: bool, asked: bool) -> None:
        """Waits before the next attempt, or raises if there is none.

        Args:
            error: Why the last attempt failed.
            in_doubt: Whether the catalog was asked to commit and has not answered.
            asked: Whether the catalog was asked to commit.
        """
        if in_doubt:
            raise CommitStateUnknownError(
                f"the catalog did not say whether the commit took place: {read_java_message(error)}",
                hint="check the table's newest snapshot before you run it again; no file was removed",
            ) from error
        if not isinstance(error, LostRaceError) and read_java_name(error) != "CommitFailedException":
            raise _explain_failure(error, asked=asked) from error
        if self._left == 0 or time.monotonic() > self._deadline:
            raise CommitConflictError(
                f"other writers were faster every time: {read_java_message(error)}",
                hint="run it again, or raise the table property commit.retry.num-retries",
            ) from error
        self._left -= 1
        time.sleep(self._wait_ms / 1000 * random.uniform(0.9, 1.1))  # noqa: S311 - jitter, not a secret
        self._wait_ms = min(self._wait_ms * 2, self._max_wait_ms)


def _explain_failure(error: Exception, *, asked: bool) -> RowDeltaError:
    """Translates an error. `asked` says whether the catalog was already asked to commit."""
    name, text = read_java_name(error), read_java_message(error)
    if name == "ValidationException":
        return CommitConflictError(
            f"another writer changed the same data: {text}", hint="run it again on the newest state"
        )
    what = "the commit failed" if asked else "the snapshot cannot be created; nothing was committed"
    return TableError(f"{what}: {name}: {text}")
