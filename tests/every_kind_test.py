"""Every verb over every kind of equality delete. The larger matrices vary the layout; this one varies the verb."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from rowdelta.encoding import DeleteEncoding
from tests.support.oracle import assert_same_rows
from tests.support.tables import VECTORS, create, one_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import rowdelta as rd

COLUMNS = "id bigint, region string, v int"
KINDS = [(2, "full-row"), (3, "full-row"), (3, "deletion-vector"), (3, "hash-map")]
STANDARD = [kind for kind in KINDS if kind[1] == "full-row"]
REFUSED = [kind for kind in KINDS if kind[1] != "full-row"]
ROWS = {i: ("EU" if i % 2 else "US", i) for i in range(10)}
LIVE = {i: row for i, row in ROWS.items() if i not in {2, 3}} | {3: ("EU", 30)}


def make(spark: SparkSession, name: str, version: int, encoding: rd.Encoding) -> rd.Table:
    """Ids 0 to 9 without 2, which is deleted by key, and with a newer row for 3, which was deleted before it."""
    table = create(spark, name, COLUMNS, "region", version=version, properties=VECTORS)
    one_file(spark, listed(ROWS), COLUMNS).writeTo(name).append()
    gone = spark.createDataFrame([(2, "US"), (3, "EU")], "id bigint, region string")
    written = table.delete_keys(gone, "id", encoding=encoding, scope="partition").execute()
    assert set(written.encodings) == {DeleteEncoding(encoding).shown("equality")}
    one_file(spark, [(3, "EU", 30)], COLUMNS).writeTo(name).append()
    return table


def listed(some: dict[int, tuple[str, int]]) -> list[tuple[int, str, int]]:
    return [(number, *row) for number, row in some.items()]


@pytest.mark.parametrize(("version", "encoding"), KINDS)
def test_rows_are_changed_over_deletes_by_key(
    spark: SparkSession, table_name: str, version: int, encoding: rd.Encoding
) -> None:
    table, model = make(spark, table_name, version, encoding), dict(LIVE)
    assert table.delete("id IN (2, 4)").execute().rows_deleted == 1
    del model[4]
    assert_same_rows(table.read(), listed(model))
    assert table.update().set("v", "v + 100").where("id < 4").execute().rows_updated == 3
    model |= {number: (model[number][0], model[number][1] + 100) for number in (0, 1, 3)}
    assert_same_rows(table.read(), listed(model))
    source = spark.createDataFrame([(2, "US", 7), (3, "EU", 8)], COLUMNS)
    merged = table.merge(source, "id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert (merged.rows_updated, merged.rows_inserted) == (1, 1)
    model |= {2: ("US", 7), 3: ("EU", 8)}
    assert_same_rows(table.read(), listed(model))
    table.upsert(spark.createDataFrame([(3, "EU", 9)], COLUMNS), "id", encoding=encoding).execute()
    assert_same_rows(table.read(), listed(model | {3: ("EU", 9)}))


@pytest.mark.parametrize(("version", "encoding"), KINDS)
def test_plain_spark_reads_a_compacted_table(
    spark: SparkSession, table_name: str, version: int, encoding: rd.Encoding
) -> None:
    table = make(spark, table_name, version, encoding)
    assert table.compact(options={"rewrite-all": "true"}).execute().equality_deletes == 2
    assert_same_rows(spark.table(table_name), listed(LIVE))
    assert table.delete_files().count() == 0


def test_positions_from_before_an_upgrade_are_compacted(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, COLUMNS, "region", version=2)
    one_file(spark, listed(ROWS), COLUMNS).writeTo(table_name).append()
    table.delete("id IN (2, 3)").execute()
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version'='3')")
    assert {row.format for row in table.delete_files().collect()} == {"parquet"}
    assert table.compact(options={"rewrite-all": "true"}).execute().verified
    assert_same_rows(spark.table(table_name), listed({i: row for i, row in ROWS.items() if i not in {2, 3}}))
    assert table.delete_files().count() == 0


@pytest.mark.parametrize(("version", "encoding"), STANDARD)
def test_plain_spark_reads_standard_deletes(
    spark: SparkSession, table_name: str, version: int, encoding: rd.Encoding
) -> None:
    make(spark, table_name, version, encoding)
    assert_same_rows(spark.table(table_name), listed(LIVE))


@pytest.mark.parametrize(("version", "encoding"), REFUSED)
def test_plain_spark_refuses_what_it_does_not_know(
    spark: SparkSession, table_name: str, version: int, encoding: rd.Encoding
) -> None:
    table = make(spark, table_name, version, encoding)
    with pytest.raises((PySparkException, Py4JJavaError), match="Format model is not registered for format PUFFIN"):
        spark.table(table_name).collect()
    assert_same_rows(table.read(), listed(LIVE))


def test_on_version_2_there_is_no_other_encoding_to_write_deletes_in(spark: SparkSession, table_name: str) -> None:
    table = make(spark, table_name, 2, "full-row")
    result = table.rewrite_deletes("deletion-vector").execute()
    assert (result.snapshot_id, len(result.skipped)) == (None, 2)
    assert_same_rows(spark.table(table_name), listed(LIVE))
