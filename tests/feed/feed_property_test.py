"""Random histories: the feed between any two snapshots, applied to the rows of the first, gives those of the second."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.feeds import check_every_commit, check_net, delete_by_java, list_history
from tests.support.sampling import examples
from tests.support.tables import VECTORS, create, live_vectors, one_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    import rowdelta as rd

SCHEMA = "id bigint, region string, v int, x double, tags map<string, int>"
COMMANDS = ("delete", "update", "merge")
IDS = st.one_of(st.integers(0, 6), st.sampled_from([None, 65_536]))
ROW = st.tuples(
    IDS,
    st.sampled_from(["a", "b"]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from([None, 0.5, float("nan")]),
    st.sampled_from([None, {}, {"k": 1}, {"k": 1, "l": 2}]),
)


class Writer:
    """Changes a table in every way that the feed must understand."""

    def __init__(self, spark: SparkSession, table: rd.Table) -> None:
        self._spark = spark
        self._table = table
        self._name = table.name
        self._added = 0

    def _columns(self) -> list[str]:
        return [column.name for column in self._table.refresh().metadata.schema.fields]

    def _frame(self, rows: list[tuple[Any, ...]]) -> Any:
        """Rows by the names that the columns of the table have now; later columns are null."""
        frame = one_file(self._spark, rows, SCHEMA)
        names = self._columns()
        frame = frame.toDF(*[name if name in names else f"{name}2" for name in frame.columns])
        return frame.selectExpr(*[name if name in frame.columns else f"cast(null as int) {name}" for name in names])

    def _plain(self, statement: str) -> None:
        """Runs plain Spark SQL, which cannot read vectors."""
        if live_vectors(self._table):
            self._table.resolve(verify=False).execute()
        self._spark.sql(statement.replace("{t}", self._name))

    def _distinct(self, rows: list[tuple[Any, ...]]) -> Any:
        return self._frame(list({row[0]: row for row in rows if row[0] is not None}.values()))

    def append(self, rows: list[tuple[Any, ...]]) -> None:
        self._frame(rows).writeTo(self._name).append()

    def overwrite(self, rows: list[tuple[Any, ...]]) -> None:
        self._frame(rows).createOrReplaceTempView("feed_rows")
        self._plain("INSERT OVERWRITE {t} SELECT * FROM feed_rows")

    def spark_delete(self, rows: list[tuple[Any, ...]]) -> None:
        self._plain(f"DELETE FROM {{t}} WHERE id = {rows[0][0] or 0}")

    def spark_update(self, rows: list[tuple[Any, ...]]) -> None:
        self._plain(f"UPDATE {{t}} SET v = v + 1, region = 'b' WHERE id <= {rows[0][0] or 0}")

    def spark_touch(self, _rows: list[tuple[Any, ...]]) -> None:
        self._plain("UPDATE {t} SET v = v WHERE id >= 0")

    def spark_merge(self, rows: list[tuple[Any, ...]]) -> None:
        self._distinct(rows).createOrReplaceTempView("feed_rows")
        self._plain(
            "MERGE INTO {t} t USING feed_rows s ON t.id = s.id WHEN MATCHED AND s.v = 0 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
        )

    def drop_partition(self, rows: list[tuple[Any, ...]]) -> None:
        self._plain(f"DELETE FROM {{t}} WHERE region = '{rows[0][1]}'")

    def update(self, rows: list[tuple[Any, ...]]) -> None:
        self._table.update(mode="merge-on-read").set("v", "v + 1").where(f"id = {rows[0][0] or 0}").execute()

    def update_files(self, rows: list[tuple[Any, ...]]) -> None:
        self._table.update(mode="copy-on-write").set("v", "v + 1").where(f"id = {rows[0][0] or 0}").execute()

    def delete(self, rows: list[tuple[Any, ...]]) -> None:
        self._table.delete(f"id = {rows[0][0] or 0}", mode="merge-on-read").execute()

    def upsert(self, rows: list[tuple[Any, ...]]) -> None:
        self._table.upsert(self._distinct(rows), key="id", delete_when="v = 2", scope="global").execute()

    def delete_ids(self, rows: list[tuple[Any, ...]]) -> None:
        self._table.delete_keys(self._frame(rows), key="id", scope="global").execute()

    def delete_pairs(self, rows: list[tuple[Any, ...]]) -> None:
        self._table.delete_keys(self._frame(rows), key=["id", "region"]).execute()

    def delete_by_java(self, rows: list[tuple[Any, ...]]) -> None:
        delete_by_java(self._table, {"v": rows[0][2], "region": rows[0][1]})

    def resolve(self, _rows: list[tuple[Any, ...]]) -> None:
        self._table.resolve(verify=False).execute()

    def compact(self, _rows: list[tuple[Any, ...]]) -> None:
        self._table.compact(options={"rewrite-all": "true"}).execute()

    def add_column(self, _rows: list[tuple[Any, ...]]) -> None:
        self._added += 1
        self._spark.sql(f"ALTER TABLE {self._name} ADD COLUMN c{self._added} int")

    def drop_column(self, _rows: list[tuple[Any, ...]]) -> None:
        if "x" in self._columns():
            self._spark.sql(f"ALTER TABLE {self._name} DROP COLUMN x")

    def rename_column(self, _rows: list[tuple[Any, ...]]) -> None:
        if "tags" in self._columns():
            self._spark.sql(f"ALTER TABLE {self._name} RENAME COLUMN tags TO tags2")


CHANGES: list[Callable[..., None]] = [change for name, change in vars(Writer).items() if not name.startswith("_")]
HISTORIES = st.lists(st.tuples(st.sampled_from(CHANGES), st.lists(ROW, min_size=1, max_size=4)), min_size=4, max_size=7)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("partitioned_by", ["", "region"])
def test_the_feed_leads_from_any_snapshot_to_any_later_one(
    spark: SparkSession, *, version: int, mode: str, partitioned_by: str
) -> None:
    properties = {**(VECTORS if version > 2 else {}), **{f"write.{command}.mode": mode for command in COMMANDS}}

    @settings(max_examples=examples(1, 6), deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
    @given(st.lists(ROW, min_size=3, max_size=8), HISTORIES, st.data())
    def follow(first: list[tuple[Any, ...]], history: list[tuple[Callable[..., None], Any]], data: Any) -> None:
        name = f"lake.db.f_{uuid.uuid4().hex[:12]}"
        table = create(spark, name, SCHEMA, partitioned_by, version=version, properties=properties)
        try:
            writer = Writer(spark, table)
            writer.append(first)
            for change, rows in history:
                change(writer, rows)
            snapshots = list_history(table)
            check_every_commit(table, key=data.draw(st.sampled_from([None, "id"])))
            start, end = sorted(data.draw(st.lists(st.integers(-1, len(snapshots) - 1), min_size=2, max_size=2)))
            if end >= 0:
                check_net(table, None if start < 0 else snapshots[start], snapshots[end], key="id")
            check_net(table, snapshots[0], snapshots[-1])
        finally:
            spark.sql(f"DROP TABLE {name} PURGE")

    follow()
