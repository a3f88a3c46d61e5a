"""The verbs that change rows."""

from __future__ import annotations

from rowdelta.ops.change_batch import ChangeRules
from rowdelta.ops.delete import Delete
from rowdelta.ops.delete_keys import DeleteKeys, DeleteKeysResult
from rowdelta.ops.merge import Merge
from rowdelta.ops.operation import Operation, Plan, Result
from rowdelta.ops.update import Update
from rowdelta.ops.upsert import Upsert, UpsertResult

__all__ = [
    "ChangeRules",
    "Delete",
    "DeleteKeys",
    "DeleteKeysResult",
    "Merge",
    "Operation",
    "Plan",
    "Result",
    "Update",
    "Upsert",
    "UpsertResult",
]
