"""Moves readers from Delta to Iceberg with an Iceberg table over the same data files, which follows the Delta table.

You can run it as it is: `.venv/bin/python examples/delta_migration.py`. It creates a small warehouse,
and removes it at the end.

For your own table, call `follow` with the folder of the Delta table after each load, until the writers have moved to
Iceberg, too.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import rowdelta as rd

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "lake.shop.orders"


def follow(spark: SparkSession, source: str, target: str) -> None:
    """Updates the Iceberg table to the newest version of the Delta table, and compares all rows of both tables."""
    conversion = rd.from_delta(spark, source, target, verify=True)
    print(conversion.plan().to_dict()["mode"])
    result = conversion.execute()
    print(
        f"  at Delta version {result.version}: {result.data_files_added} data files added, {result.deletion_vectors} "
        f"deletion vectors of {result.deleted_rows} rows, {len(result.snapshot_ids)} snapshots, "
        f"{result.verified_rows} rows compared"
    )


def main(spark: SparkSession, folder: Path) -> None:
    """Creates a Delta table, converts it, changes it, and converts the changes."""
    delta = str(folder / "delta" / "orders")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
    spark.sql(
        f"CREATE TABLE delta.`{delta}` (id bigint, status string) USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    )
    spark.range(0, 1000, 1, 1).selectExpr("id", "'new' AS status").write.format("delta").mode("append").save(delta)
    spark.sql(f"DELETE FROM delta.`{delta}` WHERE id % 10 = 0")
    follow(spark, delta, TABLE)

    spark.sql(f"UPDATE delta.`{delta}` SET status = 'paid' WHERE id % 10 = 1")
    follow(spark, delta, TABLE)
    spark.sql(f"SELECT status, count(*) AS orders FROM {TABLE} GROUP BY status ORDER BY status").show()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        session = rd.session(Path(temporary, "warehouse"), delta=True)
        main(session, Path(temporary))
        session.stop()
