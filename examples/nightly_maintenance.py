"""Nightly maintenance of a table that takes upserts: resolve, compact, clean up.

You can run it as it is: `.venv/bin/python examples/nightly_maintenance.py`. It creates a small warehouse,
and removes it at the end.

On a table that allows equality delete vectors, an upsert deletes old rows by key (an equality delete). `resolve`
replaces these deletes with row positions, which are cheaper to read. For your own tables, copy `maintain` and call it
for each table. It never changes the rows that a query sees.
"""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import rowdelta as rd

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "lake.shop.orders"


def maintain(table: rd.Table) -> None:
    """Follows the advice of the delete debt (the cost of deletes for readers), and then cleans up."""
    debt = table.debt()
    print(f"{table.name}: {debt.keys:,} deleted keys in {debt.delete_files} delete files, read by {debt.readers}")
    wanted = {advice.action: advice.reason for advice in debt.advice}
    for action, reason in wanted.items():
        print(f"  {action}: {reason}")

    if "compact" in wanted:  # `compact` resolves first
        compacted = table.compact().execute()
        print(f"  {compacted.data_files_rewritten} data files became {compacted.data_files_added}")
    elif "resolve" in wanted:
        resolved = table.resolve().execute()
        print(f"  {resolved.equality_deletes} equality deletes became {resolved.positions} deleted positions")
    if "rewrite deletes" in wanted:
        table.rewrite_deletes().execute()
    table.remove_dangling().execute()

    expired = table.expire(older_than=timedelta(days=5), retain_last=10).execute()
    print(f"  {expired.snapshots_expired} old snapshots removed")
    orphans = table.remove_orphans(older_than=timedelta(days=7)).plan()  # .execute() removes them
    print(f"  {len(orphans.orphan_files)} orphan files found")
    print(f"{table.name}: now read by {table.debt().readers}")


def main(spark: SparkSession, folder: Path) -> None:  # noqa: ARG001 - every example takes the same two
    """Creates a table, applies upserts, and maintains the table."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
    spark.sql(f"""
        CREATE TABLE {TABLE} (id bigint NOT NULL, status string) USING iceberg
        TBLPROPERTIES ('format-version'='3', 'write.delete.equality-vector.enabled'='true')
    """)
    orders = rd.table(spark, TABLE)
    for day in range(5):
        orders.upsert(spark.range(day * 50, day * 50 + 100).selectExpr("id", f"'day {day}' AS status"), "id").execute()
    maintain(orders)
    spark.sql(f"SELECT status, count(*) AS orders FROM {TABLE} GROUP BY status ORDER BY status").show()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        session = rd.session(Path(temporary, "warehouse"))
        main(session, Path(temporary))
        session.stop()
