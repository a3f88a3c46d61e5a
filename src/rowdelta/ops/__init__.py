"""The verbs that change rows."""

from __future__ import annotations

from rowdelta.ops.delete import Delete
from rowdelta.ops.delete_keys import DeleteKeys, DeleteKeysResult
from rowdelta.ops.merge import Merge
from rowdelta.ops.operation import Operation, Plan, Result
from rowdelta.ops.update import Update

__all__ = ["Delete", "DeleteKeys", "DeleteKeysResult", "Merge", "Operation", "Plan", "Result", "Update"]
