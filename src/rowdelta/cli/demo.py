"""`rowdelta demo`: the tour of what rowdelta does, on a warehouse of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rowdelta.cli import puffin as puffin_report
from rowdelta.cli.output import print_rows
from rowdelta.session import session
from rowdelta.table import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = "lake.db.orders"


def run() -> None:
    """Makes a table, deletes from it with Spark SQL, and shows what the deletes look like from outside and inside."""
    with tempfile.TemporaryDirectory(prefix="rowdelta-demo-", ignore_cleanup_errors=True) as folder:
        typer.echo("Starting Spark with Iceberg ...")
        spark = session(folder)
        try:
            _tour(spark)
        finally:
            spark.stop()


def _tour(spark: SparkSession) -> None:
    typer.echo(f"Creating {ORDERS}: 1,000,000 orders, format version 3")
    spark.sql(
        f"CREATE TABLE {ORDERS} (id bigint NOT NULL, region string, amount double) USING iceberg "
        "PARTITIONED BY (region) TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read')"
    )
    orders = spark.range(0, 1_000_000, 1, 2)
    orders = orders.selectExpr(
        "id", "element_at(array('EU', 'US', 'AP'), cast(id % 3 as int) + 1) region", "id / 7 amount"
    )
    orders.writeTo(ORDERS).append()
    typer.echo("DELETE FROM orders WHERE id % 1000 < 5\n")
    spark.sql(f"DELETE FROM {ORDERS} WHERE id % 1000 < 5")
    files = table(spark, ORDERS).delete_files().toArrow().to_pylist()
    print_rows(files, ("content", "encoding", "records", "bytes", "sequence", "partition", "applies_to", "dangling"))
    typer.echo("\nInside one of them:\n")
    puffin_report.show(puffin_report.describe(Path(files[0]["path"].removeprefix("file:"))))
    typer.echo(f"\nSpark SQL now reads {spark.table(ORDERS).count():,} orders.")
