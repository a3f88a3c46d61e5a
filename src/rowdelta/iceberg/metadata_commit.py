"""Commits changes of a table's metadata that make no snapshot: a branch moves, a spec is added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import CommitConflictError, CommitStateUnknownError, TableError
from rowdelta.spark import JavaError, read_java_message, read_java_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from rowdelta.iceberg.table_handle import TableHandle

ATTEMPTS: Final = 5


def commit_metadata(handle: TableHandle, change: Callable[[Any], Any | None], what: str) -> bool:
    """Commits a change of the newest metadata, and tries again if another writer was faster.

    Args:
        handle: The table; it is refreshed before each attempt, and after the last.
        change: Takes Iceberg's builder of the newest metadata and returns it changed; None if there is nothing to do.
        what: The change as a verb phrase, for errors: "move branch 'audit'".

    Returns:
        Whether there was anything to do.

    Raises:
        CommitConflictError: Other writers were faster every time.
        CommitStateUnknownError: The catalog did not answer. The change may or may not be committed.
        TableError: The catalog refused the change.
    """
    for _ in range(ATTEMPTS):
        handle.refresh()
        operations: Any = handle.java_table.operations()
        base = operations.current()
        if base.metadataFileLocation() != handle.state.location:
            continue  # another thread has refreshed the same table object since
        changed = change(handle.gateway.iceberg.TableMetadata.buildFrom(base))
        if changed is None:
            return False
        try:
            operations.commit(base, changed.build())
        except JavaError as error:
            if read_java_name(error) != "CommitFailedException":
                raise _translate_error(error, what) from error
        else:
            handle.refresh()
            return True
    raise CommitConflictError(f"other writers of {handle.name} were faster every time", hint="run it again")


def _translate_error(error: Exception, what: str) -> Exception:
    name, text = read_java_name(error), read_java_message(error)
    if name == "CommitStateUnknownException":
        return CommitStateUnknownError(
            f"the catalog did not answer the request to {what}: {text}",
            hint="check the table before you run it again",
        )
    return TableError(f"the catalog refused to {what}: {name}: {text}")
