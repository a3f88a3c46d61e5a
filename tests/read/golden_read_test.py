"""`t.read()` over tables that other engines wrote."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812 - its usual name

import rowdelta as rd
from tests.support.golden import GOLDEN, MISSING
from tests.support.golden_tables import GoldenTable, golden_tables, install
from tests.support.oracle import assert_same_rows, assert_same_tables
from tests.support.reduced_tables import write_file_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.skipif(not GOLDEN.exists(), reason=MISSING)

TABLES = {
    case.id.rpartition("/")[2]: case
    for case in golden_tables("iceberg-v3-dv-table", "iceberg-position-delete-table", "iceberg-equality-delete-table")
}
# Row counts of older snapshots that the engines' own tests state (MANIFEST.md, "upstream").
SNAPSHOTS = {
    ("iceberg_v2_delete_positional", 6816997371555012807): 3,
    ("iceberg_v2_positional_delete_all_rows", 8593920101374128463): 3,
    ("iceberg_v2_positional_not_all_data_files_have_delete_files", 7490459762454857930): 10,
    ("iceberg_v2_positional_not_all_data_files_have_delete_files", 752781918366351945): 9,
    ("bunnies", 7505300640432048841): 21,
    ("iceberg_v2_delete_equality_nulls", 4346796256488077976): 3,
    ("iceberg_v2_delete_equality_multi_eq_ids", 8127619959873391049): 3,
}
# Predicates that hold for no live row (MANIFEST.md, "upstream").
GONE = {"iceberg_lineitem_multiblock": "l_linenumber % 5 = 0", "spark_generated_iceberg_test": "id = 3"}

DUCKLAKE = GOLDEN / "duckdb__ducklake/data/iceberg_deletes/delete_ignore_extra_columns/main/test"
DUCKLAKE_DATA = DUCKLAKE / "ducklake-01995275-3c88-7aa3-b5a9-9e6279d52d97.parquet"
POSITION_DELETE_FILES = {
    DUCKLAKE / "ducklake-01995275-4693-7c2b-bde2-2a1abf7df260-delete.parquet": list(range(91)),
    GOLDEN / "StarRocks__starrocks/be/test/exec/test_data/parquet_scanner/parquet_delete_file.parquet": [
        number for number in range(100) if number != 2
    ],
}
# The field ids that the spec reserves for `file_path` and `pos`, and one for any further column.
RESERVED_IDS = (2147483546, 2147483545, 2147483540)


def open_table(spark: SparkSession, warehouse: Path, name: str) -> tuple[GoldenTable, rd.Table]:
    case = TABLES[name]
    return case, rd.table(spark, f"lake.{install(case, warehouse, 'golden_read', fit_ids=True)}")


def as_facts_write_it(value: Any) -> Any:
    return str(value) if isinstance(value, dt.date | Decimal) else value


def fingerprints(frame: DataFrame) -> DataFrame:
    """One number for each row: tables of many rows are compared by these."""
    return frame.select(F.xxhash64(*(F.col(f"`{name}`") for name in frame.columns)))


def test_no_golden_table_is_omitted() -> None:
    assert len(TABLES) == 30


@pytest.mark.parametrize("name", TABLES)
def test_a_golden_table_reads_as_its_facts_and_the_iceberg_reader_say(
    spark: SparkSession, warehouse: Path, name: str
) -> None:
    case, table = open_table(spark, warehouse, name)
    live = table.read()
    if "live_rows" in case.facts:
        collected = live.collect()
        found = [tuple(as_facts_write_it(value) for value in row) for row in collected]
        assert sorted(found, key=repr) == sorted(map(tuple, case.facts["live_rows"]), key=repr)
        assert_same_rows(spark.table(table.name), [tuple(row) for row in collected])
    else:
        assert_same_tables(fingerprints(live), fingerprints(spark.table(table.name)))
        assert live.count() == case.facts["rows_live"]


@pytest.mark.parametrize(("name", "predicate"), GONE.items())
def test_rows_that_another_engine_deleted_are_gone(
    spark: SparkSession, warehouse: Path, name: str, predicate: str
) -> None:
    _, table = open_table(spark, warehouse, name)
    assert table.read(where=predicate).isEmpty()


@pytest.mark.parametrize(("name", "snapshot_id"), SNAPSHOTS)
def test_an_older_snapshot_has_the_rows_that_the_engine_counted(
    spark: SparkSession, warehouse: Path, name: str, snapshot_id: int
) -> None:
    _, table = open_table(spark, warehouse, name)
    assert table.read(snapshot_id=snapshot_id).count() == SNAPSHOTS[name, snapshot_id]


@pytest.mark.parametrize("name", ["mytable", "equality_delete_par_1"])
def test_every_snapshot_of_a_history_of_equality_deletes_reads_as_the_iceberg_reader_says(
    spark: SparkSession, warehouse: Path, name: str
) -> None:
    _, table = open_table(spark, warehouse, name)
    for snapshot_id, snapshot in table.metadata.snapshots.items():
        if not Path(snapshot.manifest_list or "").is_file():  # one that upstream did not keep
            continue
        expected = spark.sql(f"SELECT * FROM {table.name} VERSION AS OF {snapshot_id}")
        live = table.read(snapshot_id=snapshot_id)
        assert live.columns == expected.columns
        assert_same_rows(live, expected)


@pytest.mark.parametrize("source", POSITION_DELETE_FILES, ids=lambda source: source.name)
def test_a_position_delete_file_without_the_reserved_field_ids_is_refused_and_never_skipped(
    spark: SparkSession, warehouse: Path, source: Path
) -> None:
    name = _table_of(source, warehouse / "golden_raw", ids=())
    with pytest.raises(Exception, match="Missing required field: file_path"):
        rd.table(spark, name).read().collect()


@pytest.mark.parametrize("source", POSITION_DELETE_FILES, ids=lambda source: source.name)
def test_a_position_delete_file_with_them_deletes_its_positions_whatever_else_it_holds(
    spark: SparkSession, warehouse: Path, source: Path
) -> None:
    name = _table_of(source, warehouse / "golden_ids", ids=RESERVED_IDS)
    assert_same_rows(rd.table(spark, name).read(), [(number,) for number in POSITION_DELETE_FILES[source]])


def _table_of(deletes: Path, namespace: Path, ids: tuple[int, ...]) -> str:
    """A table of DuckLake's data file of 100 rows and a golden position delete file that is made to point to it."""
    folder = namespace / deletes.stem.replace("-", "_")
    (folder / "data").mkdir(parents=True)
    data = folder / "data" / "data.parquet"
    data.write_bytes(DUCKLAKE_DATA.read_bytes())
    table = pq.read_table(deletes)
    table = table.set_column(0, table.schema.field(0), pa.array([str(data)] * len(table)))
    if ids:
        marked = zip(table.schema, ids, strict=False)
        table = table.cast(pa.schema([field.with_metadata({"PARQUET:field_id": str(i)}) for field, i in marked]))
    pq.write_table(table, folder / "data" / "deletes.parquet")
    write_file_table(folder, "id", data, folder / "data" / "deletes.parquet")
    return f"lake.{namespace.name}.{folder.name}"
