"""Tables by name, from a warehouse folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.errors import TableError
from rowdelta.session import session
from rowdelta.table import table

if TYPE_CHECKING:
    from pathlib import Path

    from rowdelta.table import Table

CATALOG = "lake"


def open_table(name: str, warehouse: Path, branch: str = "main") -> Table:
    """Opens a table of a warehouse folder; the catalog's name may be left out."""
    if not warehouse.is_dir():
        raise TableError(f"no warehouse at {warehouse}", hint="name the folder that holds the namespaces")
    full_name = name if name.startswith(f"{CATALOG}.") else f"{CATALOG}.{name}"
    return table(session(warehouse, CATALOG), full_name, branch)
