"""The verbs that change rows."""

from __future__ import annotations

from rowdelta.ops.delete_keys import DeleteKeys, DeleteKeysResult
from rowdelta.ops.operation import Operation, Plan, Result

__all__ = ["DeleteKeys", "DeleteKeysResult", "Operation", "Plan", "Result"]
