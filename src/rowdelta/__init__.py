"""Fast row-level changes for Apache Iceberg tables, from Python on Spark."""

from __future__ import annotations

from rowdelta._version import __version__
from rowdelta.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    EncodingError,
    FormatError,
    InputError,
    RowDeltaError,
    SessionError,
    TableError,
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
    "__version__",
    "session",
    "sql",
    "table",
]
