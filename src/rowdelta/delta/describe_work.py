"""Describes what a conversion would do, as the steps of its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowdelta.delta.actions import join_commits
from rowdelta.delta.existing_files import ExistingPaths, load_data_files
from rowdelta.delta.file_changes import find_file_changes
from rowdelta.delta.paths import index_by_path
from rowdelta.delta.schema import convert_schema
from rowdelta.delta.vectors import INLINE

if TYPE_CHECKING:
    from collections.abc import Collection

    from rowdelta.delta.actions import AddFile
    from rowdelta.delta.log_versions import DeltaSource
    from rowdelta.delta.sync_mode import SyncWork
    from rowdelta.iceberg import TableHandle


def describe_full(source: DeltaSource, handle: TableHandle | None) -> list[tuple[str, str]]:
    """Describes the steps of a plan to convert the whole table."""
    steps = []
    whole = source.read_whole()
    if handle is None and whole.metadata is not None:
        schema = convert_schema(whole.metadata)
        columns = f"{len(schema.fields)} columns"
        partition = ", ".join(leaf.name for leaf in schema.partition.values())
        steps.append(("schema", f"{columns}, partitioned by {partition}" if partition else columns))
    existing = set() if handle is None else load_data_files(handle).keys()
    wanted = index_by_path(source.root, whole.adds).keys()
    return steps + _describe_files(whole.adds.values(), len(wanted - existing), len(existing - wanted))


def describe_incremental(source: DeltaSource, handle: TableHandle, work: SyncWork) -> list[tuple[str, str]]:
    """Describes the steps of a plan to apply new commits."""
    joined = join_commits(source.read(work.files, joined=False))
    changes = find_file_changes(ExistingPaths(handle), source.root, joined)
    steps = [("commits", f"{work.files[0].version} to {work.files[-1].version}")]
    if joined.metadata is not None:
        steps.append(("schema", "follows the Delta table's"))
    return steps + _describe_files(changes.vectors.values(), len(changes.added), len(changes.removed))


def _describe_files(adds: Collection[AddFile], new: int, removed: int) -> list[tuple[str, str]]:
    vectors = [add.vector for add in adds if add.vector is not None]
    inline = sum(vector.storage_type == INLINE for vector in vectors)
    rows = sum(vector.cardinality for vector in vectors)
    size = sum(vector.size_in_bytes for vector in vectors)
    return [
        ("data files", f"{new:,} to add where they are, {removed:,} to remove"),
        ("deletion vectors", f"{len(vectors):,} ({inline:,} inline), {rows:,} rows, {size:,} bytes to copy"),
    ]
