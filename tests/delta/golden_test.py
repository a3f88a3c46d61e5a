from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from rowdelta.codec import DeletionVectorDescriptor, convert_to_deletion_vector, decode_delta_vector, read_puffin
from tests.support.delta_tables import GoldenDelta, delta_rows, golden_delta_tables, iceberg_rows, install_delta
from tests.support.golden import GOLDEN, MISSING
from tests.support.oracle import assert_same_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(not GOLDEN.exists(), reason=MISSING)
TABLES = golden_delta_tables()
# Its inline vector has the padding of the Rust library for Z85, and delta-spark shows the deleted row of value 3.
UNREADABLE = {("cdf-table-with-dv", 5)}


def _known_counts(table: GoldenDelta) -> dict[int, int]:
    """The known row counts, by version."""
    facts = table.facts
    known = dict(enumerate(facts.get("rows_by_version", [])))
    if "rows_live" in facts:
        known[table.versions - 1] = facts["rows_live"]
    if "rows_v2_v3_v4_v20" in facts:
        known |= dict(zip((2, 3, 4, 20), facts["rows_v2_v3_v4_v20"], strict=True))
    return known


@pytest.mark.parametrize(
    "table",
    TABLES,
    ids=[table.id.rsplit("/", 1)[-1] for table in TABLES],
)
@pytest.mark.parametrize("format_version", [3, 2])
def test_every_version_of_a_public_delta_table_has_the_rows_that_delta_reads(
    spark: SparkSession, table_name: str, tmp_path: Path, table: GoldenDelta, format_version: int
) -> None:
    path = install_delta(table, tmp_path)
    versions = range(table.versions)
    rd.from_delta(spark, path, table_name, version=0, format_version=format_version).execute()
    result = rd.from_delta(spark, path, table_name).execute()
    assert result.version == table.versions - 1
    found = iceberg_rows(spark, table_name, versions).cache()
    readable = [version for version in versions if (table.folder.name, version) not in UNREADABLE]
    assert_same_rows(found.where(F.col("version").isin(readable)), delta_rows(spark, path, readable))
    for name, version in UNREADABLE:
        if name == table.folder.name:
            expected = [(version, f'{{"value":{value}}}') for value in range(10) if value != 3]
            assert_same_rows(found.where(F.col("version") == version), expected)
    counts = {row["version"]: row["count"] for row in found.groupBy("version").count().collect()}
    found.unpersist()
    for version, count in _known_counts(table).items():
        assert counts.get(version, 0) == count, version
    # A file never appears twice, whatever became of its deletes.
    files = spark.sql(f"SELECT count(*), count(DISTINCT file_path) FROM {table_name}.data_files").collect()[0]
    assert files[0] == files[1]


@pytest.mark.parametrize("format_version", [2, 3])
@pytest.mark.parametrize("table", TABLES, ids=[table.id.rsplit("/", 1)[-1] for table in TABLES])
def test_every_version_can_be_converted_from_nothing_and_in_any_order(
    spark: SparkSession, table_name: str, tmp_path: Path, table: GoldenDelta, format_version: int
) -> None:
    path = install_delta(table, tmp_path)
    last = table.versions - 1
    for version in dict.fromkeys([last, 0, last // 2]):
        result = rd.from_delta(
            spark, path, table_name, mode="full", version=version, format_version=format_version, verify=True
        ).execute()
        assert result.version == version
        if version in _known_counts(table):
            assert result.verified_rows == _known_counts(table)[version]
        formats = spark.sql(f"SELECT DISTINCT file_format FROM {table_name}.delete_files").collect()
        assert {row[0] for row in formats} <= {"PUFFIN" if format_version == 3 else "PARQUET"}


def test_vectors_are_copied_byte_for_byte(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """In files (`u`), and inline (`i`), where only the frame is added; positions are those of facts.json."""
    (table,) = (table for table in TABLES if table.id.endswith("cdf-table-with-dv"))
    path = install_delta(table, tmp_path)
    converted = {}
    for version in range(table.versions):
        rd.from_delta(spark, path, table_name, version=version).execute()
        files = rd.table(spark, table_name).delete_files().collect()
        converted[version] = [file["path"] for file in files]
    io = rd.table(spark, table_name)._handle.io
    for known in table.facts["deletion_vectors"]:
        ((puffin,), version) = converted[known["version"]], known["version"]
        source = io.source(puffin)
        (blob,) = read_puffin(source).blobs
        copied = source.read(blob.offset, blob.length)
        inline = known["storageType"] == "i"
        descriptor = DeletionVectorDescriptor(
            known["storageType"],
            known["pathOrInlineDv"] if inline else "x" * 20,
            known["offset"],
            known["sizeInBytes"],
            known["cardinality"],
        )
        origin = None if inline else io.source(f"{path}/{known['file']}")
        assert copied == convert_to_deletion_vector(descriptor, origin), version
        positions = table.facts["inline_positions"][str(version)] if inline else known["positions"]
        assert list(decode_delta_vector(descriptor, origin)) == positions
        assert blob.properties["cardinality"] == str(known["cardinality"])
    assert converted[2] == converted[6] == [], "a restored file has no deletes"
