"""Measure DELETE, UPDATE and MERGE against Iceberg SQL, Delta SQL, PyIceberg and delta-rs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import rowdelta as rd
from bench.data import COLUMNS, MERGE_ON_READ, SCALES, UPSERT, VALUES, make_branch, make_table, rows
from bench.measure import REPEATS, WARM_UPS, Measure, Timing, after_warm_up, driver_peak_mb, ratio, seconds_of
from rowdelta.spark import collect_arrow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

TABLE = "lake.bench.changes"
PYTHON_ROWS = 2_000_000
CONDITIONAL = (
    "MERGE INTO {target} t USING bench_merged s ON t.id = s.id WHEN MATCHED AND t.d < 500 THEN UPDATE SET b = s.b"
)


def run(spark: SparkSession, scale: str, folder: Path) -> list[Measure]:
    count = SCALES[scale]
    make_table(spark, TABLE, count, properties=MERGE_ON_READ)
    delta = _delta_table(spark, count, folder / "delta")
    merged, pruned = _sources(spark, count)
    measures = []
    for case in _cases(merged, pruned, merged.where(f"id < {count}")):
        ours, bound, iceberg, theirs = _compare(spark, case, delta)
        measures.append(ratio(f"{case.name}: Iceberg SQL / rowdelta", iceberg, ours, case.goal))
        measures.append(ratio(f"{case.name}: Delta SQL / rowdelta", theirs, ours, ""))
        if case.lower_bound is not None:
            measures.append(ratio(f"{case.name}: Iceberg SQL / {case.lower_bound.name}", iceberg, bound, ""))
    measures.append(_measure_half_update(spark))
    return measures + python_peers(spark, min(count, PYTHON_ROWS), folder)


def _sources(spark: SparkSession, count: int) -> tuple[DataFrame, DataFrame]:
    """Creates two sources: a hundredth of all keys, of which one in eleven is new, and a thousand neighbouring keys."""
    step = 100
    merged = rows(spark, 7, count + count // 10, step).cache()
    pruned = rows(spark, count // 2, count // 2 + 1_000).cache()
    merged.createOrReplaceTempView("bench_merged")
    pruned.createOrReplaceTempView("bench_pruned")
    merged.count()
    pruned.count()
    return merged, pruned


@dataclass(frozen=True)
class LowerBound:
    """The work that no implementation of a change can avoid: scan, then append or commit. Spark and Iceberg do it.

    Attributes:
        name: A description for the report.
        columns: The columns to read from the rows that change.
        written: The new rows to append. If there are none, the commit is empty.
    """

    name: str
    columns: tuple[str, ...]
    written: DataFrame | None = None

    def run(self, spark: SparkSession, table: rd.Table) -> None:
        """Scans, and commits to the table's branch."""
        rows_to_change = spark.table(TABLE).where("id % 100 = 7").select(*self.columns)
        rows_to_change.write.format("noop").mode("overwrite").save()
        if self.written is not None:
            self.written.writeTo(f"{TABLE}.branch_{table.branch}").append()
        else:
            table._handle.java_table.newFastAppend().toBranch(table.branch).commit()


@dataclass(frozen=True)
class Case:
    """A change by rowdelta and the same change in SQL. Short changes are repeated more often."""

    name: str
    goal: str
    ours: Callable[[rd.Table], Any]
    statement: str
    lower_bound: LowerBound | None = None
    repeats: int = REPEATS


def _cases(merged: DataFrame, pruned: DataFrame, existing: DataFrame) -> list[Case]:
    """Returns the changes to measure. `existing` holds the rows of `merged` whose keys are in the table."""
    positions, row = ("_file", "_pos"), ("id", *VALUES, "_file", "_pos", "_row_id")
    return [
        Case(
            "DELETE 1% scattered",
            ">= 1.3",
            lambda t: t.delete("id % 100 = 7"),
            "DELETE FROM {target} WHERE id % 100 = 7",
            LowerBound("its scan and an empty commit", positions),
            repeats=10,
        ),
        Case(
            "UPDATE 1% scattered over every file",
            ">= 1.5",
            lambda t: t.update().set("b", "b + 1").where("id % 100 = 7"),
            "UPDATE {target} SET b = b + 1 WHERE id % 100 = 7",
            LowerBound("its scan and an append of as many rows", row, existing.coalesce(2)),
        ),
        Case(
            "MERGE 1% of the keys, update all and insert all",
            ">= 4",
            lambda t: t.merge(merged, on="id").when_matched_update_all().when_not_matched_insert_all(),
            UPSERT.replace("{source}", "bench_merged"),
        ),
        Case(
            "MERGE 1% of the keys, one column, conditional",
            ">= 2.5",
            lambda t: t.merge(merged, on="id").when_matched_update({"b": "s.b"}, "t.d < 500"),
            CONDITIONAL,
            LowerBound("a scan of these rows and an append of as many", row, existing.where("d < 500").coalesce(2)),
        ),
        Case(
            "MERGE 1,000 neighbouring keys",
            ">= 3",
            lambda t: t.merge(pruned, on="id").when_matched_update_all().when_not_matched_insert_all(),
            UPSERT.replace("{source}", "bench_pruned"),
        ),
    ]


def _compare(spark: SparkSession, case: Case, delta: str) -> list[Timing]:
    """Times rowdelta, the lower bound, Iceberg and Delta.

    Each run starts from the same state: a new branch of the Iceberg table, or the first version of the Delta table.
    """
    turns = []
    for _ in range(WARM_UPS + case.repeats):
        table, bound, theirs = (make_branch(spark, TABLE, name) for name in ("ours", "lower_bound", "theirs"))
        turns.append(
            [
                seconds_of(case.ours(table).execute),
                seconds_of(partial(case.lower_bound.run, spark, bound)) if case.lower_bound is not None else 0.0,
                *(
                    seconds_of(partial(spark.sql, case.statement.format(target=target)))
                    for target in (f"{TABLE}.branch_{theirs.branch}", delta)
                ),
            ]
        )
        spark.sql(f"RESTORE TABLE {delta} TO VERSION AS OF 1")
    return after_warm_up(turns, WARM_UPS)


def _delta_table(spark: SparkSession, count: int, path: Path) -> str:
    name = f"delta.`{path}`"
    columns = COLUMNS.replace(" NOT NULL", "")
    spark.sql(f"CREATE TABLE {name} ({columns}) USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true')")
    rows(spark, 0, count).write.format("delta").mode("append").save(str(path))
    return name


def _measure_half_update(spark: SparkSession) -> Measure:
    """Measures the peak memory of the Python driver while half of all rows are updated."""
    table = make_branch(spark, TABLE, "half")
    peak = driver_peak_mb(lambda: table.update().set("b", "b + 1").where("id % 2 = 0").execute())
    return Measure("driver memory while half of the rows are updated, above the start", peak, "bounded", "MiB")


def python_peers(spark: SparkSession, count: int, folder: Path) -> list[Measure]:
    """Measures PyIceberg's upsert and delta-rs's merge on a smaller table. Skips them if they are not installed."""
    try:
        import deltalake  # noqa: PLC0415
        from pyiceberg.catalog.sql import SqlCatalog  # noqa: PLC0415
    except ImportError:
        print("skipped: pyiceberg or deltalake is not installed: uv pip install 'pyiceberg[sql-sqlite]' deltalake")
        return []
    name = "lake.bench.python_peers"
    make_table(spark, name, count)
    table = rd.table(spark, name)
    base = collect_arrow(spark.table(name))
    changes = rows(spark, 7, count, 100)
    source = collect_arrow(changes)
    mine = Timing((min(seconds_of(lambda: _upsert(table, changes)) for _ in range(2)),), 0)
    (folder / "pyiceberg").mkdir()
    catalog = SqlCatalog("bench", uri="sqlite:///:memory:", warehouse=str(folder / "pyiceberg"))
    catalog.create_namespace("db")
    theirs = catalog.create_table("db.t", base.schema)
    theirs.append(base)
    pyiceberg = Timing((seconds_of(lambda: theirs.upsert(source, join_cols=["id"])),), 0)
    path = str(folder / "delta_rs")
    deltalake.write_deltalake(path, base)
    delta = Timing((seconds_of(lambda: _delta_rs(deltalake.DeltaTable(path), source)),), 0)
    label = f"upsert of 1% into {count:,} rows"
    return [
        ratio(f"{label}: PyIceberg upsert, once / rowdelta merge, best of 2", pyiceberg, mine, ""),
        ratio(f"{label}: delta-rs merge, once / rowdelta merge, best of 2", delta, mine, ""),
    ]


def _upsert(table: rd.Table, changes: DataFrame) -> None:
    table.merge(changes, on="id").when_matched_update_all().when_not_matched_insert_all().execute()


def _delta_rs(table: Any, source: Any) -> None:
    merge = table.merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
