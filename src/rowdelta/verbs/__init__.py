"""The verbs that change rows."""

from __future__ import annotations

from rowdelta.verbs.change_batch import EXACT_TIMES, ChangeRules
from rowdelta.verbs.delete import Delete
from rowdelta.verbs.delete_keys import DeleteKeys, DeleteKeysResult
from rowdelta.verbs.merge import Merge
from rowdelta.verbs.newest_rows import TOMBSTONE_COLUMN, check_whole_rows, read_newest_rows
from rowdelta.verbs.update import Update
from rowdelta.verbs.upsert import Upsert
from rowdelta.verbs.upsert_result import UpsertResult

__all__ = [
    "EXACT_TIMES",
    "TOMBSTONE_COLUMN",
    "ChangeRules",
    "Delete",
    "DeleteKeys",
    "DeleteKeysResult",
    "Merge",
    "Update",
    "Upsert",
    "UpsertResult",
    "check_whole_rows",
    "read_newest_rows",
]
