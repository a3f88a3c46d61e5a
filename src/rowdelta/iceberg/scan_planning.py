"""Plans scans with Iceberg: how much a scan reads, and which files match a filter as a whole."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import CommitConflictError, TableError
from rowdelta.iceberg.in_memory_table import open_for_planning
from rowdelta.iceberg.snapshot_reader import open_data_files
from rowdelta.spark import JavaError, read_java_message, read_java_name, select_sql, where_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowdelta.iceberg.row_filter import RowFilter
    from rowdelta.iceberg.table_handle import TableHandle

_MOST_FILES: Final = 5_000
_TASKS_PER_CALL: Final = 1_000


@dataclass(frozen=True)
class ScanSize:
    """The size of a scan."""

    files: int
    records: int
    size_in_bytes: int


def measure_scan(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> ScanSize:
    """Plans a scan of the branch's head and adds up its files. For all rows, Spark adds up a metadata table."""
    table = where_sql(handle.gateway.metadata_table(handle.full_name, "files", snapshot_id), "content = 0")
    if condition.text == "true":
        row = select_sql(table, "count(*)", "sum(record_count)", "sum(file_size_in_bytes)").collect()[0]
        return ScanSize(row[0], row[1] or 0, row[2] or 0)
    files = records = size = 0
    try:
        with _plan_tasks(handle, snapshot_id, condition) as tasks:
            for task in tasks:
                file = task.file()
                files, records, size = files + 1, records + int(file.recordCount()), size + int(file.fileSizeInBytes())
    except JavaError as error:
        raise TableError(
            f"a scan of {handle.name} cannot be planned: {read_java_name(error)}: {read_java_message(error)}",
            hint="are the files of its metadata still there, and may this user read them?",
        ) from error
    return ScanSize(files, records, size)


@contextmanager
def _plan_tasks(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> Iterator[Iterator[Any]]:
    """Plans Iceberg's tasks for the data files that can have matching rows; their deletes may be missing."""
    scan = _new_scan(handle, snapshot_id).filter(condition.expression).includeColumnStats()
    tasks = scan.planFiles()
    try:
        yield _iterate(handle, tasks.iterator())
    finally:
        tasks.close()


def _new_scan(handle: TableHandle, snapshot_id: int) -> Any:
    """Makes a scan of the branch's head, without its deletes if Iceberg could not plan them.

    Iceberg fails on a vector without an offset, and every rewrite of its manifest by Iceberg drops the offset.
    """
    if snapshot_id not in handle.metadata.snapshots:
        handle.refresh()
    snapshot = handle.snapshot(snapshot_id)
    assert snapshot is not None
    if snapshot.manifest_list is not None:
        manifests = handle.manifests.read(snapshot.manifest_list).records
        if any(handle.manifests.lacks_offsets(manifest) for manifest in manifests if manifest.get("content")):
            return open_data_files(handle, snapshot).newScan()
    # By the name of the branch: a scan by id would resolve the filter's columns in the snapshot's own schema.
    return open_for_planning(handle).newScan().useRef(handle.branch)


def _iterate(handle: TableHandle, iterator: Any) -> Iterator[Any]:
    """Iterates over a Java iterator in batches of growing size.

    py4j's own `next` treats a Java exception as the end of the iterator; here it is raised.
    """
    guava = handle.gateway.iceberg.relocated.com.google.common.collect
    wanted = 1
    while True:
        members = handle.gateway.members(guava.Lists.newArrayList(guava.Iterators.limit(iterator, wanted)))
        yield from members
        if len(members) < wanted:
            return
        wanted = min(4 * wanted, _TASKS_PER_CALL)


@dataclass(frozen=True)
class WholeFiles:
    """The data files whose rows all match a filter, if no file matches in part."""

    files: int
    records: int


def find_whole_files(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> WholeFiles | None:
    """Finds the files that a metadata-only delete would drop; None if some file may match in part.

    The check stops at the first such file, so it costs next to nothing for a predicate that matches files in part.
    """
    result = _inspect_files(handle, snapshot_id, condition)
    return None if isinstance(result, str) else result


def check_whole_files(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> None:
    """Refuses a metadata-only delete of a snapshot in which some file may match in part.

    Iceberg would refuse it too, but would leave behind the manifest that it was writing.
    """
    result = _inspect_files(handle, snapshot_id, condition)
    if isinstance(result, str):
        raise CommitConflictError(
            f"another writer changed the same data: {result}", hint="run it again: it then deletes single rows"
        )


def _inspect_files(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> WholeFiles | str:
    """Returns the files that match as a whole, or the reason why they cannot be dropped."""
    if condition.certain is None:
        return "the predicate cannot be decided by metadata"
    iceberg, table = handle.gateway.iceberg, handle.java_table
    if int(table.snapshot(handle.branch).snapshotId()) != snapshot_id:
        return "the branch has moved on"  # another thread has refreshed the table
    records = files = 0
    try:
        evaluator = iceberg.expressions.StrictMetricsEvaluator(table.schema(), condition.certain)
        residuals = {
            spec_id: iceberg.expressions.ResidualEvaluator.of(spec, condition.certain, True)
            for spec_id, spec in table.specs().items()
        }
        with _plan_tasks(handle, snapshot_id, condition) as tasks:
            for task in tasks:
                file = task.file()
                left = residuals[file.specId()].residualFor(file.partition())
                if left.op().name() != "TRUE" and not evaluator.eval(file):
                    return f"some, but not all, rows of {file.location()} may match"
                files, records = files + 1, records + int(file.recordCount())
                if files > _MOST_FILES:
                    return f"more than {_MOST_FILES:,} files may match"
    except JavaError as error:
        return f"the files cannot be inspected: {read_java_message(error)}"
    return WholeFiles(files, records)
