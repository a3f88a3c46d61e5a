"""Fast row-level changes for Apache Iceberg tables, from Python on Spark."""

from __future__ import annotations

from rowdelta import _loading, cdc  # noqa: F401 - the first of them has to come first
from rowdelta._session import session
from rowdelta._table import Table, table
from rowdelta._version import __version__
from rowdelta.change import Operation, Plan, Result
from rowdelta.choices import (
    ChangeFormat,
    CompactStrategy,
    DecimalNotation,
    Encoding,
    Images,
    Isolation,
    MetricsSource,
    Mode,
    OnBad,
    OnGap,
    Scope,
    SnapshotGranularity,
    SyncMode,
    Tie,
    TimeUnit,
    Tombstones,
    UnknownFields,
)
from rowdelta.debt import Advice, Debt, DeleteDebt, Recommendation, TableAdvice
from rowdelta.delta import DeltaProgress, FromDeltaResult, from_delta
from rowdelta.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    EncodingError,
    FormatError,
    InputError,
    RowDeltaError,
    SessionError,
    TableError,
    VerificationError,
)
from rowdelta.maintenance import (
    CompactResult,
    ExpireResult,
    OrphansPlan,
    OrphansResult,
    Progress,
    RemoveDanglingResult,
    ResolveResult,
    RewriteDeletesResult,
)
from rowdelta.sql import sql
from rowdelta.verbs import DeleteKeysResult, Merge, Update, UpsertResult

__all__ = [
    "Advice",
    "ChangeFormat",
    "CommitConflictError",
    "CommitStateUnknownError",
    "CompactResult",
    "CompactStrategy",
    "Debt",
    "DecimalNotation",
    "DeleteDebt",
    "DeleteKeysResult",
    "DeltaProgress",
    "Encoding",
    "EncodingError",
    "ExpireResult",
    "FormatError",
    "FromDeltaResult",
    "Images",
    "InputError",
    "Isolation",
    "Merge",
    "MetricsSource",
    "Mode",
    "OnBad",
    "OnGap",
    "Operation",
    "OrphansPlan",
    "OrphansResult",
    "Plan",
    "Progress",
    "Recommendation",
    "RemoveDanglingResult",
    "ResolveResult",
    "Result",
    "RewriteDeletesResult",
    "RowDeltaError",
    "Scope",
    "SessionError",
    "SnapshotGranularity",
    "SyncMode",
    "Table",
    "TableAdvice",
    "TableError",
    "Tie",
    "TimeUnit",
    "Tombstones",
    "UnknownFields",
    "Update",
    "UpsertResult",
    "VerificationError",
    "__version__",
    "cdc",
    "from_delta",
    "session",
    "sql",
    "table",
]
