"""Predicates as Iceberg expressions: for conflict detection, and for deletes that need no scan."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rowdelta.iceberg.java_errors import JavaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from rowdelta.iceberg.handle import TableHandle

_FILES_LOOKED_AT: Final = 5_000


@dataclass(frozen=True)
class RowFilter:
    """A predicate in Iceberg's terms.

    Attributes:
        text: The predicate as Iceberg prints it.
        exact: Whether it says all that the predicate says; otherwise it is true for more rows.
        expression: Iceberg's expression. Its negations are true for nulls, which those of SQL are not.
        certain: An expression that is true only for rows that the predicate is true for; None where there is none.
    """

    text: str
    exact: bool
    expression: Any = field(repr=False)
    certain: Any = field(default=None, repr=False)


def row_filter(handle: TableHandle, where: str | Column | None) -> RowFilter:
    """Converts a predicate; what Iceberg cannot express becomes `true`, which is safe for conflict detection."""
    expressions = handle.gateway.iceberg.expressions.Expressions
    if where is None:
        always = expressions.alwaysTrue()
        return RowFilter("true", exact=True, expression=always, certain=always)
    try:
        found = _converted(handle, where)
        certain = _certain(handle, expressions.rewriteNot(found))
    except JavaError:
        return RowFilter("true", exact=False, expression=expressions.alwaysTrue())
    return RowFilter(str(found.toString()), exact=True, expression=found, certain=certain)


def _certain(handle: TableHandle, found: Any) -> Any:
    """An expression without NOT, its negated predicates bound to values that are not null.

    None where it has a prefix: Iceberg 1.12 cannot drop files by one where a partition is null (NullPointerException).
    """
    expressions, kind = handle.gateway.iceberg.expressions.Expressions, str(found.op().name())
    if kind in {"AND", "OR"}:
        left, right = (_certain(handle, side) for side in (found.left(), found.right()))
        return None if left is None or right is None else getattr(expressions, kind.lower())(left, right)
    if kind in {"STARTS_WITH", "NOT_STARTS_WITH"}:
        return None
    if kind in {"NOT_EQ", "NOT_IN"}:
        return getattr(expressions, "and")(expressions.notNull(found.term()), found)
    return found


def _converted(handle: TableHandle, where: str | Column) -> Any:
    converter = handle.gateway.jvm.org.apache.spark.sql.execution.datasources.SparkExpressionConverter
    if isinstance(where, str):
        resolved = converter.collectResolvedSparkExpression(handle.gateway.session, handle.full_name, where)
    else:
        filtered: Any = handle.spark.table(handle.full_name).where(where)
        resolved = filtered._jdf.queryExecution().analyzed().condition()
    return converter.convertToIcebergExpression(resolved)


@dataclass(frozen=True)
class ScanSize:
    """What a scan would read."""

    files: int
    records: int
    size_in_bytes: int


def scan_size(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> ScanSize:
    """Plans a scan and adds up its files; Spark reads the metadata, so that many files cost little."""
    table = handle.gateway.metadata_table(handle.full_name, "files", snapshot_id).where("content = 0")
    if condition.text == "true":
        row = table.selectExpr("count(*)", "sum(record_count)", "sum(file_size_in_bytes)").collect()[0]
        return ScanSize(row[0], row[1] or 0, row[2] or 0)
    files = records = size = 0
    with _tasks(handle, snapshot_id, condition) as tasks:
        for task in tasks:
            file = task.file()
            files, records, size = files + 1, records + int(file.recordCount()), size + int(file.fileSizeInBytes())
    return ScanSize(files, records, size)


@contextmanager
def _tasks(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> Iterator[Iterator[Any]]:
    scan = handle._table.newScan().useSnapshot(snapshot_id).filter(condition.expression).includeColumnStats()
    tasks = scan.planFiles()
    try:
        yield _each(tasks.iterator())
    finally:
        tasks.close()


def _each(iterator: Any) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()


@dataclass(frozen=True)
class WholeFiles:
    """The data files whose rows all match a filter, when no file matches in part."""

    files: int
    records: int


def whole_files(handle: TableHandle, snapshot_id: int, condition: RowFilter) -> WholeFiles | None:
    """What a delete by metadata alone would drop; None where some file might hold both kinds of rows.

    Files are looked at until one is in doubt, so that a predicate which cuts through files costs next to nothing.
    """
    if condition.certain is None:
        return None
    iceberg, table = handle.gateway.iceberg, handle._table
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
                    return None
                files, records = files + 1, records + int(file.recordCount())
                if files > _FILES_LOOKED_AT:
                    return None
    except JavaError:
        return None
    return WholeFiles(files, records)
