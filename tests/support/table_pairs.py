"""Two tables with the same live rows: one with equality vectors for `rd.sql`, one without for plain Spark SQL."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import rowdelta as rd
from rowdelta.spark import RELEASE
from tests.support.oracle import assert_same_rows
from tests.support.tables import EDV, create, head

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, region string, amount int, info struct<a: int, b: string>"
GONE = (3, 4, 17)
MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")
# On Spark 3.5, Iceberg cannot copy rows with ids for a DELETE with a correlated subquery.
PLAIN_MODE = "copy-on-write" if RELEASE.spark >= (4, 0) else "merge-on-read"


@dataclass(frozen=True)
class Pair:
    """`lake.<live>.orders` and `lake.<plain>.orders`, of the ids 0 to 19 without `GONE`."""

    spark: SparkSession
    live: str
    plain: str
    start: dict[str, int] = field(default_factory=dict)  # the first state of each table, by its name

    def rowdelta(self, text: str) -> DataFrame:
        """Runs a statement on the live table; `{db}` stands for its namespace."""
        return rd.sql(self.spark, text.replace("{db}", self.live))

    def plain_spark(self, text: str) -> DataFrame:
        """Runs a statement of plain Spark SQL on the copy."""
        return self.spark.sql(text.replace("{db}", self.plain))

    def assert_same(self, query: str) -> None:
        """Compares the rows and the columns of a query on both."""
        found, expected = self.rowdelta(query), self.plain_spark(query)
        assert found.columns == expected.columns
        assert_same_rows(found, expected)

    def change(self, statement: str) -> dict[str, int | None]:
        """Runs a statement on both, compares the whole tables, and returns the numbers of the change."""
        (row,) = self.rowdelta(statement).collect()
        self.plain_spark(statement)
        found = rd.table(self.spark, f"lake.{self.live}.orders").read()
        assert_same_rows(found, self.spark.table(f"lake.{self.plain}.orders"))
        numbers: dict[str, int | None] = row.asDict()
        return numbers

    def reset(self) -> None:
        """Returns to the first snapshots, without writing any data file."""
        for name, snapshot_id in self.start.items():
            table = rd.table(self.spark, name)
            change = table._handle.java_table.manageSnapshots().setCurrentSnapshot(snapshot_id)
            for reference in table.metadata.references.values():
                if reference.name != "main":
                    (change.removeBranch if reference.kind == "branch" else change.removeTag)(reference.name)
            change.commit()
            self.spark.catalog.refreshTable(name)

    def drop(self) -> None:
        """Drops both tables."""
        for namespace in (self.live, self.plain):
            self.spark.sql(f"DROP TABLE IF EXISTS lake.{namespace}.orders PURGE")
            self.spark.sql(f"DROP NAMESPACE IF EXISTS lake.{namespace}")


def make_pair(spark: SparkSession) -> Pair:
    """Creates both tables, each in its own namespace."""
    unique = uuid.uuid4().hex[:8]
    pair = Pair(spark, f"live_{unique}", f"plain_{unique}")
    rows = spark.range(0, 20, 1, 1).selectExpr(
        "id",
        "element_at(array('EU', 'US', 'AP'), cast(id % 3 as int) + 1) region",
        "cast(id * 10 as int) amount",
        "named_struct('a', cast(id as int), 'b', cast(id as string)) info",
    )
    for namespace, properties, mode in ((pair.live, EDV, "merge-on-read"), (pair.plain, {}, PLAIN_MODE)):
        spark.sql(f"CREATE NAMESPACE lake.{namespace}")
        name = f"lake.{namespace}.orders"
        create(spark, name, COLUMNS, properties={**properties, **dict.fromkeys(MODES, mode)})
        rows.where(f"id NOT IN {GONE}" if namespace == pair.plain else "true").writeTo(name).append()
    keys = spark.createDataFrame([(key,) for key in GONE], "id bigint")
    rd.table(spark, f"lake.{pair.live}.orders").delete_keys(keys, key="id", encoding="deletion-vector").execute()
    for namespace in (pair.live, pair.plain):
        name = f"lake.{namespace}.orders"
        pair.start[name] = head(rd.table(spark, name)) or 0
    return pair
