"""`rowdelta demo`: the same changes stream into two tables, one for each way to delete by key, and queries see them."""

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

KEYS: Final = "lake.db.orders"
RESOLVED: Final = "lake.db.orders_resolved"
# The twin as it was at the start, for Iceberg's MERGE.
MERGED: Final = f"{RESOLVED}.branch_before"
COLUMNS: Final = "id bigint NOT NULL, status string, cents bigint"
_STATUS: Final = "element_at(array('new', 'paid', 'shipped'), cast(id % 3 as int) + 1)"
_ROWS: Final = f"SELECT id, {_STATUS} status, id * 7 % 100000 cents FROM range(0, {ORDERS}, 1, 2)"


@dataclass
class Measurements:
    """Measurements of one table for the report at the end."""

    batches: list[BatchProgress] = field(default_factory=list)
    queries: list[float] = field(default_factory=list)

    @property
    def batch_seconds(self) -> float:
        """The median duration of a batch."""
        return statistics.median(progress.seconds for progress in self.batches)

    @property
    def query_seconds(self) -> float:
        """The median duration of a query after a batch."""
        return statistics.median(self.queries)

    @property
    def bytes_written(self) -> int:
        """The bytes of all rows and deletes."""
        return sum(progress.bytes for progress in self.batches)


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
    model = Model()
    inbox = folder / "inbox"
    inbox.mkdir()
    event_bytes = sum(write_batch(inbox, number, model) for number in range(BATCHES))
    typer.echo(f"Creating {KEYS} and {RESOLVED}: {ORDERS:,} orders each, format version 3")
    by_key = _create(spark, KEYS, "'write.delete.equality-vector.enabled'='true'")
    looked_up = _create(spark, RESOLVED, "'write.merge.mode'='merge-on-read'")
    spark.sql(f"ALTER TABLE {RESOLVED} CREATE BRANCH before")
    typer.echo(f"\n{BATCHES} batches of {CHANGES:,} Debezium events (inserts, updates, deletes) arrive as files.")
    typer.echo("\nresolve: the old rows are looked up and deleted by position, so that every engine reads the table")
    resolve = _follow(spark, looked_up, inbox, folder / "resolve")
    _check(spark, RESOLVED, model)
    typer.echo("\nkeys: the keys of the old rows are written, without a scan, and readers apply them")
    keys = _follow(spark, by_key, inbox, folder / "keys")
    debt = by_key.debt()
    typer.echo(f"  {debt.keys:,} keys in {debt.delete_files} delete files, read by {debt.readers}. t.resolve():")
    done = by_key.resolve().execute()
    typer.echo(f"  {done.delete_files_added} deletion vectors instead, {done.seconds:.1f} s")
    _check(spark, KEYS, model)
    _report(resolve, keys, done.seconds, _measure_merge(spark, inbox), event_bytes)


def _create(spark: SparkSession, name: str, properties: str) -> Table:
    spark.sql(
        f"CREATE OR REPLACE TABLE {name} ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version'='3', {properties})"
    )
    spark.sql(f"INSERT INTO {name} {_ROWS}")
    return table(spark, name)


def _follow(spark: SparkSession, orders: Table, inbox: Path, checkpoint: Path) -> Measurements:
    """Applies all events to a table, and queries it after each batch."""
    measured = Measurements()

    def after_batch(progress: BatchProgress) -> None:
        started = time.monotonic()
        paid = orders.read("status = 'paid'").selectExpr("sum(cents) / 100 AS total").collect()[0].total
        measured.queries.append(time.monotonic() - started)
        measured.batches.append(progress)
        typer.echo(f"  {progress}; query {measured.queries[-1]:.1f} s: paid {paid:,.2f}")

    source = spark.readStream.option("maxFilesPerTrigger", 1).text(str(inbox))
    changes = stream(source, orders, "id", format="debezium", progress=after_batch)
    changes.start(str(checkpoint), available_now=True).await_termination()
    return measured


def _check(spark: SparkSession, name: str, model: Model) -> None:
    """Checks that Iceberg's reader reads a table, and that every row is as the model says."""
    rows = collect_arrow(spark.sql(f"SELECT id, status, cents FROM {name} ORDER BY id"))
    expected = model.to_arrow().cast(rows.schema)
    if not rows.equals(expected):
        raise RowDeltaError(f"{name} has {rows.num_rows:,} rows that differ from the model")
    typer.echo(f"  Iceberg's reader finds {rows.num_rows:,} orders: each row matches a plain model of the stream")


def _measure_merge(spark: SparkSession, inbox: Path) -> float:
    """Measures one batch by Iceberg's MERGE, into the branch with the rows of the start."""
    _select_last_changes(spark, inbox / "000.json").createOrReplaceTempView("demo_changes")
    started = time.monotonic()
    spark.sql(
        f"MERGE INTO {MERGED} t USING demo_changes s ON t.id = s.id WHEN MATCHED AND s._rd_deleted THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET t.status = s.status, t.cents = s.cents "
        "WHEN NOT MATCHED AND NOT s._rd_deleted THEN INSERT (id, status, cents) VALUES (s.id, s.status, s.cents)"
    )
    return time.monotonic() - started


def _select_last_changes(spark: SparkSession, file: Path) -> DataFrame:
    """Selects the last change of each key, as a pipeline around MERGE would have to find it."""
    records = Debezium().read(spark.read.text(str(file)), Shape(spark.table(KEYS).schema, ("id",)))
    last = records.groupBy("id").agg({"_rd_order": "max"}).withColumnRenamed("max(_rd_order)", "_rd_order")
    return records.join(last, ["id", "_rd_order"]).select("id", "status", "cents", "_rd_deleted")


def _report(
    resolve: Measurements, keys: Measurements, resolve_seconds: float, merge_seconds: float, event_bytes: int
) -> None:
    typer.echo(f"\nThe report, for {event_bytes:,} bytes of events")
    grid = Grid(box=None, pad_edge=False)
    for name, side in ("", "left"), ("resolve", "right"), ("keys", "right"), ("Iceberg's MERGE", "right"):
        grid.add_column(name, justify="left" if side == "left" else "right")
    for row in (
        ("the old rows", "looked up", "not looked up", "joined"),
        (
            f"one batch of {CHANGES:,} changes",
            f"{resolve.batch_seconds:.2f} s",
            f"{keys.batch_seconds:.2f} s",
            f"{merge_seconds:.2f} s",
        ),
        (
            "MERGE takes",
            f"{merge_seconds / resolve.batch_seconds:.1f} x",
            f"{merge_seconds / keys.batch_seconds:.1f} x",
            "",
        ),
        ("a query after each batch", f"{resolve.query_seconds:.2f} s", f"{keys.query_seconds:.2f} s", ""),
        ("rows and deletes written", f"{resolve.bytes_written:,} bytes", f"{keys.bytes_written:,} bytes", ""),
        ("t.resolve() at the end", "not needed", f"{resolve_seconds:.2f} s", ""),
        ("who reads the table meanwhile", "every engine", "rowdelta", "every engine"),
    ):
        grid.add_row(*row)
    Console().print(grid)
