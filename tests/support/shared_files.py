"""Data files that are written once and shared by all tables of the same shape, which saves Spark jobs."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.tables import added_files, append_files, one_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame

    import rowdelta as rd
    from rowdelta.iceberg import ContentFile

_folder = tempfile.TemporaryDirectory(prefix="rowdelta-tests-")
_written: dict[tuple[Any, ...], list[ContentFile]] = {}


def share(table: rd.Table, name: str, frame: Callable[[], DataFrame]) -> None:
    """Appends rows to a table. The first table of a shape (columns and partitions) writes files; later ones add these.

    Args:
        table: The table.
        name: Which rows these are.
        frame: The rows; they are written as one file for each partition.
    """
    document = table.refresh()._handle.document
    schema = next(known for known in document["schemas"] if known["schema-id"] == document["current-schema-id"])
    shape = json.dumps([schema["fields"], document["partition-specs"], document["default-spec-id"]])
    key = (table._handle.spark, shape, table.metadata.properties.get("write.format.default"), name)
    if key in _written:
        append_files(table, _written[key], merge=True)
        return
    frame().coalesce(1).writeTo(table.name).append()
    _written[key] = [_copy_to_shared_folder(table, file) for file in added_files(table)]


def share_ids(table: rd.Table, ids: Iterable[int], text: str = "v") -> None:
    """Appends rows (id, text) to a table of these two columns."""
    rows = [(i, text) for i in ids]
    share(table, repr(rows), lambda: one_file(table._handle.spark, rows, "id bigint, v string"))


def _copy_to_shared_folder(table: rd.Table, file: ContentFile) -> ContentFile:
    """Copies a file to where it outlives the table."""
    path = Path(_folder.name) / f"{len(list(Path(_folder.name).iterdir()))}-{Path(file.path).name}"
    path.write_bytes(table._handle.io.read(file.path))
    return replace(file, path=str(path))
