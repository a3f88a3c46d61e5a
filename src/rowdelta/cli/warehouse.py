"""Tables by name, from a warehouse folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.errors import InputError, TableError
from rowdelta.session import session
from rowdelta.table import table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from rowdelta.table import Table

CATALOG = "lake"
READERS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}


def open_table(name: str, warehouse: Path, branch: str = "main") -> Table:
    """Opens a table of a warehouse folder; the catalog's name may be left out."""
    if not warehouse.is_dir():
        raise TableError(f"no warehouse at {warehouse}", hint="name the folder that holds the namespaces")
    full_name = name if name.startswith(f"{CATALOG}.") else f"{CATALOG}.{name}"
    return table(session(warehouse, CATALOG), full_name, branch)


def read_keys(path: Path, target: Table) -> DataFrame:
    """Reads a file of keys; columns of text formats get the types of the table."""
    if path.suffix not in READERS:
        raise InputError(f"{path.name} is not a kind of file that is known", hint=f"use one of {', '.join(READERS)}")
    spark = target.read().sparkSession
    frame = spark.read.format(READERS[path.suffix]).option("header", "true").load(str(path.absolute()))
    if path.suffix == ".parquet":
        return frame
    types = {field.name.lower(): field.dataType for field in target.read().schema.fields}
    return frame.select(*(frame[name].cast(types.get(name.lower(), "string")) for name in frame.columns))
