"""`rowdelta demo`: changes stream into a table, queries see them, and resolve removes the debt."""

from __future__ import annotations

import atexit
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console
from rich.table import Table as Grid

from rowdelta._session import session
from rowdelta._table import table
from rowdelta.cdc import Debezium, Shape, stream
from rowdelta.cli.demo_orders import BATCHES, CHANGES, ORDERS, Model, write_batch
from rowdelta.errors import RowDeltaError
from rowdelta.spark import collect_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rowdelta._table import Table
    from rowdelta.cdc import BatchProgress

NAME: Final = "lake.db.orders"
COPY: Final = "lake.db.orders_merged"
COLUMNS: Final = "id bigint NOT NULL, status string, cents bigint"
_STATUS: Final = "element_at(array('new', 'paid', 'shipped'), cast(id % 3 as int) + 1)"
_ROWS: Final = f"SELECT id, {_STATUS} status, id * 7 % 100000 cents FROM range(0, {ORDERS}, 1, 2)"


@dataclass
class Measurements:
    """Measurements for the report at the end."""

    batches: list[BatchProgress] = field(default_factory=list)
    queries: list[float] = field(default_factory=list)
    event_bytes: int = 0


def run(keep: Path | None = None) -> None:
    """Runs the demo; given a folder, the warehouse stays there."""
    folder = Path(tempfile.mkdtemp(prefix="rowdelta-demo-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # after an interrupt, too
    typer.echo("Starting Spark with Iceberg ...")
    spark = session(keep or folder / "warehouse", config={"spark.sql.shuffle.partitions": 4})
    try:
        _run_job(spark, folder)
    finally:
        spark.stop()


def _run_job(spark: SparkSession, folder: Path) -> None:
    orders = _create(spark)
    measured, model = Measurements(), Model()
    inbox = folder / "inbox"
    inbox.mkdir()
    for number in range(BATCHES):
        measured.event_bytes += write_batch(inbox, number, model)
    typer.echo(f"\n{BATCHES} batches of {CHANGES:,} Debezium events (inserts, updates, deletes) arrive as files:")

    def after_batch(progress: BatchProgress) -> None:
        started = time.monotonic()
        paid = orders.read("status = 'paid'").selectExpr("sum(cents) / 100 AS total").collect()[0].total
        measured.queries.append(time.monotonic() - started)
        measured.batches.append(progress)
        typer.echo(f"  {progress}; query {measured.queries[-1]:.1f} s: paid {paid:,.2f}")

    source = spark.readStream.option("maxFilesPerTrigger", 1).text(str(inbox))
    changes = stream(source, orders, "id", format="debezium", progress=after_batch)
    changes.start(str(folder / "checkpoint"), available_now=True).await_termination()
    debt = orders.debt()
    typer.echo(f"\nThe debt: {debt.keys:,} keys in {debt.delete_files} delete files, read by {debt.readers}. resolve:")
    resolved = orders.resolve().execute()
    typer.echo(f"  {resolved.delete_files_added} deletion vectors instead, {resolved.seconds:.1f} s")
    _check(spark, model)
    _report(measured, debt.keys, orders.debt().keys, resolved.seconds, _measure_merge(spark, inbox))


def _create(spark: SparkSession) -> Table:
    typer.echo(f"Creating {NAME}: {ORDERS:,} orders, format version 3, equality delete vectors on")
    spark.sql(
        f"CREATE OR REPLACE TABLE {NAME} ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version'='3', "
        "'write.delete.equality-vector.enabled'='true', 'write.merge.mode'='merge-on-read')"
    )
    spark.sql(f"INSERT INTO {NAME} {_ROWS}")
    return table(spark, NAME)


def _check(spark: SparkSession, model: Model) -> None:
    """Checks that Iceberg's reader reads the table, and that every row is as the model says."""
    rows = collect_arrow(spark.sql(f"SELECT id, status, cents FROM {NAME} ORDER BY id"))
    expected = model.to_arrow().cast(rows.schema)
    if not rows.equals(expected):
        raise RowDeltaError(f"the table has {rows.num_rows:,} rows that differ from the model")
    typer.echo(f"  Iceberg's reader finds {rows.num_rows:,} orders: each row matches a plain model of the stream")


def _measure_merge(spark: SparkSession, inbox: Path) -> float:
    """Measures one batch by Iceberg's MERGE, into a copy of the table as it was at the start."""
    spark.sql(
        f"CREATE OR REPLACE TABLE {COPY} ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version'='3', "
        "'write.merge.mode'='merge-on-read')"
    )
    spark.sql(f"INSERT INTO {COPY} {_ROWS}")
    _select_last_changes(spark, inbox / "000.json").createOrReplaceTempView("demo_changes")
    started = time.monotonic()
    spark.sql(
        f"MERGE INTO {COPY} t USING demo_changes s ON t.id = s.id WHEN MATCHED AND s._rd_deleted THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET t.status = s.status, t.cents = s.cents "
        "WHEN NOT MATCHED AND NOT s._rd_deleted THEN INSERT (id, status, cents) VALUES (s.id, s.status, s.cents)"
    )
    return time.monotonic() - started


def _select_last_changes(spark: SparkSession, file: Path) -> DataFrame:
    """Selects the last change of each key, as a pipeline around MERGE would have to find it."""
    records = Debezium().read(spark.read.text(str(file)), Shape(spark.table(NAME).schema, ("id",)))
    last = records.groupBy("id").agg({"_rd_order": "max"}).withColumnRenamed("max(_rd_order)", "_rd_order")
    return records.join(last, ["id", "_rd_order"]).select("id", "status", "cents", "_rd_deleted")


def _report(measured: Measurements, debt: int, debt_after: int, resolve_seconds: float, merge_seconds: float) -> None:
    batch = statistics.median(progress.seconds for progress in measured.batches)
    written = sum(progress.bytes for progress in measured.batches)
    grid = Grid(title="\nThe report", box=None, pad_edge=False, show_header=False, title_justify="left")
    grid.add_column()
    grid.add_column(justify="right")
    for name, value in {
        f"one batch of {CHANGES:,} changes, median": f"{batch:.2f} s",
        "the same batch by Iceberg's MERGE": f"{merge_seconds:.2f} s ({merge_seconds / batch:.1f} x)",
        "a query after each batch, median": f"{statistics.median(measured.queries):.2f} s",
        "events read": f"{measured.event_bytes:,} bytes",
        "rows and deletes written": f"{written:,} bytes",
        "equality deletes before resolve": f"{debt:,} keys",
        "equality deletes after resolve": f"{debt_after:,} keys",
        "resolve": f"{resolve_seconds:.2f} s",
    }.items():
        grid.add_row(name, value)
    Console().print(grid)
