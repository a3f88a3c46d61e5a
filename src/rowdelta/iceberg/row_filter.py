"""Predicates as Iceberg expressions: for conflict detection, and for deletes that need no scan."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rowdelta.errors import CommitConflictError, TableError
from rowdelta.iceberg.snapshot_reader import data_alone
from rowdelta.iceberg.sql_logic import SqlLogic
from rowdelta.spark import JavaError, analyzed_plan, dotted, java_message, java_name, select_sql, where_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame

    from rowdelta.iceberg.table_handle import TableHandle

_FILES_LOOKED_AT: Final = 5_000
_TASKS_AT_ONCE: Final = 1_000


@dataclass(frozen=True)
class RowFilter:
    """A predicate in Iceberg's terms.

    Attributes:
        text: The predicate, much as Iceberg prints it.
        exact: Whether it says all that the predicate says; otherwise it is true for more rows.
        expression: Iceberg's expression, true for every row that the predicate is true for.
        certain: The same where it is true for no other row; None where it may be.
        translated: What Iceberg itself makes of the predicate, with its own idea of nulls and NaN.
    """

    text: str
    exact: bool
    expression: Any = field(repr=False)
    certain: Any = field(default=None, repr=False)
    translated: Any = field(default=None, repr=False)


def build_row_filter(handle: TableHandle, where: str | Column | None, alias: str | None = None) -> RowFilter:
    """Converts a predicate; a part of it that Iceberg cannot express is left out, which is safe for conflict detection.

    Args:
        handle: The table.
        where: SQL text or a Column; None for all rows.
        alias: What the predicate calls the table.
    """
    if where is None:
        return _row_filter(handle, [], exact=True)
    table = handle.spark.table(handle.full_name)
    return filter_of(handle, (table if alias is None else table.alias(alias)).where(where))


def filter_of(handle: TableHandle, matched: DataFrame | None) -> RowFilter:
    """Converts the predicate of rows of the table that were filtered last of all, and so analyzed already.

    None stands for all rows.
    """
    if matched is None:
        return build_row_filter(handle, None)
    parts = _simplified(handle, analyzed_plan(matched))
    converted = [found for found in (_convert(handle, part) for part in parts) if found is not None]
    exact = len(converted) == len(parts) and not any(part.nulls for part in converted)
    return _row_filter(handle, converted, exact=exact)


def _row_filter(handle: TableHandle, parts: list[Translated], *, exact: bool) -> RowFilter:
    expressions = handle.gateway.iceberg.expressions.Expressions
    both = getattr(expressions, "and")
    told, decided = expressions.alwaysTrue(), expressions.alwaysTrue()
    logic = SqlLogic(handle) if parts else None
    for part in parts:
        assert logic is not None
        told = both(told, part.expression)
        decided = both(decided, logic.rewritten(expressions.rewriteNot(part.expression), nulls=part.nulls))
    text = re.sub(r'ref\(name="(.*?)"\)', lambda name: dotted([name[1]]), str(told.toString()))
    return RowFilter(text, exact=exact, expression=decided, certain=decided if exact else None, translated=told)


@dataclass(frozen=True)
class Translated:
    """A part of a predicate as Iceberg translates it, and whether its negations are true for nulls."""

    expression: Any
    nulls: bool


def _convert(handle: TableHandle, part: Any) -> Translated | None:
    """Iceberg's expression of a part; None where it has none, or one of columns that are not stored.

    Iceberg's NOT EQUAL stands both for `<>` and for NOT `<=>`, which differ for nulls.
    """
    gateway = handle.gateway
    strategy = gateway.scala_object(gateway.jvm.org.apache.spark.sql.execution.datasources.v2, "DataSourceV2Strategy")
    try:
        translated = strategy.translateFilterV2(part)
        found = None if translated.isEmpty() else gateway.iceberg.spark.SparkV2Filters.convert(translated.get())
        if found is None:
            return None
        gateway.iceberg.expressions.Binder.bind(handle.java_table.schema().asStruct(), found, True)
    except JavaError:
        return None
    return Translated(found, nulls="<=>" in (text := str(part.toString())) and "NOT" in text)


def _simplified(handle: TableHandle, plan: Any) -> list[Any]:
    """The condition of a filter in parts, with constants folded; parts that have a subquery are as they were.

    The optimizer would make a join of a subquery, and what is left of the filter then says nothing of the rows.
    """
    catalyst = handle.gateway.jvm.org.apache.spark.sql.catalyst
    subqueries = handle.gateway.scala_object(catalyst.expressions, "SubqueryExpression")
    while str(plan.nodeName()) != "Filter":  # Spark takes metadata columns away again above it
        plan = plan.child()
    parts = _conjuncts(_with_stored_names(handle, plan))
    plain = [part for part in parts if not subqueries.hasSubquery(part)]
    others = [part for part in parts if subqueries.hasSubquery(part)]
    if not plain:
        return others
    condition = plain[0]
    for part in plain[1:]:
        condition = catalyst.expressions.And(condition, part)
    datasources = handle.gateway.jvm.org.apache.spark.sql.execution.datasources
    relation = getattr(datasources, "SparkExpressionConverter$DummyRelation")(plan.output())
    state = handle.gateway.session.sessionState()
    filtered = catalyst.plans.logical.Filter(condition, relation)
    optimized = state.executePlan(filtered, getattr(state, "executePlan$default$2")()).optimizedPlan()
    literals = handle.gateway.scala_object(catalyst.expressions, "Literal")
    kind = str(optimized.nodeName())
    if kind == "Filter":
        return [*_conjuncts(optimized.condition()), *others]
    if kind == "LocalRelation":
        return [literals.FalseLiteral()]
    return others  # the filter is gone: it holds for every row


def _with_stored_names(handle: TableHandle, plan: Any) -> Any:
    """A filter's condition with the names of its columns as the table has them: Iceberg looks at their case."""
    jvm = handle.gateway.jvm
    strategy = handle.gateway.scala_object(jvm.org.apache.spark.sql.execution.datasources, "DataSourceStrategy")
    return strategy.normalizeExprs(jvm.PythonUtils.toSeq([plan.condition()]), plan.child().output()).head()


def _conjuncts(condition: Any) -> list[Any]:
    if str(condition.nodeName()) != "And":
        return [condition]
    return [*_conjuncts(condition.left()), *_conjuncts(condition.right())]


@dataclass(frozen=True)
class ScanSize:
    """What a scan would read."""

    files: int
    records: int
    size_in_bytes: int


def scan_size(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> ScanSize:
    """Plans a scan of the branch's head and adds up its files; of all rows, Spark reads the metadata."""
    table = where_sql(handle.gateway.metadata_table(handle.full_name, "files", snapshot_id), "content = 0")
    if condition.text == "true":
        row = select_sql(table, "count(*)", "sum(record_count)", "sum(file_size_in_bytes)").collect()[0]
        return ScanSize(row[0], row[1] or 0, row[2] or 0)
    files = records = size = 0
    try:
        with _tasks(handle, snapshot_id, condition) as tasks:
            for task in tasks:
                file = task.file()
                files, records, size = files + 1, records + int(file.recordCount()), size + int(file.fileSizeInBytes())
    except JavaError as error:
        raise TableError(
            f"a scan of {handle.name} cannot be planned: {java_name(error)}: {java_message(error)}",
            hint="are the files of its metadata still there, and may this user read them?",
        ) from error
    return ScanSize(files, records, size)


@contextmanager
def _tasks(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> Iterator[Iterator[Any]]:
    """Iceberg's tasks for the data files that can have matching rows; their deletes may be missing."""
    scan = _new_scan(handle, snapshot_id).filter(condition.expression).includeColumnStats()
    tasks = scan.planFiles()
    try:
        yield _each(handle, tasks.iterator())
    finally:
        tasks.close()


def _new_scan(handle: TableHandle, snapshot_id: int) -> Any:
    """A scan of the branch's head; without its deletes where Iceberg could not plan them.

    Iceberg fails at a vector whose place in its file has been dropped, as every rewrite of its manifest does.
    """
    if snapshot_id not in handle.metadata.snapshots:
        handle.refresh()
    snapshot = handle.snapshot(snapshot_id)
    assert snapshot is not None
    if snapshot.manifest_list is not None:
        manifests = handle.manifests.read(snapshot.manifest_list).records
        if any(handle.manifests.lacks_places(manifest) for manifest in manifests if manifest.get("content")):
            return data_alone(handle, snapshot).newScan()
    # By the name of the branch: a scan by id would take the filter's columns for those of the snapshot's own schema.
    return handle.java_table.newScan().useRef(handle.branch)


def _each(handle: TableHandle, iterator: Any) -> Iterator[Any]:
    """What a Java iterator gives, more at a time the longer it is.

    To py4j's own `next`, a Java exception is the end of the iterator; here it is raised.
    """
    guava = handle.gateway.iceberg.relocated.com.google.common.collect
    wanted = 1
    while True:
        members = handle.gateway.members(guava.Lists.newArrayList(guava.Iterators.limit(iterator, wanted)))
        yield from members
        if len(members) < wanted:
            return
        wanted = min(4 * wanted, _TASKS_AT_ONCE)


@dataclass(frozen=True)
class WholeFiles:
    """The data files whose rows all match a filter, when no file matches in part."""

    files: int
    records: int


def whole_files(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> WholeFiles | None:
    """What a delete by metadata alone would drop; None where some file might hold both kinds of rows.

    Files are looked at until one is in doubt, so that a predicate which cuts through files costs next to nothing.
    """
    found = _look_for_whole_files(handle, snapshot_id, condition)
    return None if isinstance(found, str) else found


def check_whole_files(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> None:
    """Refuses a delete by metadata alone of a snapshot in which some file might hold both kinds of rows.

    Iceberg would refuse it too, but leave the manifest behind that it was writing.
    """
    found = _look_for_whole_files(handle, snapshot_id, condition)
    if isinstance(found, str):
        raise CommitConflictError(
            f"another writer changed the same data: {found}", hint="run it again, and single rows are deleted"
        )


def _look_for_whole_files(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> WholeFiles | str:
    """The files that match whole, or why they cannot be dropped."""
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
        with _tasks(handle, snapshot_id, condition) as tasks:
            for task in tasks:
                file = task.file()
                left = residuals[file.specId()].residualFor(file.partition())
                if left.op().name() != "TRUE" and not evaluator.eval(file):
                    return f"some, but not all, rows of {file.location()} may match"
                files, records = files + 1, records + int(file.recordCount())
                if files > _FILES_LOOKED_AT:
                    return f"more than {_FILES_LOOKED_AT:,} files may match"
    except JavaError as error:
        return f"the files cannot be looked at: {java_message(error)}"
    return WholeFiles(files, records)
