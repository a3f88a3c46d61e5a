"""`rd.sql()`: Spark SQL that changes tables with rowdelta and reads them with every delete applied."""

from __future__ import annotations

from rowdelta.sql.run import sql

__all__ = [
    "sql",
]
