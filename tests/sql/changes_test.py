from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

import rowdelta as rd
from tests.support.oracle import rows
from tests.support.tables import append_ids, create, head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

NAME = "lake.db.feed_in_sql"


@pytest.fixture(scope="module")
def places(spark: SparkSession) -> Iterator[dict[str, Any]]:
    """A table with an append, an update of one row, and a branch; and names for its states."""
    table = create(spark, NAME, "id bigint, v string")
    append_ids(spark, NAME, range(3))
    start = head(table)
    table.update().set("v", "'w'").where("id = 1").execute()
    spark.sql(f"ALTER TABLE {NAME} CREATE BRANCH other")
    rd.table(spark, NAME, branch="other").delete("id = 2").execute()
    time = dt.datetime.fromtimestamp(table.metadata.snapshots[start or 0].timestamp_ms / 1000, dt.timezone.utc)
    yield {"start": start, "end": head(table), "time": time}
    spark.sql(f"DROP TABLE {NAME}")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"SELECT id, v FROM changes('{NAME}', :start, :end) WHERE _change_type = 'update_postimage'", [(1, "w")]),
        (
            f"SELECT id, v FROM changes('{NAME}', start => :time, images => 'after', columns => array('v', 'id'))",
            [(1, "w")],
        ),
        (f"SELECT changes.id FROM Changes('{NAME}', end => :start) JOIN {NAME} t USING (id) WHERE t.v = 'w'", [(1,)]),
        (
            f"WITH x AS (SELECT * FROM changes('{NAME}', net => true) AS c(a, b, c, d, e, f)) SELECT b FROM x",
            [("v",), ("v",), ("w",)],
        ),
        ("SELECT count(*) FROM changes('db.feed_in_sql.branch_other', :end, where => 'id < 5', key => 'id')", [(1,)]),
        (f"SELECT max(id) FROM {NAME} WHERE id IN (SELECT id FROM changes('{NAME}', :start, :end))", [(1,)]),
        ("SELECT 'changes(1)', id FROM range(1) AS changes", [("changes(1)", 0)]),
    ],
)
def test_the_feed_is_a_table_of_a_query(
    spark: SparkSession, places: dict[str, Any], query: str, expected: list[tuple[Any, ...]]
) -> None:
    spark.sql("USE lake")
    try:
        assert rows(rd.sql(spark, query, places)) == expected
    finally:
        spark.sql("USE spark_catalog")
    assert not [view for view in spark.catalog.listTables() if view.name.startswith("__rowdelta")]


def test_changes_of_one_table_change_another(spark: SparkSession, table_name: str, places: dict[str, Any]) -> None:
    create(spark, table_name, "id bigint, v string")
    feed = f"changes('{NAME}', {places['start']}, {places['end']}, images => 'after')"
    rd.sql(spark, f"INSERT INTO {table_name} SELECT id, v FROM {feed}")
    merge = f"MERGE INTO {table_name} t USING (SELECT * FROM {feed}) s ON t.id = s.id"
    rd.sql(spark, f"{merge} WHEN MATCHED THEN UPDATE SET v = concat(s.v, 'x')")
    assert rows(spark.table(table_name)) == [(1, "wx")]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (f"changes('{NAME}', 1, 2, 3)", r"changes\(\) has an argument without a name after the third: 3"),
        (f"changes('{NAME}', begin => 1)", "the argument 'begin' but its arguments are table, start"),
        (f"changes('{NAME}', 1, start => 1)", "the argument 'start' twice"),
        ("changes(1)", "the first argument of .* is the name of a table"),
        ("changes('lake.db.nosuch')", "no table lake.db.nosuch"),
        (f"changes('{NAME}', 1)", "start: .* has no snapshot 1"),
    ],
)
def test_a_wrong_call_is_refused(spark: SparkSession, places: dict[str, Any], call: str, message: str) -> None:
    with pytest.raises(rd.RowDeltaError, match=message):
        rd.sql(spark, f"SELECT * FROM {call}")


def test_a_call_that_names_one_snapshot_is_refused(spark: SparkSession, places: dict[str, Any]) -> None:
    with pytest.raises(rd.InputError, match="names one snapshot"):
        rd.sql(spark, f"SELECT * FROM changes('{NAME}.snapshot_id_{places['start']}')")
