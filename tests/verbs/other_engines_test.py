"""Other engines read what an upsert leaves, without any step in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
from pyiceberg.table import StaticTable

from tests.support.oracle import assert_same_rows
from tests.support.tables import create, make_frame, one_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import rowdelta as rd

COLUMNS = "id bigint, s string, n int"
EXPECTED = [(0, "s0", 0), (1, "s1", 100), (3, "s3", 300), (4, "s4", 400), (5, "s5", 5), (9, "s9", 900)]


def upsert_twice(spark: SparkSession, name: str, version: int, key: str) -> rd.Table:
    """A table whose rows were replaced and deleted by two upserts, the second over the deletes of the first."""
    table = create(spark, name, COLUMNS, version=version, properties={"write.upsert.resolve": "true"})
    one_file(spark, [(number, f"s{number}", number) for number in range(6)], COLUMNS).writeTo(name).append()
    for changes in ([(1, 50, "U"), (3, 300, "U"), (9, 900, "U")], [(1, 100, "U"), (2, 0, "D"), (4, 400, "U")]):
        batch = make_frame(spark, [(one, f"s{one}", n, op) for one, n, op in changes], f"{COLUMNS}, op string")
        table.upsert(batch, key, delete_when="op = 'D'").execute()
    return table.refresh()


def newest_metadata(table: rd.Table) -> str:
    return str(table._handle.java_table.operations().current().metadataFileLocation())


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("key", ["id", "s"])
def test_pyiceberg_reads_it(spark: SparkSession, table_name: str, version: int, key: str) -> None:
    table = upsert_twice(spark, table_name, version, key)
    rows = StaticTable.from_metadata(newest_metadata(table)).scan().to_arrow()
    assert_same_rows([tuple(row.values()) for row in rows.to_pylist()], EXPECTED)


def test_duckdb_reads_it(spark: SparkSession, table_name: str) -> None:
    table = upsert_twice(spark, table_name, 2, "id")
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as database:
        try:
            database.execute("LOAD iceberg")
        except duckdb.Error as error:
            pytest.skip(f"DuckDB's extension iceberg is not installed (INSTALL iceberg): {error}")
        rows = database.execute(f"SELECT id, s, n FROM iceberg_scan('{newest_metadata(table)}')").fetchall()
    assert_same_rows(rows, EXPECTED)
