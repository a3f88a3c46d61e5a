"""Draw docs/images/debt.png: the delete debt of a small table that takes upserts in five regions.

Run it with `.venv/bin/python scripts/debt_picture.py`. It creates a temporary warehouse, removes it afterwards, and
prints the text of the same report.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from rich.console import Console

import rowdelta as rd

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "debt.png"
TABLE = "lake.db.orders"
REGIONS = "element_at(array('EU', 'US', 'US', 'US', 'APAC', 'APAC', 'LATAM', 'EU', 'EU', 'EU', 'EU', 'MEA'), {} + 1)"


def main() -> None:
    """Creates the table, changes it, and draws its debt."""
    with tempfile.TemporaryDirectory() as folder:
        spark = rd.session(folder)
        spark.sql("CREATE NAMESPACE lake.db")
        spark.sql(
            f"CREATE TABLE {TABLE} (id bigint NOT NULL, region string, amount double) USING iceberg "
            "PARTITIONED BY (region) TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read')"
        )
        region = REGIONS.format("cast(id % 12 as int)")
        rows = spark.range(0, 1_200_000, 1, 2).selectExpr("id", f"{region} region", "rand(7) * 100 amount")
        rows.writeTo(TABLE).append()
        table = rd.table(spark, TABLE)
        for batch in range(12):
            size = 4_000 * (batch % 4 + 1)
            ids = spark.range(batch, size * 12, 7, 1).selectExpr("id", f"{region} region", "0.0 amount")
            table.upsert(ids, key="id", scope="partition", resolve=False).execute()
            if batch % 3 == 2:  # noqa: PLR2004 - now and then
                table.delete(f"id % 997 = {batch}").execute()
        debt = table.debt()
        PICTURE.parent.mkdir(exist_ok=True)
        debt.plot(PICTURE)
        debt.show(Console(width=120, color_system=None, highlight=False), top=3)
        spark.stop()


if __name__ == "__main__":
    main()
