"""Applies a stream of Debezium events exactly once, quarantines bad events, and keeps `main` readable by every engine.

You can run it as it is: `.venv/bin/python examples/streaming_cdc.py`. It creates a small warehouse,
and removes it at the end.

For your own table, use your own Spark session, omit `make_sample`, and read from your Kafka topic instead of files:
`spark.readStream.format("kafka").option("kafka.bootstrap.servers", "...").option("subscribe", "orders").load()`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rowdelta as rd

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "lake.shop.orders"


def main(spark: SparkSession, folder: Path) -> None:
    """Creates a table and events, and processes all events. A real job omits `available_now` and keeps running."""
    make_sample(spark, folder / "events")

    orders = rd.table(spark, TABLE)
    stream = rd.cdc.stream(
        spark.readStream.text(str(folder / "events")),
        orders,
        key="id",
        format="debezium",
        resolve=False,  # write equality deletes (deletes by key): a batch then costs no scan of the table
        branch="ingest",  # the stream writes them to this branch
        publish="main",  # this branch only moves forward to states without equality deletes
        resolve_every=10,
        on_bad="quarantine",  # bad events go to lake.shop.orders_quarantine
    )
    running = stream.start(checkpoint=str(folder / "checkpoint"), available_now=True)
    running.await_termination()

    for batch in running.progress:
        print(f"batch {batch.batch_id}: {batch.records} records, {batch.keys} keys, {batch.bad} bad")
    print("main, as every engine reads it:")
    spark.sql(f"SELECT * FROM {TABLE} ORDER BY id").show()
    print("quarantined:")
    spark.sql(f"SELECT batch_id, reason FROM {TABLE}_quarantine").show(truncate=False)


def make_sample(spark: SparkSession, inbox: Path) -> None:
    """Creates a table with three orders, and two files of events."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
    spark.sql(f"""
        CREATE TABLE {TABLE} (id bigint NOT NULL, status string, amount decimal(10, 2)) USING iceberg
        TBLPROPERTIES ('format-version'='3', 'write.delete.equality-vector.enabled'='true')
    """)
    spark.sql(f"INSERT INTO {TABLE} VALUES (1, 'new', 9.50), (2, 'new', 1.00), (3, 'new', 7.25)")
    inbox.mkdir(parents=True)
    batches: list[list[dict[str, Any]]] = [
        [
            {"op": "u", "after": {"id": 1, "status": "paid", "amount": "9.50"}, "ts_ms": 1_700_000_000_000},
            {"op": "d", "before": {"id": 2}, "ts_ms": 1_700_000_000_001},
            {"op": "c", "after": {"id": 4, "status": "new", "amount": "3.10"}, "ts_ms": 1_700_000_000_002},
        ],
        [
            {"op": "u", "after": {"id": 1, "status": "shipped", "amount": "9.50"}, "ts_ms": 1_700_000_000_003},
            {"op": "c", "after": {"id": 5, "status": "new", "amount": "much"}, "ts_ms": 1_700_000_000_004},
        ],
    ]
    for number, events in enumerate(batches):
        (inbox / f"{number}.json").write_text("".join(json.dumps(event) + "\n" for event in events))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        session = rd.session(Path(temporary, "warehouse"))
        main(session, Path(temporary))
        session.stop()
