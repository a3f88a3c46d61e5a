"""Fast row-level changes for Apache Iceberg tables, from Python on Spark."""

from __future__ import annotations

from rowdelta import _loading, cdc  # noqa: F401 - the first of them has to come first
from rowdelta._version import __version__
from rowdelta.delta import from_delta
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
from rowdelta.session import session
from rowdelta.sql import sql
from rowdelta.table import Table, table

__all__ = [
    "CommitConflictError",
    "CommitStateUnknownError",
    "EncodingError",
    "FormatError",
    "InputError",
    "RowDeltaError",
    "SessionError",
    "Table",
    "TableError",
    "VerificationError",
    "__version__",
    "cdc",
    "from_delta",
    "session",
    "sql",
    "table",
]
