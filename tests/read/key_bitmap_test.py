"""Looking keys up in a bitmap finds the same rows as a join, whatever the keys and the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pyspark.sql import functions as F  # noqa: N812

import rowdelta as rd
from rowdelta.iceberg import read_snapshot_files
from rowdelta.read import KeyBits, build_live_rows
from rowdelta.read.delete_joins import DeletedKeys
from rowdelta.read.key_bitmap import FEW_BYTES, MOST_BYTES, pack_bits
from tests.support.oracle import assert_same_rows, rows
from tests.support.tables import EDV, create, one_file

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from rowdelta.read import LiveRows

LOW, HIGH = -(2**63), 2**63 - 1
IDS = [None, LOW, -(2**40), -65, -64, -1, 0, 1, 63, 64, 65, 4096, 2**40, HIGH]


def deleted(table: rd.Table, *, as_bits: bool) -> LiveRows:
    handle = table.refresh()._handle
    snapshot = handle.snapshot()
    assert snapshot is not None
    files = read_snapshot_files(handle, snapshot)
    assert files is not None
    return build_live_rows(handle, files, handle.metadata.current_schema_id, as_bits=as_bits)


@pytest.mark.parametrize(
    "keys",
    [
        [-65, 64, 4096],
        [-1, None],
        [LOW, LOW + 70, None],
        [HIGH - 64, HIGH],
        [0],
        [LOW],
        [HIGH],
        [5],
    ],
    ids=str,
)
def test_a_bitmap_finds_what_a_join_finds(spark: SparkSession, table_name: str, keys: list[int | None]) -> None:
    table = create(spark, table_name, "id bigint", properties=EDV)
    one_file(spark, [(key,) for key in IDS], "id bigint").writeTo(table_name).append()
    gone = spark.createDataFrame([(key,) for key in keys], "id bigint")
    table.delete_keys(gone, "id", encoding="full-row").execute()
    (bits,), (joined,) = (deleted(table, as_bits=as_bits).deleted for as_bits in (True, False))
    assert (type(bits), type(joined)) == (KeyBits, DeletedKeys)
    frame = deleted(table, as_bits=True).rows.select("id")
    found = rows(bits.keep_in(frame, 0))
    assert found == rows(joined.keep_in(frame, 1 << 20)) == rows(frame.where(_among(keys)))
    assert_same_rows(bits.remove_from(frame, 0), joined.remove_from(frame, 1 << 20))
    assert len(found) + len(rows(bits.remove_from(frame, 0))) == len(IDS)


def _among(keys: list[int | None]) -> Column:
    found = F.col("id").isin([key for key in keys if key is not None])
    return found | F.col("id").isNull() if None in keys else found


@pytest.mark.parametrize(
    ("kind", "values", "key"),
    [
        ("int", "-2147483648, -1, 0, 2147483647, NULL", "-1"),
        ("date", "date'0001-01-01', date'1969-12-31', date'9999-12-31', NULL", "date'1969-12-31'"),
        (
            "timestamp",
            "timestamp'1969-12-31 23:59:59.999999Z', timestamp'2024-03-31 01:30:00Z'",
            "timestamp_micros(-1)",
        ),
        ("timestamp_ntz", "timestamp_ntz'2024-03-31 02:30:00', NULL", "timestamp_ntz'2024-03-31 02:30:00'"),
    ],
)
def test_all_integer_types_resolve(spark: SparkSession, table_name: str, kind: str, values: str, key: str) -> None:
    table = create(spark, table_name, f"id {kind}", properties=EDV)
    spark.sql(f"INSERT INTO {table_name} SELECT explode(array({values}))")
    left = rows(spark.sql(f"SELECT * FROM {table_name} WHERE NOT (id <=> {key})"))
    table.delete_keys(spark.sql(f"SELECT {key} AS id"), "id", encoding="full-row").execute()
    assert isinstance(deleted(table, as_bits=True).deleted[0], KeyBits)
    assert table.resolve(verify=False).execute().positions == 1
    assert rows(spark.table(table_name)) == left


def test_keys_far_apart_have_no_bitmap() -> None:
    def has_bits(*keys: int) -> bool:
        return pack_bits(np.array(keys, np.int64)) is not None

    few = FEW_BYTES * 8
    assert not has_bits()
    assert not has_bits(LOW, HIGH)
    assert has_bits(0, few - 1)
    assert not has_bits(0, few)
    assert has_bits(HIGH - few + 1, HIGH)
    keys = np.arange(0, MOST_BYTES * 8 + 1, 300)
    assert pack_bits(keys[:-1]) is not None
    assert pack_bits(np.append(keys, MOST_BYTES * 8)) is None


def test_younger_rows_are_joined(spark: SparkSession, table_name: str) -> None:
    table = create(spark, table_name, "id bigint", properties=EDV)
    one_file(spark, [(1,), (2,)], "id bigint").writeTo(table_name).append()
    table.delete_keys(spark.createDataFrame([(1,)], "id bigint"), "id").execute()
    one_file(spark, [(1,), (3,)], "id bigint").writeTo(table_name).append()
    assert isinstance(deleted(table, as_bits=True).deleted[0], DeletedKeys)
    assert table.resolve().execute().positions == 1
    assert rows(spark.table(table_name)) == [(1,), (2,), (3,)]


def test_keys_of_a_partition_are_joined(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id bigint, p int) USING iceberg PARTITIONED BY (p)")
    one_file(spark, [(1, 1), (1, 2), (2, 1)], "id bigint, p int").writeTo(table_name).append()
    table = rd.table(spark, table_name)
    gone = spark.createDataFrame([(1, 2)], "id bigint, p int")
    table.delete_keys(gone, "id", encoding="full-row", scope="partition").execute()
    assert isinstance(deleted(table, as_bits=True).deleted[0], DeletedKeys)
    assert table.resolve().execute().positions == 1
    assert rows(spark.table(table_name)) == [(1, 1), (2, 1)]
